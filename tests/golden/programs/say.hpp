// Words of the golden programs, with write(2) alone, so that little of the C library is in them.
// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace golden {

/// Writes `what: value` and a line's end.
inline void say(const char* what, std::uint64_t value) {
  char text[96];
  std::size_t length = strnlen(what, 64);
  std::memcpy(text, what, length);
  text[length++] = ':';
  text[length++] = ' ';
  char digits[20];
  std::size_t count = 0;
  do digits[count++] = static_cast<char>('0' + value % 10);
  while (value /= 10);
  while (count != 0) text[length++] = digits[--count];
  text[length++] = '\n';
  if (write(STDOUT_FILENO, text, length) < 0) std::_Exit(3);
}

}  // namespace golden
