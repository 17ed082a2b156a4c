// When the crawler looks at which classes by itself. A look pays if it frees a hundredth of the items that
// can expire, so each look says when the next one does: as memcached's, whose constants these are. No thread,
// no clock: tests give it the time.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include "cached/core/engine.hpp"

namespace rubato::cached {

class CrawlSchedule {
 public:
  /// Bits of the classes to look at now; 0: none. A class whose look has not been noted is due again soon.
  std::uint64_t due(std::uint32_t now);
  /// A look at these classes has ended.
  void note(const CrawlCensus& census, std::uint64_t classes, std::uint32_t now);
  /// Seconds that the class waits after a look, for tests.
  std::uint32_t wait_of(unsigned c) const { return classes_[c].wait; }

 private:
  // Seconds. A class that gives nothing is looked at after 1, 2, 3 ... minutes, and once an hour at least.
  static constexpr std::uint32_t kStep = 60, kMost = 60 * 60, kMargin = 5, kRetry = 5;
  struct Class {
    std::uint32_t next = 0, wait = 0;
  };
  std::array<Class, kMaxClasses> classes_;
};

}  // namespace rubato::cached
