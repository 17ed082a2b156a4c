// Checks of our own invariants. A failed check is a bug in Rubato, never the user's fault: user errors are
// exceptions of base/error.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace rubato {

/// Reports a broken invariant on stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, std::string_view message);

}  // namespace rubato

/// On in every build: use where it costs under 1 %.
#define RUBATO_CHECK(condition, ...)                                          \
  do {                                                                        \
    if (!(condition)) [[unlikely]]                                            \
      ::rubato::check_failed(__FILE__, __LINE__, #condition, "" __VA_ARGS__); \
  } while (false)

/// On in debug builds only: for hot paths.
#ifdef NDEBUG
#define RUBATO_DCHECK(condition, ...) \
  do {                                \
    if (false) (void)(condition);     \
  } while (false)
#else
#define RUBATO_DCHECK(condition, ...) RUBATO_CHECK(condition, __VA_ARGS__)
#endif
