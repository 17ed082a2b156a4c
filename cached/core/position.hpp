// How far a table has grown: written in the section of the bucket that moves, read in those of others.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>

#include "cached/core/pure.hpp"

namespace rubato::cached {

/// A position for sections of different buckets that run at once.
class AtomicPosition {
 public:
  RUBATO_CACHED_PURE std::size_t load() const { return value_.load(std::memory_order_relaxed); }
  void store(std::size_t value) { value_.store(value, std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> value_{0};
};

/// A position for sections that exclude each other, or are transactions.
class PlainPosition {
 public:
  std::size_t load() const { return value_; }
  void store(std::size_t value) { value_ = value; }

 private:
  std::size_t value_ = 0;
};

}  // namespace rubato::cached
