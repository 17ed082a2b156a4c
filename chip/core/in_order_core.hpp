// An in-order, single-issue, scoreboarded core: executes decoded blocks, advancing the cycle at which
// the next instruction may issue.
//
//   issue       an instruction issues one cycle after the previous one, or when its operands are ready
//               (stall on use), whichever is later; its result is ready after its class's latency
//   load, store an L1 hit is pipelined, and made here; everything else is LoadStoreUnit's
//   strict      what others can see (misses, atomics, traps) happens only when the chip's clock is at its
//               cycle; the rest may run ahead by the look-ahead window (LookaheadWindow)
//
// All its state is in the parts that core models share: it is what a run leaves in them. Instruction timing
// is described in docs/core-timing.md and tested there against hand-computed cycles.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/core/core_model.hpp"
#include "chip/core/pipeline_parts.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class InOrderCore final : public CoreModel {
 public:
  explicit InOrderCore(PipelineParts& parts) : parts_(parts) {}

  PipelineStop run(Cycle now, Cycle next_other, Cycle pause_at) override;
  Leaving begin_leaving() override;
  void cancel(Cycle at) override;
  bool is_blocked() const override { return parts_.lsu.deferrals().is_blocked(); }
  bool note_ready(LineAddr line) override { return deferrals().note_ready(line); }
  bool perform(LineAddr line, Cycle now) override;
  bool perform_blocked(Cycle now) override;
  bool perform_at_once(Addr begin, Addr end, Cycle now) override;
  void flush(Cycle now) override;

 private:
  DeferralUnit& deferrals() { return parts_.lsu.deferrals(); }
  /// The instructions executed now that observers see.
  enum class Shown : std::uint8_t { nothing, watched_lines, all };
  Shown shown() const {
    const PipelinePorts& ports = parts_.state.ports;
    if (ports.instructions != nullptr) return Shown::all;
    if (ports.observer == nullptr || parts_.state.task.is_doomed) return Shown::nothing;
    return ports.watch != nullptr ? Shown::watched_lines : Shown::all;
  }
  PipelineStop execute_shown(Cycle now, Cycle next_other, Cycle pause_at);

  /// A run at a strict instruction that it stopped at ahead of the clock, if nothing has moved it from there.
  [[gnu::noinline]] PipelineStop run_at_stop(Cycle now, Cycle next_other, Cycle pause_at);
  template <Shown kShown>
  PipelineStop execute(Cycle now, Cycle next_other, Cycle pause_at);
  /// Forgets blocks first that are not the code of now.
  bool is_where_it_left() {
    parts_.state.ports.blocks->synchronize();
    return parts_.resume.pc == parts_.state.hart.pc &&
           parts_.resume.generation == parts_.state.ports.blocks->generation();
  }
  bool fetch_slow(LineAddr line, std::uint64_t& issue);
  /// Shows the hart at a note. @returns false if blocks have been flushed since.
  [[gnu::noinline]] bool note(isa::BlockCache& blocks, Addr pc);
  template <bool is_observed>
  std::uint64_t observed(std::uint64_t counter);
  std::uint64_t read_counter(unsigned number, std::uint64_t issue, std::uint64_t executed) const;

  PipelineParts& parts_;
};

}  // namespace rubato::chip
