// Counters that requests increment: one set a serving thread, written by that thread alone, summed when
// asked.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

namespace rubato::cached {

/// A number with one writer and many readers.
class Counter {
 public:
  void add(std::uint64_t n = 1) { __atomic_store_n(&value_, get() + n, __ATOMIC_RELAXED); }
  /// Adds to a counter that several threads write.
  void add_shared(std::uint64_t n) { __atomic_fetch_add(&value_, n, __ATOMIC_RELAXED); }
  std::uint64_t get() const { return __atomic_load_n(&value_, __ATOMIC_RELAXED); }
  void reset() { __atomic_store_n(&value_, std::uint64_t{0}, __ATOMIC_RELAXED); }
  /// For those that add in another way.
  std::uint64_t& word() { return value_; }

 private:
  std::uint64_t value_ = 0;  ///< accessed atomically
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
  idle_kicks,
  handshake_errors,
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

  /// Set where requests of several connections may count here at once, each in another thread.
  bool shared = false;

  void add(Count what, std::uint64_t n = 1) {
    Counter& counter = of(what);
    if (shared) [[unlikely]]
      counter.add_shared(n);
    else
      counter.add(n);
  }
  /// A hit of this list.
  void add(std::uint8_t lru) { of(lru).add(); }
  void add(unsigned lru, ClassCount what) { of(lru, what).add(); }
  Counter& of(Count what) { return counts[static_cast<unsigned>(what)]; }
  Counter& of(std::uint8_t lru) { return lru_hits[lru]; }
  Counter& of(unsigned lru, ClassCount what) { return classes[lru & 63][static_cast<unsigned>(what)]; }
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
