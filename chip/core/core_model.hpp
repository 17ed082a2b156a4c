// Interface of an execution model that replaces the pipeline's own in-order model. A core makes one call a
// run slice, and reports events of accesses under way. Registers, counters and the reason of a stop are in
// the state that the model shares with the pipeline (PipelineState).
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "chip/core/departure.hpp"
#include "chip/core/window/window_fault.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class StatRegistry;

class CoreModel {
 public:
  CoreModel() = default;
  CoreModel(const CoreModel&) = delete;
  CoreModel& operator=(const CoreModel&) = delete;
  virtual ~CoreModel() = default;

  /// As Pipeline::run(). `deferred`: nothing can be done until messages come; every other stop, but `resume`
  /// and `blocked`, finds all before it done.
  virtual PipelineStop run(Cycle now, Cycle next_other, Cycle pause_at) = 0;
  /// Another context begins at the state's cycle, its registers set. Nothing is under way.
  virtual void begin_context() = 0;

  /// Instructions or stores are under way.
  virtual bool is_busy() const = 0;
  /// No instruction is begun any longer: run() says `drained` when nothing is under way, and begins anew
  /// then.
  virtual void stop_dispatch() = 0;

  /// Messages have brought `line`, or the right to it. False: nothing waits for it.
  virtual bool note_ready(LineAddr line) = 0;
  /// Instructions that wait for the line go on; run() follows.
  virtual void perform(LineAddr line, Cycle now) = 0;
  /// Pages of [begin, end) are about to change: earlier accesses to them perform now, or are done again after
  /// the change. True: run() is to follow.
  virtual bool perform_at_once(Addr begin, Addr end, Cycle now) = 0;
  /// The thread leaves: committed instructions take effect, the others it will execute elsewhere.
  virtual void flush(Cycle now) = 0;

  virtual void inject(WindowFault fault) = 0;
  virtual void register_stats(StatRegistry& registry, const std::string& prefix) const = 0;
};

}  // namespace rubato::chip
