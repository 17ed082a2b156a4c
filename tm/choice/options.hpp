// The settings, from the environment, read at the process's first transaction.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::tm {

struct Options {
  bool undo_always = false;  ///< ITM_DEFAULT_METHOD=serial: serial transactions never run uninstrumented
  std::uint32_t serialize_after = 100;
};
extern Options options;

/// Reads the environment and sets the regime. Values that are not understood: one sentence and the default.
void choose_algorithm();

}  // namespace rubato::tm
