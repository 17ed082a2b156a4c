// Regions that programs mark (rubato/markers.h): they begin and end by a system call, have names, and may
// overlap. Each name has all statistics, so that only so many are possible.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "chip/program/program.hpp"

namespace rubato::chip {

class Markers {
 public:
  static constexpr std::size_t kMost = 64;  // names

  struct Mark {
    std::string name;   ///< for statistics: of programs side by side each has its own
    std::string error;  ///< why the program must not do so, after a comma; empty: it may
  };
  /// `program` begins or ends `region`. `is_alone`: no other program is on the chip.
  Mark mark(Program& program, bool begins, const std::string& region, bool is_alone);

 private:
  std::set<std::string> names_;  // that programs have marked
};

}  // namespace rubato::chip
