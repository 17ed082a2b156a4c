// A complete scheme to find conflicts among uncommitted attempts. It has the checks of the caches
// (ConflictCheck), the records of cores (AccessRecorder), and the messages of task units about attempts
// (SpeculationControl). Besides, it has the functions by which the chip puts these together. Another scheme
// is a class of its own and a line of factory.cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "chip/conflict/access_recorder.hpp"
#include "chip/conflict/reservations.hpp"
#include "chip/speculation/aborter.hpp"
#include "chip/speculation/conflict_check.hpp"
#include "chip/speculation/conflict_fault.hpp"
#include "chip/speculation/speculation_control.hpp"

namespace rubato::chip {

class StatRegistry;

class ConflictScheme : public ConflictCheck, public AccessRecorder, public SpeculationControl {
 public:
  /// Before the first begin(). `possible_holders`: the directory's superset of the tiles that hold a line
  /// (MemoryHierarchy::possible_holders).
  virtual void attach(Aborter& handler, std::function<std::uint64_t(LineAddr)> possible_holders) = 0;
  /// The reservations of the non-speculative tasks.
  virtual Reservations& reservations() = 0;
  /// Appends the live attempts that wrote a line in [first, last], or (readers) read one, by tile and slot:
  /// exactly those, for a system call.
  virtual void accessors(LineAddr first, LineAddr last, bool readers, std::vector<Attempt*>& out) const = 0;
  virtual void register_stats(StatRegistry& registry) const = 0;
  virtual void inject(ConflictFault fault) = 0;
};

}  // namespace rubato::chip
