// How long a worker spins before it tells its caller to do something else (R10).
// SPDX-License-Identifier: MIT
#pragma once

namespace rubato::inline v0::native {

/// Tries with a pause between them. A pause takes 40 to 140 cycles on today's x86 cores, so that all of them
/// are about a microsecond at most; counted rather than timed, so that a test's schedule does not depend on a
/// clock.
inline constexpr unsigned kSpinTries = 24;

/// True as soon as attempt() is; false after `tries` of them. The caller then requeues its task, yields or
/// parks.
template <class Atomics, class Attempt>
bool spin(unsigned tries, Attempt attempt) {
  for (unsigned i = 0; i < tries; ++i) {
    if (attempt()) return true;
    Atomics::pause();
  }
  return false;
}

}  // namespace rubato::inline v0::native
