// Filter of the lines whose accesses an observer wants to see: one byte decides for a load or store. It may
// let others through, and never holds one back.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// Contract: a line is added once before it is removed. At most 2^16 - 1 lines are there at a time.
class LineWatch {
 public:
  void add(LineAddr line) { ++lines_[line.value % kPlaces]; }
  void remove(LineAddr line) { --lines_[line.value % kPlaces]; }
  bool has(Addr address) const { return lines_[line_of(address).value % kPlaces] != 0; }

 private:
  static constexpr std::size_t kPlaces = 4096;  // 8 KiB: stays in the caches of the host
  std::array<std::uint16_t, kPlaces> lines_{};
};

}  // namespace rubato::chip
