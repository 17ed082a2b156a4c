// The holder of a lock of capsules (capsule::TicketLock; P53, P104): the core that drew the ticket served. A
// ticket is the value that the amoadd.w before a wait for a lock (LockMarks) found in memory, so the program
// executes nothing for it. Draws in fast-forward are not seen.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "chip/isa/insn.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/os/lock_marks.hpp"
#include "chip/os/symbols.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class LockTickets {
 public:
  /// The activity of a core: a task, or (task 0) a thread.
  struct Runner {
    std::uint64_t task;
    int thread;
  };
  struct Draw {
    std::uint32_t ticket;
    CoreId core;
    Runner runner;
    Addr pc;
    Cycle cycle;
  };

  /// All references outlive this.
  LockTickets(const AddressSpace& memory, const LockMarks& marks, std::function<Runner(CoreId)> runner)
      : memory_(memory), marks_(marks), runner_(std::move(runner)) {}

  /// `core` has executed an atomic instruction, which found `old` at `address`.
  void on_atomic(CoreId core, const isa::Insn& insn, Addr pc, Addr address, std::uint64_t old, Cycle cycle);
  /// The lock's holder; null: the lock is free, or was taken in fast-forward.
  const Draw* holder(Addr lock) const;
  /// Whether the ticket that `core` drew last for the lock is the one that is served.
  bool has_turn(CoreId core, Addr lock) const;

  /// "core 2 (task 5, in take_two+0x1c since cycle 812)"; the cycle is when it asked for the lock.
  static std::string describe(const Draw& draw, const Symbols& symbols);

 private:
  std::uint32_t served(Addr lock) const;

  const AddressSpace& memory_;
  const LockMarks& marks_;
  std::function<Runner(CoreId)> runner_;
  std::unordered_map<Addr, std::vector<Draw>> draws_;  // by lock: the holder's and the waiters', in order
};

}  // namespace rubato::chip
