// What the functions that led to a wait say about it. The kernel sees a futex; whether that is a mutex, a
// barrier or a condition variable, the names of the C library, of libgomp and of Go's runtime tell, and which
// function is the user's.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "chip/os/thread_profile.hpp"

namespace rubato::chip {

/// The first of `functions`, innermost first, that is no runtime library's; their number if all are.
std::size_t user_frame(std::span<const std::string> functions);

/// "lock", "barrier", "condition", "join", "semaphore", "sleep", "files", "signal", "region" or "futex". Of a
/// thread that runs (Kind::none) what it spins for, and "" if it does not.
std::string_view describe_wait(ThreadWait::Kind kind, std::span<const std::string> functions);

}  // namespace rubato::chip
