// The clock of delayed tasks and of actors' timers. Host engines only.
// SPDX-License-Identifier: MIT
#pragma once

#if !defined(__riscv)

#include <chrono>
#include <cstdint>

namespace rubato::inline v0 {

namespace engine {
/// Nanoseconds since a fixed moment.
std::uint64_t clock_nanoseconds();
}  // namespace engine

/// Natively the time of std::chrono::steady_clock, whose points in time it shares. On the serial engine time
/// is virtual: it starts at 0, and goes on to the next delayed task or timer when nothing else can run.
struct TaskClock {
  using duration = std::chrono::nanoseconds;  ///< type of delays
  using rep = duration::rep;                  ///< as every clock has it
  using period = duration::period;            ///< as every clock has it
#if defined(RUBATO_ENGINE_NATIVE)
  /// Natively a point in time of std::chrono::steady_clock; on the serial engine a type of its own.
  using time_point = std::chrono::time_point<std::chrono::steady_clock, duration>;
#else
  /// Natively a point in time of std::chrono::steady_clock; on the serial engine a type of its own.
  using time_point = std::chrono::time_point<TaskClock, duration>;
#endif
  static constexpr bool is_steady = true;  ///< it never goes back
  /// The present time; a manual_clock may hold it.
  static time_point now() { return time_point(duration(static_cast<rep>(engine::clock_nanoseconds()))); }
};

}  // namespace rubato::inline v0

#endif
