// The ways to keep tasks of one resource apart. The choice for a resource: choice.hpp. R4.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::inline v0::native {

/// How tasks annotated with one resource are kept apart. Fits 3 bits of a task's handle.
enum class Primitive : std::uint8_t {
  none,              ///< not at all: the program does it
  latch,             ///< one task at a time, by a spinning latch
  shared_latch,      ///< readers together, writers alone, by a latch
  optimistic_latch,  ///< readers validate a version, writers hold it as a latch
  optimistic_pool,   ///< readers validate a version, writers run in the resource's pool
  pool,              ///< every task runs in the resource's pool
  guarded = 7,       ///< another one of these, but first the task's group is asked (worker/guarded.cpp)
};

}  // namespace rubato::inline v0::native
