// Choice of the classes that give and get a page. A class at rest gives its free pages to the pool of all
// classes. The class whose oldest items are oldest gives pages to classes that evict younger ones: one a
// second while the same class evicts most, else one in ten seconds to the class that evicted most of those
// that go on evicting. The latter keeps many sizes, which evict most in turns, from waiting for ever. No
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
  static constexpr unsigned kTurns = 10;  ///< seconds in a row in which a class evicts, and between its pages

  void note(const ClassLoads& now);
  /// The class that takes a page if its items are younger than some; 0: none.
  unsigned taker(bool eager) const;

  ClassLoads before_{};
  std::array<unsigned, kMaxClasses> evicting_{};       ///< for so many seconds in a row
  std::array<std::uint64_t, kMaxClasses> pressure_{};  ///< evictions; those of a second earlier count half
  std::array<unsigned, kMaxClasses> at_rest_{};        ///< for so many seconds
  unsigned most_ = 0, in_a_row_ = 0, since_move_ = 0;
};

}  // namespace rubato::cached
