// How a discipline touches what sections share: time, settings, uniques, references, counters. `Access` is
// how the product does, whatever its sections are; the publication's stages before onCommit put others in its
// place (discipline/stages/tm_access.hpp, T85).
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "cached/core/clock.hpp"
#include "cached/core/item.hpp"
#include "cached/core/pure.hpp"
#include "cached/core/wake.hpp"
#include "cached/statistics/counters.hpp"

namespace rubato::cached {

struct Access {
  /// A setting that commands of administration change now and then. Reads take it as it is.
  template <class T>
  class Setting {
   public:
    explicit Setting(T value) : value_(value) {}
    RUBATO_CACHED_PURE T get() const { return value_.load(std::memory_order_relaxed); }
    void set(T value) { value_.store(value, std::memory_order_relaxed); }

   private:
    std::atomic<T> value_;
  };
  /// A number that a transaction takes and gives up is lost, which does no harm.
  class Sequence {
   public:
    RUBATO_CACHED_PURE std::uint64_t next() { return value_.fetch_add(1, std::memory_order_relaxed) + 1; }
    /// The numbers after `last` are next; before any thread takes one.
    void go_on_after(std::uint64_t last) { value_.store(last, std::memory_order_relaxed); }

   private:
    std::atomic<std::uint64_t> value_{0};
  };

  RUBATO_CACHED_PURE static std::uint32_t now(const Clock& clock) { return clock.now(); }

  static unsigned references(const Item& item) { return item.references; }
  static void reference(Item& item) { ++item.references; }
  /// Whether it was the last.
  static bool unreference(Item& item) { return --item.references == 0; }

  /// The place at which 1.4.15 held its cache lock inside an item's section: around the table and related
  /// state.
  template <class F>
  static auto cache_section(F&& f) {
    return f();
  }
  /// The place at which it held the statistics lock of the thread.
  template <class F>
  static auto statistics_section(F&& f) {
    return f();
  }
  template <class... What>
  static void count(ThreadCounters& self, What... what) {
    self.add(what...);
  }

  /// Inside the cache section: an item came to a table of so many buckets, or left it. The product's
  /// maintainer looks by itself whether the table should grow.
  void linked(std::size_t) {}
  void unlinked() {}
  /// The maintainer has made the table grow.
  void has_grown() {}
  /// Posted when the maintainer should look; null where it looks by itself.
  Wake* wakes() { return nullptr; }
};

}  // namespace rubato::cached
