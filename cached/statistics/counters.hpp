// Counters that requests increment: one set a serving thread, written by that thread alone, summed when
// asked.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace rubato::cached {

/// A number with one writer and many readers.
class Counter {
 public:
  void add(std::uint64_t n = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }
  void reset() { value_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

enum class Count : unsigned {
  get_commands,
  get_misses,
  get_expired,
  get_flushed,
  touch_commands,
  touch_misses,
  set_commands,
  flush_commands,
  meta_commands,
  delete_misses,
  incr_misses,
  decr_misses,
  cas_misses,
  store_too_large,
  store_no_memory,
  auth_commands,
  auth_errors,
  bytes_read,
  bytes_written,
  yields,
  response_oom,
  total_items,
  kCounts
};
enum class ClassCount : unsigned {
  set_commands,
  get_hits,
  touch_hits,
  delete_hits,
  cas_hits,
  cas_badval,
  incr_hits,
  decr_hits,
  kCounts
};

struct alignas(64) ThreadCounters {
  std::array<Counter, static_cast<unsigned>(Count::kCounts)> counts;
  std::array<std::array<Counter, static_cast<unsigned>(ClassCount::kCounts)>, 64> classes;
  std::array<Counter, 256> lru_hits;

  void add(Count what, std::uint64_t n = 1) { counts[static_cast<unsigned>(what)].add(n); }
  void add(unsigned lru, ClassCount what) { classes[lru & 63][static_cast<unsigned>(what)].add(); }
  std::uint64_t get(Count what) const { return counts[static_cast<unsigned>(what)].get(); }
  std::uint64_t get(unsigned slab_class, ClassCount what) const {
    return classes[slab_class][static_cast<unsigned>(what)].get();
  }
  void reset() {
    for (Counter& c : counts) c.reset();
    for (auto& row : classes)
      for (Counter& c : row) c.reset();
    for (Counter& c : lru_hits) c.reset();
  }
};

}  // namespace rubato::cached
