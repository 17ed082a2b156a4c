// SPDX-License-Identifier: MIT
#include "native/worker/clock.hpp"

namespace rubato::runtime {

double ticks_per_microsecond() {
  static const double rate = [] {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const std::uint64_t first = ticks();
    auto now = start;
    while (now - start < std::chrono::milliseconds(1)) now = Clock::now();
    return static_cast<double>(ticks() - first) /
           std::chrono::duration<double, std::micro>(now - start).count();
  }();
  return rate;
}

}  // namespace rubato::runtime
