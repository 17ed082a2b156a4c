// How much memory this process has needed.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

namespace rubato {

/// Resident memory in MB, at most: the kernel's high-water mark of this program alone. getrusage() would
/// include the process that started it.
inline double peak_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
}

}  // namespace rubato
