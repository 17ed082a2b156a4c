// SPDX-License-Identifier: MIT
#include "native/clock.hpp"

#include "base/perturbation.hpp"
#include "native/policy.hpp"

namespace rubato::inline v0::native {

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

std::uint64_t worth_ticks() {
  static const auto value =
      static_cast<std::uint64_t>(static_cast<double>(policy::kWorthMicroseconds) * ticks_per_microsecond());
  return threshold(value, std::uint64_t{1});
}
std::uint64_t ticks_of(std::uint64_t microseconds) {
  return microseconds * worth_ticks() / policy::kWorthMicroseconds;
}

}  // namespace rubato::inline v0::native
