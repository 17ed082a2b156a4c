// Finds errors of capsules that may stay hidden for years (run.check_capsules; P17, P104). A task that went
// wrong can write anywhere in tracked memory. A capsule must therefore not take addresses, or the C library's
// state, from there. Its own stores there do not exist in a doomed run.
//
//   own data   a load or store of writable tracked memory at an address that the code makes of its own place
//              (auipc, lui) or of gp: a static variable, or a slot of the global offset table
//   tp         an access by the thread pointer, which is the caller's: thread-local variables, errno
//   read back  a load of what the same capsule call has stored to tracked memory
//   lock held  an access to tracked memory, a create, a wait, a promote or the end of the call with a lock
//              (capsule::TicketLock) held: others wait for it, and cannot go on
//   deadlock   a wait for a lock whose holder waits, over however many others, for what the waiting one holds
//
// Memory that a caller passes by pointer is the caller's responsibility.
// SPDX-License-Identifier: MIT
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "chip/core/instruction_observer.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/os/lock_marks.hpp"
#include "chip/os/lock_tickets.hpp"
#include "chip/os/symbols.hpp"

namespace rubato::chip {

class CapsuleLint final : public InstructionObserver {
 public:
  /// The position of a core: its depth in capsules, and its own stack.
  struct Place {
    std::uint32_t depth;
    Addr stack_low, stack_high;
  };
  /// @param fail receives the error, once, as a sentence.
  CapsuleLint(const AddressSpace& memory, const Symbols& symbols, const LockMarks& locks,
              const LockTickets& tickets, std::uint32_t cores, std::function<Place(CoreId)> place,
              std::function<void(const std::string&)> fail);

  void on_thread(CoreId core, std::uint32_t) override { calls_[core.value] = {}; }
  void on_instruction(const ExecutedInstruction& executed) override;

 private:
  /// The capsule call that a core is in.
  struct Call {
    bool is_open = false;
    // Registers that hold an address of the capsule's code's own making, or one made of tp.
    std::bitset<65> own{}, of_thread{};
    std::unordered_set<Addr> stored{};  ///< words of tracked memory
    std::uint32_t held = 0;             ///< locks
    Addr taken_at = 0;                  ///< the last
    Addr awaited = 0;                   ///< lock, or 0
  };
  void check(Call& call, const ExecutedInstruction& executed, bool is_on_stack);
  static void follow(Call& call, const isa::Insn& insn);
  void follow_locks(Call& call, Addr pc) const;
  /// The call has drawn a ticket of call.awaited.
  void check_wait(CoreId core, Addr pc);
  void fail(Addr pc, const std::string& what);

  const AddressSpace& memory_;
  const Symbols& symbols_;
  const LockMarks& locks_;
  const LockTickets& tickets_;
  std::function<Place(CoreId)> place_;
  std::function<void(const std::string&)> fail_;
  std::vector<Call> calls_;  // by core
  bool has_failed_ = false;
};

}  // namespace rubato::chip
