// Filter of the lines whose accesses an observer wants to see: one number decides for a load or store. It may
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
  void add(LineAddr line) { ++lines_[place(line)]; }
  void remove(LineAddr line) { --lines_[place(line)]; }
  bool has(Addr address) const { return lines_[place(line_of(address))] != 0; }

 private:
  static constexpr unsigned kBits = 12;  // 8 KiB: stays in the caches of the host
  // Stacks of threads lie at equal distances: the low bits alone would give the same place to lines of many.
  static std::size_t place(LineAddr line) { return line.value * 0x9e3779b97f4a7c15u >> (64 - kBits); }
  std::array<std::uint16_t, std::size_t{1} << kBits> lines_{};
};

}  // namespace rubato::chip
