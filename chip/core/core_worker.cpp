// SPDX-License-Identifier: MIT
#include "chip/core/core_worker.hpp"

#include "base/check.hpp"

namespace rubato::chip {

void CoreWorker::take(const Worker& worker, Cycle at) {
  RUBATO_CHECK(worker.thread != nullptr);
  worker.thread->sit(at);
  worker_ = worker;
  pipeline_.set_own_stack(worker.stack_low, worker.stack_high);
}

Worker CoreWorker::give_up(Cycle at) {
  if (worker_.thread != nullptr) worker_.thread->stand(at);
  pipeline_.set_own_stack(0, 0);
  return std::exchange(worker_, {});
}

void CoreWorker::begin_task(const DispatchedTask& task, HartState& hart) const {
  const HartState& regs = worker_.regs;
  // The line in which the stack begins is not the core's alone: speculative tasks would conflict there.
  hart.x[reg::sp] = regs.x[reg::sp] & ~Addr{task.speculative ? kLineBytes - 1 : 15};
  // Thread-local variables are the worker's, to which an exception that leaves the task unwinds.
  for (const unsigned r : reg::kept) hart.x[r] = regs.x[r];
  hart.x[reg::ra] = regs.pc + 4;  // the `finish` behind the region instruction
  for (unsigned i = 0; i < task.descriptor.argument_count; ++i)
    hart.x[reg::a0 + i] = task.descriptor.arguments[i];
  hart.pc = task.descriptor.function;
}

}  // namespace rubato::chip
