// The reason for which a pipeline stops executing. A function that cannot go on records the reason here and
// returns false; its callers return false in turn.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "chip/memory/fault.hpp"
#include "chip/vocabulary/memory_system.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// Why the pipeline stopped; hart().pc is at the instruction that could not be executed.
enum class PipelineStop : std::uint8_t {
  resume,    ///< call run() again when the clock is at cycle()
  blocked,   ///< the memory system blocked an access: resume_at() when woken
  deferred,  ///< it needs what a deferred access brings: deferrals().resume() when one has performed
  ecall,
  task,       ///< a task instruction: insn() says which
  fence_i,    ///< decoded blocks are to be dropped; go on behind it
  fault,      ///< fault() says what
  host_call,  ///< at the entry of a function that the simulator serves: insn() says which
  returned,   ///< the function that watch_return() names returned
  drained,    ///< of a CoreModel that was told to stop dispatch
};

struct Departure {
  PipelineStop stop = PipelineStop::resume;
  BlockReason blocked_by = BlockReason::none;  ///< of the last access that was blocked
  LineAddr blocked_line{};                     ///< its line
  Fault fault{};                               ///< the last one; its pc is said behind it

  bool leave(PipelineStop why) {
    stop = why;
    return false;
  }
  bool leave_blocked(BlockReason by, LineAddr line) {
    blocked_by = by;
    blocked_line = line;
    return leave(PipelineStop::blocked);
  }
  bool leave_with_fault(FaultKind kind, Addr address) {
    fault = Fault{kind, 0, address, {}, false};
    return leave(PipelineStop::fault);
  }
  /// The task has broken a rule of the task model; in a capsule, its caller may be to blame.
  bool leave_with_task_error(Addr address, std::string sentence) {
    fault = Fault{FaultKind::task_error, 0, address, std::move(sentence), true};
    return leave(PipelineStop::fault);
  }
};

}  // namespace rubato::chip
