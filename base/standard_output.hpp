// Output on stdout that is known to have gone where it belongs: a full disk must not look like success.
// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace rubato {

/// Prints `text` behind the output that is buffered already. @returns why stdout did not take everything
/// until here, or nothing.
inline std::string print_all(const std::string& text) {
  errno = 0;
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  return errno != 0 ? std::strerror(errno) : "an earlier write failed";
}

/// The same of all that was printed before.
inline std::string lost_output() { return print_all({}); }

}  // namespace rubato
