// Hash tables from a customer's key to the nation, open addressing with linear probing. One word a slot, so
// that the same probing code serves the table that one task at a time may touch and the one that threads fill
// together.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "apps/hashjoin/join_result.hpp"
#include "rubato/tracked.hpp"

namespace rubato::apps {

/// Spreads keys: the high bits choose the partition, those in the middle the slot.
inline std::uint64_t hash_of(std::uint32_t key) { return key * 0x9e3779b97f4a7c15ULL; }

/// The slots of a table: a copy keeps them in registers, whatever is stored meanwhile. `Word` is a 64-bit
/// word that can be read and written while others read it.
template <class Word>
class Slots {
 public:
  Slots() = default;
  Slots(Word* words, std::size_t count) : words_(words), mask_(count - 1) {}

  std::size_t count() const { return mask_ + 1; }
  std::size_t first(std::uint32_t key) const { return hash_of(key) >> 20 & mask_; }
  std::size_t behind(std::size_t slot) const { return (slot + 1) & mask_; }
  Word& operator[](std::size_t slot) const { return words_[slot]; }

  void prefetch(std::uint32_t key) const { __builtin_prefetch(&words_[first(key)]); }
  /// The customer's nation.
  std::optional<std::uint32_t> find(std::uint32_t key) const {
    for (std::size_t slot = first(key);; slot = behind(slot)) {
      const std::uint64_t word = load(words_[slot]);
      if (word == kEmpty) return std::nullopt;
      if (static_cast<std::uint32_t>(word >> 32) == key) return static_cast<std::uint32_t>(word);
    }
  }

  static constexpr std::uint64_t kEmpty = 0;  // keys start at 1

 private:
  static std::uint64_t load(const tracked<std::uint64_t>& word) { return word; }
  static std::uint64_t load(const std::atomic<std::uint64_t>& word) {
    return word.load(std::memory_order_relaxed);
  }

  Word* words_ = nullptr;
  std::size_t mask_ = 0;
};

/// At most half of the slots are used.
template <class Word>
class CustomerTable {
 public:
  /// Table without memory yet: the thread that makes a table is often not the one that uses it.
  CustomerTable() = default;
  explicit CustomerTable(std::size_t customers) { allocate(customers); }

  Slots<Word> slots() const { return slots_; }

 protected:
  static constexpr std::uint64_t kEmpty = Slots<Word>::kEmpty;

  void allocate(std::size_t customers) { allocate_slots(std::bit_ceil(customers * 2 + 2)); }
  /// `count`: a power of two.
  void allocate_slots(std::size_t count) {
    words_ = std::make_unique<Word[]>(count);
    slots_ = {words_.get(), count};
  }
  static std::uint64_t word_of(const Customer& c) { return std::uint64_t{c.key} << 32 | c.nation; }

  std::unique_ptr<Word[]> words_;
  Slots<Word> slots_;  // of words_
};

/// Filled and read by one task at a time. Grows.
class PartitionTable : public CustomerTable<tracked<std::uint64_t>> {
 public:
  /// Table for `expected` customers. The first insert() allocates it, so that its memory is near the thread
  /// that uses it.
  explicit PartitionTable(std::size_t expected) : expected_(expected) {}

  bool is_empty() const { return size_ == 0; }
  void insert(const Customer& customer) {
    if (words_ == nullptr) allocate(expected_);
    if (++size_ * 2 > slots_.count()) grow();
    place(word_of(customer));
  }

 private:
  void place(std::uint64_t word) {
    std::size_t slot = slots_.first(static_cast<std::uint32_t>(word >> 32));
    while (slots_[slot] != kEmpty) slot = slots_.behind(slot);
    slots_[slot] = word;
  }
  void grow() {
    const std::size_t count = slots_.count();
    const auto old = std::move(words_);
    allocate_slots(2 * count);
    for (std::size_t i = 0; i < count; ++i) {
      if (old[i] != kEmpty) place(old[i]);
    }
  }

  std::size_t expected_;
  std::size_t size_ = 0;
};

/// Filled by many threads at once, one compare-and-swap a customer; read once they are done.
class SharedTable : public CustomerTable<std::atomic<std::uint64_t>> {
 public:
  using CustomerTable::CustomerTable;

  void insert(const Customer& customer) {
    for (std::size_t slot = slots_.first(customer.key);; slot = slots_.behind(slot)) {
      std::uint64_t found = slots_[slot].load(std::memory_order_relaxed);
      if (found == kEmpty &&
          slots_[slot].compare_exchange_strong(found, word_of(customer), std::memory_order_relaxed)) {
        return;
      }
    }
  }
};

/// The orders whose customers' slots are on their way from memory. They outlast a call: else its last slots
/// would be waited for, and only then the first of the next call be asked for.
class OrdersAhead {
 public:
  /// Adds `count` orders, and looks up the customers of all orders but the last ones, which stay ahead.
  /// @param found  called with an order and its customer's nation
  template <class Word, class Found>
  void probe(Slots<Word> table, const Order* orders, std::size_t count, Found found) {
    const std::size_t replaced = std::min(count, kAhead);
    for (std::size_t i = 0; i < replaced; ++i) {
      table.prefetch(orders[i].customer);
      look_up(table, orders_[i], found);
    }
    for (std::size_t i = kAhead; i < count; ++i) {
      table.prefetch(orders[i].customer);
      look_up(table, orders[i - kAhead], found);
    }
    std::copy(orders_.begin() + replaced, orders_.end(), orders_.begin());
    std::copy(orders + count - replaced, orders + count, orders_.end() - replaced);
  }
  /// Looks up the last ones.
  template <class Word, class Found>
  void finish(Slots<Word> table, Found found) {
    for (Order& order : orders_) look_up(table, std::exchange(order, {}), found);
  }

 private:
  static constexpr std::size_t kAhead = 24;

  template <class Word, class Found>
  static void look_up(Slots<Word> table, const Order& order, Found& found) {
    if (order.customer == 0) return;  // none: keys start at 1
    if (const auto nation = table.find(order.customer)) found(order, *nation);
  }

  std::array<Order, kAhead> orders_{};  // by age
};

inline auto adding_to(JoinResult& result) {
  return [&result](const Order& order, std::uint32_t nation) { result.add(order, nation); };
}

/// The pairs of `count` orders.
template <class Word>
inline JoinResult probe(Slots<Word> table, const Order* orders, std::size_t count) {
  JoinResult result;
  OrdersAhead ahead;
  ahead.probe(table, orders, count, adding_to(result));
  ahead.finish(table, adding_to(result));
  return result;
}

}  // namespace rubato::apps
