// How the library ends a program that broke the rules of the interface: one sentence, then abort().
// SPDX-License-Identifier: MIT
#pragma once

namespace rubato::tm {

/// Prints "librubato_itm: <sentence>" on standard error and aborts. `format` as for printf.
[[noreturn, gnu::format(printf, 1, 2), gnu::cold]] void fatal(const char* format, ...);
/// Prints the same and goes on: for settings that are not understood.
[[gnu::format(printf, 1, 2), gnu::cold]] void warn(const char* format, ...);

}  // namespace rubato::tm
