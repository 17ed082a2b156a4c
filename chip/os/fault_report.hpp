// Error reports for users (C2, C3): one sentence with cause, pc, symbol and instruction. For runs in
// which nothing can proceed: each waiting thread or task, and the thing it waits for.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "chip/os/process.hpp"
#include "chip/vocabulary/task.hpp"

namespace rubato::chip {

/// "thread 1000 read address 0x10, which is not mapped, at 0x10450 (main+0x12: ld a0, 16(zero)), called from
/// ...". A thread that runs `task` is named by it: "task visit(Vertex*) at timestamp 7".
std::string describe(const Fault& fault, const Thread& thread, const Process& process,
                     const TaskDescriptor* task = nullptr);

/// "the program was killed by SIGABRT" with the caller's hint for abort() and friends.
std::string describe_death(int signal);

/// The signal that Linux sends for a fault; SIGABRT for what Linux does not have.
int signal_of(FaultKind kind);

/// The position of a thread, "0x10450 (main+0x12)", and its callers, as far as return addresses on its stack
/// tell.
std::string describe_position(const Thread& thread, const Process& process);

/// `text` with the names of functions in place of their addresses: for what task units say, which know no
/// symbols. Other numbers stay as they are.
std::string name_functions(std::string_view text, const Symbols& symbols);

}  // namespace rubato::chip
