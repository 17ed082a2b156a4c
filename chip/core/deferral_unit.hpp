// Accesses that wait for messages while the core goes on (K11, K12): which may, how they perform when
// messages have brought their lines, and what becomes of them when their task or their page goes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "chip/core/access_buffers.hpp"
#include "chip/core/deferred_accesses.hpp"
#include "chip/core/memory_port.hpp"
#include "chip/core/pipeline_state.hpp"
#include "chip/core/undo_logger.hpp"
#include "chip/isa/insn.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class DeferralUnit {
 public:
  /// All outlive this. `defers`: core.defers; else every access waits for its line.
  DeferralUnit(PipelineState& state, MemoryPort& port, AccessBuffers& buffers, UndoLogger& log, bool defers)
      : state_(state), port_(port), buffers_(buffers), log_(log), defers_(defers) {}

  bool any() const { return accesses_.any(); }
  /// From now on each access waits for its line: the core model overlaps misses itself.
  void never_defer() { defers_ = false; }

  // ---- The instruction that is executed ----

  enum class Look : std::uint8_t { nothing, taken, leaves };
  /// Checks an access while others are deferred: deferred accesses of its line come first, and their stores
  /// may serve it. Taken: end() follows.
  Look look(Addr address, unsigned bytes, bool write, IssueSlot& slot);
  /// An access to one line, which needs an entry of `buffer`, was not done: true if the core can go on
  /// without, and end() follows.
  bool defer(AccessBuffer& buffer);
  /// An access has been taken or deferred, and end() is to follow.
  bool is_taking() const { return how_ != How::none; }
  /// The access is a load that a deferred store serves with this value.
  bool is_forwarded() const { return how_ == How::forwarded; }
  std::uint64_t forwarded() const { return forwarded_; }
  /// Ends the taking: the access belongs to this instruction.
  void end(const isa::Insn& insn, Addr pc, IssueSlot& slot);
  /// Entries of the undo log that deferred stores will make: the room is theirs from now on, as one that had
  /// to wait for it then would do so with its line in hand.
  std::size_t log_entries() const;

  // ---- Messages ----

  /// Messages have brought `line`, or the right to it. False: no deferred access waits for it.
  bool note_ready(LineAddr line);
  /// Performs deferred accesses of `line`, in order, up to one that is blocked.
  void perform(LineAddr line, Cycle now);
  /// perform() met a conflict that is undecided: perform_blocked() when woken.
  bool is_blocked() const { return is_blocked_; }
  void perform_blocked(Cycle now);
  /// perform() met a page that has lost its rights since the access was deferred: the departure's fault says
  /// where. The access is gone.
  bool take_fault() { return std::exchange(is_fault_, false); }
  /// Performs the accesses of [begin, end) at once: an event that does not wait for messages is about to
  /// change the memory or this core (K14). The contents of their messages are not used later. Accesses of a
  /// speculative task are left, and find the state of that later time.
  void perform_at_once(Addr begin, Addr end, Cycle now);
  /// The core has waited until `at`: that is charged to the access that performed last.
  void resume(Cycle at);
  /// The task is aborted. Lines that its messages bring stay in the tile, unused (K63).
  void cancel();

 private:
  enum class How : std::uint8_t { none, first, behind, forwarded };

  /// Accesses of a speculative task in a capsule, aborted or not, are performed at once.
  bool is_allowed() const {
    return !state_.task.is_doomed && (state_.task.attempt == nullptr || state_.hart.capsule_depth == 0);
  }
  void give_value(const DeferredAccess& access, std::uint64_t ready, const AccessParts& parts);
  /// Deferred accesses have performed, or are gone: updates the ready times that the interpreter reads.
  void settle();
  void drop(const DeferredAccess& access);

  PipelineState& state_;
  MemoryPort& port_;
  AccessBuffers& buffers_;
  UndoLogger& log_;
  DeferredAccesses accesses_;
  std::uint64_t forwarded_ = 0;
  AccessParts performed_parts_{};  // of the one that performed last
  bool defers_;
  bool is_blocked_ = false;
  bool is_fault_ = false;
  How how_ = How::none;
};

}  // namespace rubato::chip
