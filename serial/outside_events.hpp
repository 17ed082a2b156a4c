// OutsideEvents on the serial engine, as its loop sees them. A task that sets an event goes on at once; what
// another thread sets comes when nothing else can run, so that a program's other choices are the seed's.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::inline v0::engine {

/// Nanoseconds; as long as it takes.
inline constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

/// Whether there are events that no clock sets.
bool waits_for_events();
/// Whether there are events that the clock sets.
bool has_delayed_tasks();
/// Waits until another thread has set one, `limit` at most. @returns how long that took, in nanoseconds
std::uint64_t wait_for_events(std::uint64_t limit);
/// Events that other threads have set leave their groups, in the order in which they were made. @returns
/// whether there were any.
bool take_set_events();
/// The run has failed: all leave their groups.
void drop_events();

}  // namespace rubato::inline v0::engine
