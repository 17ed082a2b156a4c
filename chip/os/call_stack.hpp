// Who called: what a thread's stack tells without unwind tables. Optimized code keeps no frame pointers, and
// a stack holds return addresses of calls that are long over. A word counts only where the call before it
// leads to the function found last, directly or by that one's jumps: a chain of stale ones is improbable, and
// what hides behind calls through pointers makes it a hint still.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chip/isa/insn.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/os/symbols.hpp"
#include "chip/os/thread.hpp"

namespace rubato::chip {

/// The instruction at `pc`, if it can be fetched.
std::optional<isa::Insn> instruction_at(Addr pc, const AddressSpace& memory);

/// Names of the functions that led to where `thread` is, innermost first, at most six, up to main or a
/// thread's first function.
std::vector<std::string> callers(const Thread& thread, const Symbols& symbols, const AddressSpace& memory);

}  // namespace rubato::chip
