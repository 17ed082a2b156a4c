// A cancel puts back a copy of memory, when handlers inside are over.
// SPDX-License-Identifier: MIT
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>

#include "program.hpp"

// clang-format off
#define SAFE
#define BEGIN { const Memory saved = memory; bool is_cancelled = false; do {
#define CANCEL { is_cancelled = true; break; }
#define END } while (false); if (is_cancelled) memory = saved; }
// clang-format on

namespace serial {
#include "run.inc"
}
