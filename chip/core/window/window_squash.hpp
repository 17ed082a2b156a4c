// Squashes of a window core: the youngest instructions are undone, and dispatch begins anew at the first of
// them. Registers, `fflags`, times and the predictor's path are then as they were before it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/core/window/window_parts.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class WindowSquash {
 public:
  explicit WindowSquash(WindowParts& window) : w_(window) {}

  /// Nothing from `position` on has been executed: it begins anew at `pc`, at `at`.
  void from(std::uint64_t position, Addr pc, std::uint64_t at);
  /// The same for all that has not committed, if there is any.
  void all(std::uint64_t at) {
    if (!w_.buffer.is_empty()) from(w_.buffer.head(), w_.buffer.front().pc, at);
  }

 private:
  WindowParts& w_;
};

}  // namespace rubato::chip
