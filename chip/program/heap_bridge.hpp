// Bridge between programs and the ideal allocator (run.alloc=ideal): the caller, the attempt on whose behalf
// it calls, and the information for checkers and the program's decoded code. Without that allocator no call
// comes here.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "chip/alloc/heap_calls.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/memory/fault.hpp"
#include "chip/os/thread.hpp"
#include "chip/program/program.hpp"
#include "chip/replay/run_checkers.hpp"
#include "chip/speculation/attempt.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class HeapBridge {
 public:
  explicit HeapBridge(RunCheckers& checkers) : checkers_(checkers) {}

  /// A core in detail at the entry of a heap function.
  struct Caller {
    CoreId core;
    HartState& hart;
    int thread;
    std::uint64_t task;  ///< 0: none
    Attempt* attempt;    ///< null: nothing speculates
  };
  HeapCalls::Outcome call(Program& program, const Caller& caller, std::int32_t function, Cycle now);

  /// A thread in fast-forward, which uses the pool of the core that it would run on. @returns its fault.
  std::optional<Fault> call(Program& program, Thread& thread, std::int32_t function, Cycle now);

  /// The attempt's fate is known: so is that of its blocks.
  static void retire(Program& program, Attempt& attempt, bool is_committed) {
    if (!program.heap) return;
    if (is_committed) {
      program.heap->allocator().on_commit(attempt);
    } else {
      program.heap->allocator().on_abort(attempt);
    }
  }

 private:
  static HeapCalls::Outcome serve(Program& program, HartState& hart, std::int32_t function,
                                  const IdealAllocator::Caller& caller);

  RunCheckers& checkers_;
};

}  // namespace rubato::chip
