// SPDX-License-Identifier: MIT
#include "tm/failure.hpp"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "tm/uncancelled.hpp"

namespace rubato::tm {
namespace {

// No stdio stream: the program may hold its lock.
void print(const char* format, std::va_list arguments) {
  char text[512] = "librubato_itm: ";
  constexpr int kPrefix = 15;
  int length = std::vsnprintf(text + kPrefix, sizeof text - kPrefix - 1, format, arguments);
  length = kPrefix + (length < 0 ? 0 : length);
  if (length > static_cast<int>(sizeof text) - 2) length = sizeof text - 2;
  text[length++] = '\n';
  const Uncancelled uncancelled;  // callers hold locks, or the serial transaction's place
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, static_cast<std::size_t>(length));
}

}  // namespace

void fatal(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  print(format, arguments);
  va_end(arguments);
  std::abort();
}

void warn(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  print(format, arguments);
  va_end(arguments);
}

}  // namespace rubato::tm
