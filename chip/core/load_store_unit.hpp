// The loads and stores of a core that are more than an undisturbed L1 hit, which the interpreter makes
// itself.
//
//   miss         occupies an entry of the load or store buffer until it is done, and the core goes on; a hit
//                under an outstanding fill waits for it, unless the store buffer has the very word
//   deferred     a miss that messages have yet to bring performs when the line is there (deferral_unit.hpp)
//   strict       a miss waits for the chip's clock: the core leaves and comes again; a hit may run ahead
//   speculative  the lines that are used are recorded (memory_port.hpp), stores log first (undo_logger.hpp)
//   refused      without the right to it the access is a fault; a doomed run skips it (P37)
//
// Contract of an access: false, the pipeline leaves for the reason in the state's departure and nothing has
// been done; true, it is made but for the value, which the interpreter moves, or it is to be skipped.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>

#include "chip/config/config.hpp"
#include "chip/core/access_buffers.hpp"
#include "chip/core/deferral_unit.hpp"
#include "chip/core/memory_port.hpp"
#include "chip/core/pipeline_state.hpp"
#include "chip/core/undo_logger.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class LoadStoreUnit {
 public:
  LoadStoreUnit(PipelineState& state, const Config& config)
      : state_(state),
        buffers_(state, config.core),
        port_(state, config.conflict.forwarding == "on"),
        log_(state, port_, buffers_),
        deferrals_(state, port_, buffers_, log_, config.core.defers) {}

  /// `missed`: the L1 was asked for the access a moment ago and refused it.
  bool load(Addr address, unsigned bytes, IssueSlot& slot, bool missed);
  bool store(Addr address, unsigned bytes, IssueSlot& slot);
  /// `flags` as in isa::Insn; `kind` is atomic, or load of an lr.
  bool atomic(Addr address, unsigned bytes, unsigned flags, AccessKind kind, IssueSlot& slot);
  /// Waits for every outstanding access.
  bool fence(std::uint64_t& issue);
  /// As a fence, where none is deferred.
  void drain(std::uint64_t& issue) { buffers_.drain(issue); }

  /// The last access is as if it had been made: a doomed run does without it, or it is deferred.
  bool skips() const { return skips_; }
  bool take_skip() { return std::exchange(skips_, false); }

  MemoryPort& port() { return port_; }
  const MemoryPort& port() const { return port_; }
  UndoLogger& log() { return log_; }
  AccessBuffers& buffers() { return buffers_; }
  DeferralUnit& deferrals() { return deferrals_; }
  const DeferralUnit& deferrals() const { return deferrals_; }

 private:
  /// An access to two lines takes one entry of `buffer`, and `has_entry` with the second: if it had to wait
  /// in between, it would begin anew, and others, or its own second line, could take the first one time and
  /// again.
  bool access_line(LineAddr line, Addr word, AccessKind kind, AccessBuffer& buffer, IssueSlot& slot,
                   bool has_entry = false);
  void wait_for_fill(LineAddr line, Addr word, IssueSlot& slot);
  /// Goes on without a miss that was blocked, if it can.
  bool defer(LineAddr first, LineAddr last, AccessBuffer& buffer);
  /// An access must let others go first; `is_refused`: the L1 was asked for it and refused.
  bool leave_for_access(LineAddr line, Addr address, bool is_refused);
  /// An access without the right to it.
  bool refuse(FaultKind kind, Addr address);
  bool refuse_foreign_stack(Addr address);
  /// The first address of the access that its page does not allow.
  Addr forbidden(Addr address, unsigned bytes, std::uint8_t rights) const;
  bool skip() { return skips_ = true; }

  PipelineState& state_;
  AccessBuffers buffers_;
  MemoryPort port_;
  UndoLogger log_;
  DeferralUnit deferrals_;
  AccessParts access_parts_{};  // of the last slow access
  bool skips_ = false;
};

}  // namespace rubato::chip
