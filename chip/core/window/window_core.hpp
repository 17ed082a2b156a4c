// A core with a window (K65). Instructions are dispatched in order into a reorder buffer, `core.width` a
// cycle, issue as operands and ports allow, and commit in order. No wrong path is executed, and the stores
// that a load reads are known without a prediction.
// - Value: an instruction is executed when it is dispatched, on registers and memory as they then are, with
//   its own older stores over them (K66). A load that cannot perform yet goes on with the value that it saw.
//   When it performs, the value is read again. If the value differs, all instructions behind the load are
//   squashed and done anew. Stores reach memory when they have committed and their line is there.
// - Time is computed, not stepped through (K68). Issue is the first cycle with a port, from dispatch + 1 and
//   all operands on; complete = issue + latency; commit is in order. An instruction that depends on a load
//   with an unknown end is resolved when that end is known. So only interactions with the memory system are
//   events.
// - Alone: fences, atomics, lr, sc, CSRs, calls, faults and accesses to two lines wait until all instructions
//   before them have committed. Instructions that order memory also wait for the store queue (K67).
//
// Stages, each a class of its own over the parts that they share (WindowParts): WindowDispatch, WindowLoads,
// WindowStores, WindowCommit and WindowSquash. The core is their loop, and passes on what the chip tells it.
//
// Invariants: instructions before the head have performed, and are final. An entry leaves at the head as soon
// as its completion time is known. Therefore all instructions that may be squashed are behind a load that has
// not performed. A speculative task's access is checked and recorded when it performs (C15), and its store is
// logged when it is written (C14). docs/window-core.md.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "chip/config/config.hpp"
#include "chip/core/core_model.hpp"
#include "chip/core/pipeline_parts.hpp"
#include "chip/core/window/window_commit.hpp"
#include "chip/core/window/window_dispatch.hpp"
#include "chip/core/window/window_fault.hpp"
#include "chip/core/window/window_loads.hpp"
#include "chip/core/window/window_parts.hpp"
#include "chip/core/window/window_squash.hpp"
#include "chip/core/window/window_stats.hpp"
#include "chip/core/window/window_stores.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class WindowCore final : public CoreModel {
 public:
  WindowCore(const Config& config, PipelineParts& parts);

  PipelineStop run(Cycle now, Cycle next_other, Cycle pause_at) override;
  Leaving begin_leaving() override;
  bool note_ready(LineAddr line) override;
  bool perform(LineAddr line, Cycle now) override;
  bool perform_blocked(Cycle now) override;
  void cancel(Cycle at) override;
  bool is_blocked() const override { return w_.is_blocked; }
  bool perform_at_once(Addr begin, Addr end, Cycle now) override;
  void flush(Cycle now) override;
  void register_stats(StatRegistry& registry, const std::string& prefix) const override {
    w_.stats.register_stats(registry, prefix + "window.");
  }

  void inject(WindowFault fault) { w_.fault = fault; }
  const WindowStats& stats() const { return w_.stats; }

 private:
  /// Instructions or stores are under way.
  bool is_busy() const { return !w_.buffer.is_empty() || !w_.stores.empty(); }
  bool can_dispatch() const { return !w_.point.is_stalled() && !is_stopping_; }
  /// The body of run(), until its task is aborted by an access of its own.
  PipelineStop run_on(Cycle now, Cycle next_other, Cycle pause_at);
  /// Execution goes on from the state.
  void begin();
  /// Execution stops, and the state says where.
  PipelineStop leave(PipelineStop stop);
  void act(const WindowAction& action);
  void perform_line(LineAddr line, Cycle now);
  /// Loads or stores may have performed: instructions that waited for their times issue and commit.
  void resolve();
  void issue_pending();
  /// Nothing is under way any longer.
  void discard();
  /// discard() is due: the task was aborted within this call.
  void end_call() {
    is_called_ = false;
    if (w_.is_cancelled) discard();
  }

  WindowParts w_;
  WindowSquash squash_;
  WindowLoads loads_;
  WindowStores stores_;
  WindowCommit commit_;
  WindowDispatch dispatch_;
  bool is_stopping_ = false;
  bool is_synced_ = false;  // the point of dispatch goes on from the last run, not from the state
  bool is_called_ = false;  // within run() or perform()
  Cycle cancelled_at_{};
};

}  // namespace rubato::chip
