// Callers of a thread's function, found on its stack without unwind tables. Optimized code keeps no frame
// pointers, and a stack holds return addresses of calls that are long over. A word therefore counts only if
// the call before it leads to the function found last, directly or by jumps of that function. A chain of
// stale words is improbable, but calls through pointers can hide some: the result is a hint.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "chip/isa/insn.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/os/symbols.hpp"
#include "chip/os/thread.hpp"

namespace rubato::chip {

/// The instruction at `pc`, if it can be fetched.
std::optional<isa::Insn> instruction_at(Addr pc, const AddressSpace& memory);

/// Finds the calls that led to a position, without debugging information. An address on the stack counts if
/// it stands behind a call that may have led to the function before. Results for a call are kept until code
/// changes.
class CallChains {
 public:
  /// Both outlive it.
  CallChains(const Symbols& symbols, const AddressSpace& memory) : symbols_(symbols), memory_(memory) {}

  /// The return addresses of the calls that led to where `regs` are, innermost first, at most six, up to main
  /// or a thread's first function.
  std::vector<Addr> of(const HartState& regs);

 private:
  bool returns_from(Addr a, const Symbols::Symbol* callee);

  const Symbols& symbols_;
  const AddressSpace& memory_;
  std::map<std::pair<Addr, const Symbols::Symbol*>, bool> known_;
  std::uint64_t generation_ = 0;  // of the code that they are known of
};

/// The names of the functions that these are in.
std::vector<std::string> callers(const Thread& thread, const Symbols& symbols, const AddressSpace& memory);

}  // namespace rubato::chip
