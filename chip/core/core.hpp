// A core: its current activity (a thread, a task, an internal task of its task unit, nothing) and its time.
// It executes through a CoreModel on its Pipeline, turns the model's stops into calls of its host, and
// accounts for every cycle (C23).
//
// The cycles of a speculative task belong to its attempt, whose fate decides their class; only stalls are
// charged at once. An aborted task (abort_task) stops at once, and the core rolls back until it is woken. An
// action that only a non-speculative task may do ends the task too, as an exception (C18). Both may happen
// inside any call of the host, even within an access of this core. After each call the core therefore checks
// whether it still runs its task.
//
// A task that waits in a system call leaves the core and takes the core's worker with it (C18). The core gets
// another worker with its next task, or resumes a task that has waited, together with its worker.
//
// Invariant: account_.accounted() <= the core's cycle.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "chip/core/capsule_state.hpp"
#include "chip/core/core_account.hpp"
#include "chip/core/core_host.hpp"
#include "chip/core/core_model.hpp"
#include "chip/core/core_worker.hpp"
#include "chip/core/order_fault.hpp"
#include "chip/core/pipeline.hpp"
#include "chip/core/wakeup.hpp"
#include "chip/os/thread.hpp"
#include "chip/speculation/task_system.hpp"
#include "chip/stats/cycle_account.hpp"
#include "chip/time/timeline.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// The task that a create instruction with immediate `flags` (CreateFlags) describes, from the registers it
/// takes (C6).
TaskDescriptor descriptor_of(const HartState& hart, std::uint32_t flags);
/// The same of capsule.on_abort, whose operands are a create's without timestamp and locale.
TaskDescriptor handler_of(const HartState& hart, std::uint32_t flags);

class Core final : public EventHandler {
 public:
  enum class Activity : std::uint8_t { idle, thread, task, internal, rollback, doomed };

  Core(CoreId id, const Config& config, Pipeline::Ports ports, Timeline& timeline, CycleAccount& account,
       CoreHost& host);

  CoreId id() const { return id_; }
  Activity activity() const { return activity_; }
  /// The thread it runs, or its worker; null if it has none.
  Thread* thread() const { return worker_.thread(); }
  Pipeline& pipeline() { return pipeline_; }
  const Pipeline& pipeline() const { return pipeline_; }
  CoreModel& model() { return *model_; }
  bool in_region() const { return in_region_; }
  CapsuleState& capsule() { return capsule_; }
  /// In a capsule of a speculative task. The capsule runs to its end, whatever the task's fate.
  bool is_protected() const { return is_speculating() && config_.task.capsules && capsule_.is_entered(); }
  /// In a capsule of a task that may be undone, or that was: its system calls are permanent (P49).
  bool makes_calls_at_once() const { return is_protected() || activity_ == Activity::doomed; }
  /// The guest task it runs; 0: none.
  std::uint64_t task() const { return activity_ == Activity::task ? task_.id : 0; }
  /// The descriptor of that task; null: none.
  const TaskDescriptor* task_descriptor() const {
    return activity_ == Activity::task ? &task_.descriptor : nullptr;
  }
  /// As task(), and in a doomed run that of which it is left.
  std::uint64_t task_of_run() const { return activity_ == Activity::doomed ? task_.id : task(); }

  /// Starts serving a task region with `worker`'s stack, gp and tp; dispatches when woken.
  void enter_region(const Worker& worker, Cycle at);
  /// Stops serving; the core is idle.
  void leave_region(Cycle at);

  /// Runs `thread` from `at`, for at most `slice` cycles if others wait (0: no limit).
  void run_thread(Thread& thread, Cycle at, Latency slice);
  /// The slice ended and no thread waits for a core: `slice` more cycles.
  void extend_slice(Latency slice) { slice_end_ = slice == 0 ? kNever : pipeline_.cycle() + slice; }
  /// Its slice ends as soon as the clock reaches it.
  void end_slice() { slice_end_ = earlier(slice_end_, pipeline_.cycle()); }
  /// Takes the thread off the core, its registers saved; the core is idle.
  Thread* release_thread(Cycle at);

  /// The speculative task it runs was aborted: stops it at once, and rolls back (class aborted) until woken.
  /// Cycles that it ran beyond `at` are the attempt's like the rest: time never rewinds. In a capsule it goes
  /// on instead, doomed, and this returns true (P36).
  bool abort_task(Cycle at);
  /// The speculative task it runs goes on as a non-speculative one; its cycles so far are the attempt's.
  void become_nonspeculative();

  /// Something this core waits for may have changed: looks for work, or retries, at `at`.
  void wake(Cycle at);

  /// Messages have brought `line`: an access that was blocked can be made now, if it still waits for it, and
  /// deferred ones perform.
  void access_ready(LineAddr line, Cycle now);
  /// Before pages of [begin, end) change.
  void perform_deferred(Addr begin, Addr end) {
    if (model_->perform_at_once(begin, end, timeline_.now())) wakeup_.schedule(timeline_.now());
    // If all that the core waits for is done, no message will wake it.
    if (awaits_deferred_ && !pipeline_.deferrals().any()) wakeup_.schedule(later(timeline_.now(), reached()));
  }

  /// Accounts for every cycle up to `until`, which no core has passed. @returns the cycle the core has
  /// reached.
  void account_until(Cycle until);
  /// The cycle up to which this core has executed or waited.
  Cycle reached() const;

  void on_event(Cycle now, std::uint32_t kind, std::uint64_t generation) override;

  void inject(CapsuleFault fault, DoomPlan* plan, OrderFault order = OrderFault::none);

 private:
  /// perform: deferred accesses, of the line in the payload; retry: of those that a conflict blocks.
  enum Event : std::uint32_t { kGoOn, kPerform, kRetryDeferred };
  void perform(Cycle now, std::uint32_t kind, LineAddr line);
  void on_deferral_fault(Cycle now);
  void go_on(Cycle now);
  void advance(Cycle now);
  void look_for_work(Cycle now);
  void begin_task(Cycle now);
  /// Its task waits in a system call made at `at`.
  void suspend_task(Cycle at);
  void resume_task(const SuspendedTask& suspended, Cycle now);
  void step_internal(Cycle now);
  /// True if draining brought a strict action to `at`, ahead of the clock: the action is then done again.
  bool must_wait(Cycle at, Cycle now);
  bool on_syscall(Cycle now);
  bool on_task_instruction(Cycle now);
  // core_capsule.cpp
  bool on_capsule_instruction(Cycle now);
  bool on_capsule_call(Cycle now);
  bool on_abort_handler(Cycle now);
  void doom(Cycle at);
  /// A fault in a capsule of a speculative task. True: the task is doomed by it.
  bool dooms(const Fault& fault, Cycle now);
  void end_doomed(Cycle now);
  bool on_fault(const Fault& fault, Cycle now);
  /// True if the task was speculative and its present action has stopped it (C18).
  bool is_exception(Cycle now);
  bool is_speculating() const { return activity_ == Activity::task && task_.speculative; }
  /// No task any longer: looks for work at `at`.
  void leave_task(Cycle at);
  bool on_heap_call(Cycle now);
  bool on_create(Cycle now);
  bool on_finish(Cycle now);
  void read_register(unsigned selector, unsigned rd);
  void leave_kernel(Cycle at);
  /// Charges the cycles before `until` that are not charged yet to class `c`.
  void account(CycleClass c, Cycle until);

  // Members that an event reads first stand first, see EventHandler::kFirstUsed; the same holds in the
  // pipeline.
  CoreId id_;
  Activity activity_ = Activity::idle;
  bool in_region_ = false;
  bool stalled_ = false;          // on a full queue: class stall until woken
  bool blocked_ = false;          // by the memory system, until woken
  bool awaits_deferred_ = false;  // until one performs; only loads and stores pass deferred accesses
  bool will_retry_ = false;       // deferred accesses that a conflict blocks
  bool promotes_ = false;         // of the task: DispatchedTask::promotes, until then
  Wakeup wakeup_;
  CoreAccount account_;
  Cycle slice_end_ = kNever;
  Timeline& timeline_;
  CoreHost& host_;
  std::unique_ptr<CoreModel> model_;  // on the pipeline's parts
  Pipeline pipeline_;
  DispatchedTask task_;
  ExecutionObserver* observer_;
  const Config& config_;
  PipelineStop owed_ = PipelineStop::resume;  // to be served when nothing is deferred any longer
  Cycle heap_call_at_ = kNever;               // of the last one
  Cycle internal_cycle_{};
  CoreWorker worker_;
  CapsuleState capsule_;
};

}  // namespace rubato::chip
