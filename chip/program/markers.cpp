// SPDX-License-Identifier: MIT
#include "chip/program/markers.hpp"

#include <fmt/format.h>

namespace rubato::chip {

Markers::Mark Markers::mark(Program& program, bool begins, const std::string& region, bool is_alone) {
  std::string name = is_alone ? region : fmt::format("{}.{}", program.number + 1, region);
  names_.insert(name);
  if (names_.size() > kMost) return {name, fmt::format("but at most {} names are possible", kMost)};
  const bool is_open = program.open_regions.contains(name);
  if (is_open == begins) return {name, begins ? "which has not ended" : "which has not begun"};
  if (begins) {
    program.open_regions.insert(name);
  } else {
    program.open_regions.erase(name);
  }
  return {name, {}};
}

}  // namespace rubato::chip
