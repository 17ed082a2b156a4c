// The hash table: chains of items in buckets, and its growth bucket by bucket while requests go on
// (T75).
//
// A bucket is touched inside the item section of its hashes only. There are at most as many stripes as
// buckets, so one stripe owns a bucket whole, before and after growth. `moved_` is written inside the section
// of the bucket that moves: the answer to "has my bucket moved" cannot change while its section is held.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "cached/core/item.hpp"
#include "cached/core/pure.hpp"

namespace rubato::cached {

/// More items than this should have more buckets.
constexpr std::size_t most_items(std::size_t buckets) { return buckets * 3 / 2; }

template <class D>
class Table {
 public:
  explicit Table(unsigned power) : power_(power), buckets_(std::size_t{1} << power) {}

  unsigned power() const { return power_; }
  bool expanding() const { return !old_.empty(); }
  std::size_t memory() const { return (buckets_.size() + old_.size()) * sizeof(Item*); }

  Item* find(std::string_view key, std::uint32_t hash) const {
    for (Item* item = *bucket(hash); item; item = item->chain)
      if (item->key_length == key.size() && D::equal(item->key().data(), key.data(), key.size())) return item;
    return nullptr;
  }
  void insert(Item* item, std::uint32_t hash) {
    Item** place = bucket(hash);
    item->chain = *place;
    *place = item;
  }
  void remove(Item* item, std::uint32_t hash) {
    Item** place = bucket(hash);
    while (*place != item) place = &(*place)->chain;
    *place = item->chain;
    item->chain = nullptr;
  }
  void replace(Item* old, Item* with, std::uint32_t hash) {
    Item** place = bucket(hash);
    while (*place != old) place = &(*place)->chain;
    with->chain = old->chain;
    *place = with;
    old->chain = nullptr;
  }

  /// At least so large, of a table without items that no thread but this one touches.
  void reserve(unsigned power) {
    if (power <= power_) return;
    buckets_.assign(std::size_t{1} << power, nullptr);
    power_ = power;
  }
  /// Doubles the table: inside all item sections at once. The items are moved by `move_bucket`.
  void begin_expansion(std::vector<Item*> larger) {
    old_ = std::move(buckets_);
    buckets_ = std::move(larger);
    ++power_;
    moved_.store(0);
  }
  std::size_t old_size() const { return old_.size(); }
  std::size_t next_bucket() const { return moved_.load(); }
  /// Moves the next bucket, which is that of `index`, inside its item section. `hash_of` tells an item's
  /// hash.
  template <class HashOf>
  void move_bucket(std::size_t index, HashOf&& hash_of) {
    for (Item* item = old_[index]; item;) {
      Item* after = item->chain;
      Item*& place = buckets_[hash_of(*item) & (buckets_.size() - 1)];
      item->chain = place;
      place = item;
      item = after;
    }
    old_[index] = nullptr;
    say_moved(index);
  }
  void say_moved(std::size_t index) { moved_.store(index + 1); }
  /// Inside all item sections. Leaves the old array in `old`, which is empty, for the caller to free outside.
  /// GCC 12 fails to compile a vector that is returned by value with -fgnu-tm and without optimization.
  void end_expansion(std::vector<Item*>& old) { old.swap(old_); }

  /// Calls f for each item of a bucket of the current size, inside its item section; it may remove that item.
  std::size_t size() const { return buckets_.size(); }
  template <class F>
  void for_each_in(std::uint32_t hash, F&& f) {
    for (Item* item = *bucket(hash); item;) {
      Item* after = item->chain;
      f(item);
      item = after;
    }
  }

 private:
  Item* const* bucket(std::uint32_t hash) const { return const_cast<Table*>(this)->bucket(hash); }
  Item** bucket(std::uint32_t hash) {
    if (!old_.empty()) [[unlikely]] {
      const std::size_t index = hash & (old_.size() - 1);
      if (index >= next_bucket()) return &old_[index];
    }
    return &buckets_[hash & (buckets_.size() - 1)];
  }

  unsigned power_;
  std::vector<Item*> buckets_, old_;
  typename D::Position moved_;
};

}  // namespace rubato::cached
