// Choice of the classes that give and get a page. Two rules: a class at rest gives its free pages to the pool
// of all classes; and if one class evicts most, the class whose oldest items are oldest gives it a page. No
// thread, no clock: `choose` is asked once a second.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "cached/core/engine.hpp"

namespace rubato::cached {

struct PageMove {
  unsigned from, to;  ///< `from` 0: any class; `to` 0: the pool of all classes
};

class PageBalance {
 public:
  /// @param ratio  a class takes pages of one whose oldest items are older than its own by this factor
  /// @param eager  a page at the first evictions, not only where they go on
  std::optional<PageMove> choose(const ClassLoads& now, double ratio, bool eager);

  /// Whether a class has so much free that it can give a page and still has one and a half.
  static bool can_give(const ClassLoad& load) {
    return load.pages > 2 && 2 * load.free_chunks > 5 * load.chunks_per_page;
  }

 private:
  static constexpr unsigned kRest =
      3;  ///< seconds without growth or eviction, after which a class is at rest
  static constexpr unsigned kWindows = 3;  ///< seconds in a row in which the same class evicts most

  void note(const ClassLoads& now);

  ClassLoads before_{};
  std::array<std::uint64_t, kMaxClasses> evicted_{};  ///< in the last second
  std::array<unsigned, kMaxClasses> at_rest_{};       ///< for so many seconds
  unsigned most_ = 0, in_a_row_ = 0;
};

}  // namespace rubato::cached
