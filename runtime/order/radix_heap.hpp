// A monotone priority structure over timestamps: a radix heap of task lists, one for each worker. Nothing is
// allocated. Rule R9; R. K. Ahuja, K. Mehlhorn, J. B. Orlin, R. E. Tarjan, "Faster algorithms for the
// shortest path problem", JACM 1990, Sec. 3 (one-level radix heap).
//
// Bucket 0 holds the tasks whose timestamp is base_, bucket b those whose highest bit that differs from base_
// is bit b - 1. base_ only grows, and nothing earlier is ever inserted, so every task moves to lower buckets
// only.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "runtime/worker/task_list.hpp"

namespace rubato::runtime {

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

  /// The earliest timestamp. Not of an empty heap.
  std::uint64_t min() const {
    if (!buckets_[0].chain.is_empty()) return base_;
    return buckets_[lowest()].min;
  }
  /// How many tasks have the earliest timestamp at most.
  std::uint64_t min_size_bound() const {
    if (!buckets_[0].chain.is_empty()) return buckets_[0].chain.size;
    return buckets_[lowest()].chain.size;
  }

  /// All tasks of the earliest timestamp, in the order of their insertion if they were pushed at one worker.
  Chain pop_min() {
    if (buckets_[0].chain.is_empty()) lower(lowest());
    const Chain chain = buckets_[0].chain;
    buckets_[0].chain = {};
    size_ -= chain.size;
    return chain;
  }

  /// Everything, in no order; the heap may begin at any timestamp then.
  Chain clear() {
    Chain all;
    for (Bucket& bucket : buckets_) {
      while (!bucket.chain.is_empty()) all.append(bucket.chain.take());
    }
    occupied_ = 0;
    size_ = 0;
    base_ = 0;
    return all;
  }
  /// Of an empty heap: the next run begins at any timestamp.
  void reset() { base_ = 0; }

 private:
  struct Bucket {
    Chain chain;
    std::uint64_t min = kNone;
  };

  unsigned lowest() const { return static_cast<unsigned>(std::countr_zero(occupied_)) + 1; }

  void put(Task* task, std::uint64_t at) {
    const std::uint64_t differs = at ^ base_;
    const auto b = static_cast<unsigned>(std::bit_width(differs));
    Bucket& bucket = buckets_[b];
    if (b != 0) {
      occupied_ |= std::uint64_t{1} << (b - 1);
      bucket.min = bucket.chain.is_empty() || at < bucket.min ? at : bucket.min;
    }
    bucket.chain.append(task);
  }

  /// Spreads bucket b over the ones below: its earliest tasks arrive in bucket 0.
  void lower(unsigned b) {
    Bucket& bucket = buckets_[b];
    Chain chain = bucket.chain;
    base_ = bucket.min;
    bucket.chain = {};
    occupied_ &= ~(std::uint64_t{1} << (b - 1));
    while (!chain.is_empty()) {
      Task* const task = chain.take();
      put(task, engine::timestamp_of(task));
    }
  }

  std::uint64_t base_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t occupied_ = 0;  // bit b - 1: bucket b is not empty
  std::array<Bucket, 65> buckets_;
};

}  // namespace rubato::runtime
