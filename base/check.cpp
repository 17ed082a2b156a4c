// SPDX-License-Identifier: MIT
#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace rubato {

void check_failed(const char* file, int line, const char* condition, std::string_view message) {
  std::fprintf(stderr, "rubato: internal error: %s:%d: check '%s' failed%s%.*s. Please report this.\n", file,
               line, condition, message.empty() ? "" : ": ", static_cast<int>(message.size()),
               message.data());
  std::abort();
}

}  // namespace rubato
