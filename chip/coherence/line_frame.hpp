// A line's frame says its set in the arrays of its home (K22): with llc.interleave=low the lowest bits of a
// line say which home has it, and lines of a home would fall into few sets; and pages a power of two apart
// into the same ones. A frame is the line's number under a fixed bijection, so that tags name lines.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>

#include "base/rng.hpp"
#include "chip/config/config.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class LineFrame {
 public:
  explicit LineFrame(const Config& config)
      : is_used_(config.llc.interleave == "low"),
        home_bits_(static_cast<std::uint32_t>(std::countr_zero(config.tiles()))) {}

  LineAddr of(LineAddr line) const {
    if (!is_used_) return line;
    const std::uint64_t mixed = mix(line.value), low = mixed & kLow;
    return LineAddr{(mixed & ~kLow) | (low >> home_bits_) | (low << (kLowBits - home_bits_) & kLow)};
  }
  LineAddr line_of(LineAddr frame) const {
    if (!is_used_) return frame;
    const std::uint64_t low = frame.value & kLow;
    return LineAddr{
        mix((frame.value & ~kLow) | (low << home_bits_ & kLow) | (low >> (kLowBits - home_bits_)))};
  }

 private:
  static constexpr std::uint32_t kLowBits = 30, kPageBits = 6, kMixedBits = 12;
  static constexpr std::uint64_t kLow = (std::uint64_t{1} << kLowBits) - 1;
  /// Lower bits of the page's number change with its upper bits, which stay: its own inverse.
  static std::uint64_t mix(std::uint64_t line) {
    const std::uint64_t upper = line >> (kPageBits + kMixedBits);
    return line ^ (mix64(upper) & ((1U << kMixedBits) - 1)) << kPageBits;
  }

  bool is_used_;
  std::uint32_t home_bits_;
};

}  // namespace rubato::chip
