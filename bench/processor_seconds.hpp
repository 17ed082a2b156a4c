// Processor time of this process. For benchmarks.
// SPDX-License-Identifier: MIT
#pragma once

#include <sys/resource.h>

/// Seconds of all threads since the start, in the program and in the kernel.
inline double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}
