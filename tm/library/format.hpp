// printf's formats in transactions (T55): the format and each %s are copied privately, and libc formats
// one directive at a time, so that there is no second printf here.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdarg>
#include <cstddef>

namespace rubato::tm::library {

/// Writes at most `room` bytes to `to`, which is private, without a zero at the end. @returns how many there
/// are in all. Called twice, to measure and to write: `arguments` is not used up.
std::size_t format_to(char* to, std::size_t room, const char* format, std::va_list arguments);

}  // namespace rubato::tm::library
