// SPDX-License-Identifier: MIT
#include "chip/program/heap_bridge.hpp"

#include <optional>

namespace rubato::chip {

HeapCalls::Outcome HeapBridge::call(Program& program, const Caller& caller, std::int32_t function,
                                    Cycle now) {
  program.system_calls.begin(caller.core, now);
  checkers_.enter_heap(caller.task, caller.hart);
  const auto outcome =
      serve(program, caller.hart, function, {program.own(caller.core), caller.thread, caller.attempt, now});
  checkers_.leave_heap(caller.core, caller.hart, outcome, *program.heap);
  program.system_calls.end();
  return outcome;
}

std::optional<Fault> HeapBridge::call(Program& program, Thread& thread, std::int32_t function, Cycle now) {
  const auto outcome =
      serve(program, thread.regs, function, {program.warm_up.own_core_of(thread), thread.tid, nullptr, now});
  if (outcome == HeapCalls::Outcome::faulted) return program.heap->fault();
  return std::nullopt;
}

HeapCalls::Outcome HeapBridge::serve(Program& program, HartState& hart, std::int32_t function,
                                     const IdealAllocator::Caller& caller) {
  std::optional<HartState> before;
  if (program.allocations) before = hart;
  const auto outcome = program.heap->call(hart, function, caller);
  if (before && program.heap->taken() != 0) program.allocations->on_served(*before, program.heap->taken());
  if (outcome == HeapCalls::Outcome::unserved) program.blocks.set_host_calls(program.heap->entries());
  return outcome;
}

}  // namespace rubato::chip
