// The chip's parts, and what they ask of each other and of the process. Running it is in chip.cpp, threads on
// cores and their calls in chip_threads.cpp, task regions in chip_regions.cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "chip/alloc/heap_calls.hpp"
#include "chip/capsule/capsule_calls.hpp"
#include "chip/capsule/vector.hpp"
#include "chip/chip.hpp"
#include "chip/chip_debug.hpp"
#include "chip/coherence/memory_hierarchy.hpp"
#include "chip/conflict/conflict_scheme.hpp"
#include "chip/conflict/system_call_checks.hpp"
#include "chip/core/core.hpp"
#include "chip/core/worker_pool.hpp"
#include "chip/fast_forward_watch.hpp"
#include "chip/isa/block_cache.hpp"
#include "chip/isa/task_instructions.hpp"
#include "chip/noc/mesh.hpp"
#include "chip/os/call_stack.hpp"
#include "chip/os/fast_forward.hpp"
#include "chip/os/fault_report.hpp"
#include "chip/os/lock_tickets.hpp"
#include "chip/os/thread_profile.hpp"
#include "chip/os/thread_scheduler.hpp"
#include "chip/replay/capsule_lint.hpp"
#include "chip/replay/replay_checker.hpp"
#include "chip/task/task_observers.hpp"
#include "chip/task/task_units.hpp"
#include "chip/time/timeline.hpp"
#include "chip/warm_up.hpp"

namespace rubato::chip {

struct Chip::Impl final : EventHandler,
                          CoreHost,
                          TaskHost,
                          AccessClient,
                          ThreadObserver,
                          GuestClock,
                          FastForward::HostCalls {
  enum Event : std::uint32_t { kTimeout, kRegionEnd, kEnterRegion, kMarkedEnd };
  static constexpr Latency kProgressCycles = 1 << 18;  // between two reports

  Impl(const Config& c, ProcessOptions options);

  // ---- Running ----

  RunOutcome run();

  /// The function that is simulated in detail, if it is one: that of run.roi; main() of a program without
  /// tasks; what serial_region() of a program with tasks calls.
  std::optional<Addr> find_roi() const;

  /// Detailed simulation until the region or the run ends.
  void simulate();

  /// False if all that is left on the timeline was to end waits that have ended otherwise: nothing would ever
  /// happen again.
  bool has_work() const {
    if (timeouts_pending == 0) return !timeline.empty();
    return timeline.pending() > timeouts_pending || process.next_timeout();
  }

  /// Watching a run is no event on its timeline.
  void set_pause() {
    timeline.pause_at(earlier(earlier(progress_at, sample_at), earlier(interval_at, limit_at)));
  }

  /// All that happens before `now` has happened.
  void observe_at(Cycle now);

  /// Fast-forward until the region of interest, the next task instruction or the end.
  void skip_ahead();

  /// From here on every thread runs on a core; if `caller` just called the region of interest, until that
  /// returns.
  void begin_detail(const Thread* caller = nullptr);
  void enter_roi(Cycle now);
  void leave_roi(Cycle now) {
    if (std::exchange(in_roi, false) && observer != nullptr) observer->on_region_end(now);
  }

  void end(RunOutcome o);
  void process_exited();

  void report_fault(const Thread& thread, const Fault& fault) {
    end({ExitCode::guest_fault, 0, describe(fault, thread, process), {}});
  }

  std::string describe_waiting() const {
    return process.describe_waiting() + name_functions(task_units.describe_waiting(), process.symbols());
  }

  void no_progress() { end({ExitCode::no_progress, 0, why_nothing_proceeds(), describe_waiting()}); }

  void no_progress(const std::string& sentence, const std::string& details) override {
    if (sentence.empty()) return no_progress();
    end({ExitCode::no_progress, 0, name_functions(sentence, process.symbols()),
         name_functions(details, process.symbols())});
  }
  bool awaits_time() const override { return process.next_timeout().has_value(); }
  std::string why_nothing_proceeds() const;
  bool waits_for_others(Cycle now);

  void report_progress() {
    if (observer != nullptr && !observer->on_progress(progress()))
      end({ExitCode::interrupted, 0, "interrupted", {}});
    if (debug && !debug->look()) end_by_debugger();
  }
  void end_by_debugger() { end({ExitCode::interrupted, 0, "ended by the debugger", {}}); }
  /// The debugger's answer to a fault of `thread`. True: the thread goes on with its registers, or the run
  /// has ended.
  bool is_debugged(Thread& thread, const Fault& fault);
  void attach(GdbServer& server);

  Progress progress() const {
    return {timeline.now(), detailed_instructions() + fast_forward.instructions(), task_units.committed(),
            task_units.gvt().timestamp, !detailed};
  }

  std::uint64_t detailed_instructions() const;
  Cycle reached() const;
  void finish_account();

  /// Brings every statistic up to date at a cycle that all cores have reached or wait at.
  void settle(Cycle now) {
    for (const auto& core : cores) core->account_until(later(now, core->reached()));
    task_units.account_until(now);
    cycles = now.value;
  }

  void on_event(Cycle now, std::uint32_t kind, std::uint64_t) override;
  std::string describe_cores() const;
  /// What `lock_tickets` are drawn by.
  LockTickets::Runner runner_of(CoreId core) const {
    const Core& at = *cores[core.value];
    return {at.task_of_run(), at.thread() != nullptr ? at.thread()->tid : 0};
  }

  // ---- Threads on cores ----

  void on_runnable(Thread& thread) override;
  void on_retry(const Thread* thread) override;

  void on_signal(Thread& thread) override {
    for (const auto& core : cores)
      if (core->activity() == Core::Activity::thread && core->thread() == &thread) core->end_slice();
  }

  void on_affinity(Thread& thread) override { on_signal(thread); }
  void on_marker(const Thread& thread, bool begins, const std::string& name) override;
  /// Fast-forward goes on behind the last region that the program has marked.
  void leave_marked_region(Cycle now);

  void thread_left(Core& core, const Thread& thread, Cycle now) override;
  /// Of `core`: for the profile of threads.
  const ThreadProfile::Parts& parts_of(CoreId core) const {
    return account.of_core(core).cells[static_cast<unsigned>(CycleClass::nonspeculative)];
  }
  std::vector<Addr> chain_of(const HartState& regs);
  void begin_profile(Cycle now);
  /// Where every core is that runs the program.
  void sample_cores();

  void wake_idle_core();
  void find_thread(Core& core, Cycle now) override;
  void slice_ended(Core& core, Cycle now) override;

  // ---- System calls and faults ----

  std::uint64_t nanoseconds() const override {
    return fast_forward.nanoseconds() + later(clock, timeline.now()).value * 1000 / config.chip.frequency_mhz;
  }

  SyscallOutcome syscall(Core& core, Thread& thread, Cycle now) override;

  /// Pages that were unmapped or changed rights leave the caches: what hits an L1 is not checked again.
  void forget_changed_pages();
  void schedule_timeout();
  bool fault(Core& core, Thread& thread, const Fault& f, Cycle now) override;
  void region_returned(Core&, Cycle now) override;
  void drop_decoded_blocks() override { blocks.flush(); }

  // ---- The ideal allocator ----

  HeapCalls::Outcome heap_call(Core& core, std::int32_t function, Attempt* attempt, Cycle now) override;

  /// In fast-forward threads use the pool of the core that run.warm gives them.
  std::optional<Fault> host_call(Thread& thread, std::int32_t function) override;
  HeapCalls::Outcome serve_heap_call(HartState& hart, std::int32_t function,
                                     const IdealAllocator::Caller& caller);

  const Fault& heap_fault() const override { return heap->fault(); }

  // ---- Task regions (C7) ----

  void observe_instructions(InstructionObserver& watcher) {
    if (!instructions) {
      instructions.emplace();
      for (const auto& core : cores) core->pipeline().observe(*instructions);
    }
    instructions->add(watcher);
  }
  void check_capsules();

  void observe_tasks(TaskObserver& watcher) {
    observers.add(watcher);
    task_units.observe(&observers);
  }

  TaskSystem& tasks() override { return task_units; }
  CapsuleVector& capsules() override { return capsule_vector; }
  void capsule_ended(CoreId core, Addr stub, Cycle since, Cycle now, bool is_doomed) override {
    capsule_calls.add(stub, now - since, is_doomed);
    observers.on_capsule(core, stub, since, now, is_doomed);
  }
  std::uint32_t core_count() const override { return config.chip.cores; }
  std::uint32_t worker_count() const override {
    return config.chip.cores + config.tiles() * config.task.spare_workers;
  }
  TileId tile_of(CoreId core) const override { return TileId{core.value / config.chip.cores_per_tile}; }

  void create_outside_task(Core&, const TaskDescriptor& task, Cycle) override {
    task_units.create_before_region(task);
  }

  /// A task instruction in fast-forward: there is no task, so `create`, `read`, `region` and those of
  /// capsules are all it may be.
  void task_instruction(Thread& thread, const isa::Insn& insn);
  void capsule_instruction(Thread& thread, const isa::Insn& insn);

  std::uint64_t read_outside_task(isa::ReadSelector selector, const HartState& hart) const {
    if (selector == isa::ReadSelector::cores) return config.chip.cores;
    if (selector == isa::ReadSelector::capsule_depth) return hart.capsule_depth;
    if (selector == isa::ReadSelector::has_capsules) return config.task.capsules ? 1 : 0;
    return selector == isa::ReadSelector::workers ? worker_count() : 0;
  }

  void region_instruction(Core& core, Thread& thread, bool worker, Cycle now) override;

  void region_instruction(Thread& thread, bool worker, Cycle now);

  /// Waits while workers are missing that others may still become.
  void enter_region(Thread& thread, Cycle now);
  void begin_region(Thread& thread, Cycle now);

  /// The part of a worker's stack below the region instruction's frame is its core's own (C7).
  Worker worker_of(Thread& thread) const;
  void mark_stacks(bool begins);

  void forget_stack(const Worker& worker) {
    if (worker.stack_low != worker.stack_high)
      hierarchy->forget(line_of(worker.stack_low), line_of(worker.stack_high - 1));
  }

  void suspend(const SuspendedTask& task) override {
    forget_stack(task.worker);
    workers.suspend(task);
  }
  SuspendedTask resume(std::uint64_t id) override { return workers.resume(id); }
  Worker take_worker(const Core& core) override { return workers.take(tile_of(core.id())); }
  void give_back(const Core& core, const Worker& worker) override {
    forget_stack(worker);
    workers.add(tile_of(core.id()), worker);
  }

  void end_region(Cycle at) override { timeline.schedule(later(at, timeline.now()), this, kRegionEnd); }

  void finish_region(Cycle now);

  void wake(CoreId core, Cycle at) override { cores[core.value]->wake(at); }
  bool abort_running(CoreId core, Cycle at) override { return cores[core.value]->abort_task(at); }
  bool is_in_capsule(CoreId core) const override { return cores[core.value]->is_protected(); }
  void on_access_ready(CoreId core, LineAddr line, Cycle now) override {
    cores[core.value]->access_ready(line, now);
  }
  void become_nonspeculative(CoreId core) override {
    cores[core.value]->become_nonspeculative();
    if (replay) replay->become_nonspeculative(core);
  }
  void retire(Attempt& attempt, bool is_committed) override;
  void free_record(LineAddr record) override {
    cores[HandlerArea::core_of(record).value]->capsule().handlers().give_back(record);
  }
  void begin_speculation() override {
    if (std::exchange(speculates, true)) return;
    for (const auto& core : cores) core->pipeline().begin_marks();
  }

  // ---- Statistics ----

  void register_stats();

  const Config config;
  Timeline timeline;
  AddressSpace memory;
  CapsuleVector capsule_vector{memory};
  CapsuleCalls capsule_calls;
  isa::BlockCache blocks{memory};
  CycleAccount account;
  StatRegistry registry;
  std::unique_ptr<Mesh> mesh;
  std::unique_ptr<ConflictScheme> conflicts;
  SystemCallChecks system_calls{*conflicts};
  std::unique_ptr<MemoryHierarchy> hierarchy;
  TaskUnits task_units;
  Process process;
  std::optional<HeapCalls> heap;  // run.alloc=ideal
  FastForward fast_forward;
  ThreadScheduler scheduler;
  WarmUp warm_up;
  std::optional<FastForwardWatch> untimed_watch;
  TaskObservers observers;
  std::unique_ptr<ReplayChecker> replay;  // null: the run is not checked
  std::optional<ChipDebug> debug;
  std::optional<InstructionObservers> instructions;
  LockTickets lock_tickets{memory, process.lock_marks(), [this](CoreId core) { return runner_of(core); }};
  std::optional<CapsuleLint> capsule_lint;  // run.check_capsules
  ThreadProfile profile;
  CallChains call_chains{process.symbols(), memory};
  std::vector<std::unique_ptr<Core>> cores;

  ChipObserver* observer = nullptr;
  Latency interval = 0;
  bool has_tasks = false;                              // the program uses the task model
  std::optional<Addr> roi;                             // of the function that is the region of interest
  bool detail_at_markers = false;                      // run.roi=@markers
  std::set<std::string> open_regions, marked_regions;  // that the program has marked
  bool ran_serial = false;    // the region of interest was code that serial_region() measures
  bool speculates = false;    // a task has, on whatever core
  bool in_roi = false;        // the region of interest: task regions, --roi or main
  bool detailed = false;      // else fast-forward
  bool leave_detail = false;  // the detailed loop is to end
  bool ended = false;
  RunOutcome outcome;
  Thread* owner = nullptr;              // of the running region
  Thread* entering = nullptr;           // in detail: its region waits for workers, or for others to block
  std::optional<Cycle> enter_by;        // how long it waits for others
  unsigned turns_to_enter = 0;          // the same in fast-forward
  bool is_within_detail = false;        // the running region: so was what came before it
  bool is_within_roi = false;           // the running region: the region of interest began before it
  std::vector<Thread*> worker_threads;  // in order of arrival
  std::vector<Worker> region_workers;   // of the running region: its owner, which serves core 0, then those
  WorkerPool workers;                   // that serve no core
  Cycle clock{};                        // of the system call being performed
  Cycle timeout_scheduled = kNever;
  Cycle progress_at{kProgressCycles}, interval_at = kNever, limit_at = kNever, sample_at = kNever;
  int calling = 0;  // the thread whose system call is performed, or has just been; 0: none's
  std::uint64_t timeouts_pending = 0;  // and of kTimeout
  std::uint64_t cycles = 0;
};

}  // namespace rubato::chip
