// A monotone priority structure over timestamps: a radix heap of task lists, one for each worker. Nothing is
// allocated. R9; R. K. Ahuja, K. Mehlhorn, J. B. Orlin, R. E. Tarjan, "Faster algorithms for the
// shortest path problem", JACM 1990, Sec. 3 (one-level radix heap).
//
// A task whose timestamp is base_ is in current_; any other in the bucket (level, digit): the highest digit,
// of 6 bits, in which its timestamp differs from base_, and that digit. base_ only grows, and nothing earlier
// is ever inserted, so every task moves to lower levels only: a few times for timestamps that are close to
// each other.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "native/pool/task_list.hpp"

namespace rubato::inline v0::native {

class RadixHeap {
 public:
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  bool is_empty() const { return size_ == 0; }
  std::uint64_t size() const { return size_; }

  /// `at`: not before the timestamp popped last.
  void push(Task* task, std::uint64_t at) {
    ++size_;
    put(task, at);
  }

  struct Earliest {
    std::uint64_t at;
    std::uint64_t bound;  ///< so many tasks have it at most; 0: the heap is empty
  };
  Earliest earliest() const {
    if (!current_.is_empty()) return {base_, current_.size};
    if (size_ == 0) return {kNone, 0};
    return {lowest().min, lowest().chain.size};
  }
  /// The earliest timestamp. Not of an empty heap.
  std::uint64_t min() const { return earliest().at; }
  /// How many tasks have the earliest timestamp at most.
  std::uint64_t min_size_bound() const { return earliest().bound; }

  /// All tasks of the earliest timestamp, in the order of their insertion.
  Chain pop_min() {
    if (current_.is_empty()) {
      Bucket& bucket = take_lowest();
      if (bucket.chain.size == 1) {
        --size_;
        return std::exchange(bucket.chain, {});
      }
      spread(std::exchange(bucket.chain, {}));
    }
    size_ -= current_.size;
    return std::exchange(current_, {});
  }

  /// Everything, in no order; the heap may begin at any timestamp then.
  Chain clear() {
    Chain all;
    while (!is_empty()) {
      Chain chain = pop_min();
      while (!chain.is_empty()) all.append(chain.take());
    }
    reset();
    return all;
  }
  /// Precondition: the heap is empty. The next run begins at any timestamp.
  void reset() { base_ = 0; }
  /// Whether to fetch what first pointers among tasks' arguments point to.
  void set_prefetching(bool prefetches) { prefetches_ = prefetches; }

 private:
  static constexpr unsigned kBits = 6;
  static constexpr unsigned kDigits = 1 << kBits;
  static constexpr unsigned kLevels = (64 + kBits - 1) / kBits;
  static constexpr std::uint64_t kPrefetched = 1024;  // tasks at once

  struct Bucket {
    Chain chain;
    std::uint64_t min = kNone;
  };

  const Bucket& lowest() const {
    const auto level = static_cast<unsigned>(std::countr_zero(levels_));
    return buckets_[level * kDigits + static_cast<unsigned>(std::countr_zero(digits_[level]))];
  }

  void put(Task* task, std::uint64_t at) {
    const std::uint64_t differs = at ^ base_;
    if (differs == 0) return current_.append(task);
    const unsigned level = (static_cast<unsigned>(std::bit_width(differs)) - 1) / kBits;
    const auto digit = static_cast<unsigned>(at >> level * kBits) % kDigits;
    Bucket& bucket = buckets_[level * kDigits + digit];
    if (bucket.chain.is_empty()) {
      levels_ |= 1u << level;
      digits_[level] |= std::uint64_t{1} << digit;
      bucket.min = at;
    } else if (at < bucket.min) {
      bucket.min = at;
    }
    bucket.chain.append(task);
  }

  /// The earliest bucket, whose chain is to be taken out: its first timestamp is the current one.
  Bucket& take_lowest() {
    const auto level = static_cast<unsigned>(std::countr_zero(levels_));
    const std::uint64_t digits = digits_[level];
    digits_[level] = digits & (digits - 1);
    if (digits_[level] == 0) levels_ &= ~(1u << level);
    Bucket& bucket = buckets_[level * kDigits + static_cast<unsigned>(std::countr_zero(digits))];
    base_ = bucket.min;
    return bucket;
  }
  /// A taken bucket's tasks over the levels below: its earliest become current, and the others are next: what
  /// they will touch is fetched, if it is not too much for the cache.
  [[gnu::noinline]] void spread(Chain chain) {
    const bool prefetches = prefetches_ && chain.size <= kPrefetched;
    while (!chain.is_empty()) {
      Task* const task = chain.take();
      if (prefetches) __builtin_prefetch(engine::first_pointer_of(task));
      put(task, engine::timestamp_of(task));
    }
  }

  bool prefetches_ = false;
  std::uint64_t base_ = 0;
  std::uint64_t size_ = 0;
  Chain current_;
  std::uint32_t levels_ = 0;  // bit l: level l is not empty
  std::array<std::uint64_t, kLevels> digits_{};
  std::array<Bucket, std::size_t{kLevels} * kDigits> buckets_;
};

}  // namespace rubato::inline v0::native
