// A cheap clock for decisions, not for results: the time stamp counter where there is one.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>

namespace rubato::inline v0::native {

/// In ticks of about a nanosecond or less; only differences mean something.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Measured once, for about a millisecond.
double ticks_per_microsecond();

/// policy::kWorthMicroseconds in ticks, of which a perturbed build makes one now and then (perturbation.hpp).
std::uint64_t worth_ticks();
/// The same measure of time: in a perturbed build all of them are short at once.
std::uint64_t ticks_of(std::uint64_t microseconds);

}  // namespace rubato::inline v0::native
