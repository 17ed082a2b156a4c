// The chip's parts, and what they ask of each other and of processes. Running it is in chip.cpp, programs'
// ways to their regions and out of them in chip_programs.cpp, threads on cores and their calls in
// chip_threads.cpp, task regions in chip_regions.cpp: those are of a program that has the chip to itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "chip/capsule/capsule_calls.hpp"
#include "chip/chip.hpp"
#include "chip/chip_debug.hpp"
#include "chip/coherence/memory_hierarchy.hpp"
#include "chip/conflict/conflict_scheme.hpp"
#include "chip/core/core.hpp"
#include "chip/core/line_contention.hpp"
#include "chip/core/worker_pool.hpp"
#include "chip/isa/task_instructions.hpp"
#include "chip/noc/mesh.hpp"
#include "chip/os/fault_report.hpp"
#include "chip/program/markers.hpp"
#include "chip/program/program.hpp"
#include "chip/program/programs.hpp"
#include "chip/program/timeouts.hpp"
#include "chip/replay/capsule_lint.hpp"
#include "chip/replay/replay_checker.hpp"
#include "chip/replay/tie_checker.hpp"
#include "chip/task/task_observers.hpp"
#include "chip/task/task_units.hpp"
#include "chip/time/call_clock.hpp"
#include "chip/time/run_clock.hpp"
#include "chip/time/timeline.hpp"

namespace rubato::chip {

/// Undo logs lie behind the spill areas, which lie behind the guest's memory: 1 Mi entries a core.
inline constexpr std::uint64_t kLogBytes = 1 << 24;
inline constexpr Addr kLogBase = HandlerArea::kBase - kMaxCores * kLogBytes;

struct Chip::Impl final : EventHandler, CoreHost, TaskHost, AccessClient, Program::Host {
  /// The payload of all but kRegionEnd and kEnterRegion is a program's number.
  enum Event : std::uint32_t { kRegionEnd, kEnterRegion, kMarkedEnd, kProgramOver };

  Impl(const Config& c, std::vector<ProgramPlace> places);

  // ---- Running ----

  RunOutcome run();

  /// Detailed simulation until the region or the run ends.
  void simulate();

  /// A look at the run is due at `now`.
  void look(RunClock::Look due, Cycle now);

  /// Fast-forward until the region of interest, the next task instruction or the end.
  void skip_ahead();
  void skip_ahead(Program& program);

  /// `program` is at its region of interest, which `caller` may just have called. When no program is on the
  /// way to its region any longer, detail begins.
  void arrive(Program& program, const Thread* caller = nullptr);
  /// From here on every thread of the programs that are there runs on a core; if it just called the region
  /// of interest, until that returns.
  void begin_detail();
  /// Its threads leave their cores; the last one to leave ends the detail.
  void leave_detail_of(Program& program, Cycle now);
  void count(Program& program, Cycle now) { program.count(now, detailed_instructions(program)); }
  /// run.instructions: a program that has executed them is counted, and when all are the run ends.
  void count_instructions(Cycle now);

  void end(RunOutcome o);
  /// The program has ended so; the run does when all have.
  void finish(Program& program, RunOutcome o);
  void process_exited(Program& program) { finish(program, program.outcome_of_exit()); }

  void report_fault(Program& program, const Thread& thread, const Fault& fault) {
    finish(program, {ExitCode::guest_fault, 0, describe(fault, thread, program.process), {}});
  }

  std::string describe_waiting() const;

  /// Nothing can proceed: ends the waits of doomed runs, which hold workers and the region's end (P40).
  /// False: none waits, or all have been interrupted before.
  bool interrupt_doomed();

  /// Nothing will ever happen again: to those in detail, or in fast-forward to this program.
  void no_progress();
  void no_progress(Program& program) {
    finish(program, {ExitCode::no_progress, 0, why_nothing_proceeds(), describe_waiting()});
  }

  void no_progress(const std::string& sentence, const std::string& details) override {
    if (sentence.empty()) return no_progress();
    end({ExitCode::no_progress, 0, name_functions(sentence, sole().process.symbols()),
         name_functions(details, sole().process.symbols())});
  }
  bool awaits_time() const override { return programs.awaits_time(); }
  std::string why_nothing_proceeds() const;
  bool waits_for_others(Cycle now);

  void report_progress() {
    if (clock.is_observed() && !clock.show_progress(progress()))
      end({ExitCode::interrupted, 0, "interrupted", {}});
    if (debug && !debug->look()) end_by_debugger();
  }
  void end_by_debugger() { end({ExitCode::interrupted, 0, "ended by the debugger", {}}); }
  /// The debugger's answer to a fault of `thread`. True: the thread goes on with its registers, or the run
  /// has ended.
  bool is_debugged(Thread& thread, const Fault& fault);
  void attach(GdbServer& server);

  Progress progress() const {
    return {timeline.now(), detailed_instructions() + programs.fast_forward_instructions(),
            task_units.committed(), task_units.gvt().timestamp, !detailed};
  }

  std::uint64_t detailed_instructions() const;
  std::uint64_t detailed_instructions(const Program& program) const;
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
  LockTickets::Runner runner_of(CoreId core) const override {
    const Core& at = *cores[core.value];
    return {at.task_of_run(), at.thread() != nullptr ? at.thread()->tid : 0};
  }

  // ---- Threads on cores ----

  void on_runnable(Program& program, Thread& thread) override;
  void on_retry(Program& program, const Thread* thread) override;

  void on_signal(Program&, Thread& thread) override {
    for (const auto& core : cores)
      if (core->activity() == Core::Activity::thread && core->thread() == &thread) core->end_slice();
  }

  void on_marker(Program& program, const Thread& thread, bool begins, const std::string& name) override;
  /// Fast-forward goes on behind the last region that the program has marked.
  void leave_marked_region(Program& program, Cycle now);

  void thread_left(Core& core, const Thread& thread, Cycle now) override;
  /// Of `core`: for the profile of threads.
  const ThreadProfile::Parts& parts_of(CoreId core) const {
    return account.of_core(core).cells[static_cast<unsigned>(CycleClass::nonspeculative)];
  }
  std::vector<Addr> chain_of(Program& program, const HartState& regs);
  void begin_profile(Program& program, Cycle now);
  /// Where every core is that runs the program.
  void sample_cores();

  void wake_idle_core(const Program& program);
  void find_thread(Core& core, Cycle now) override;
  void slice_ended(Core& core, Cycle now) override;

  // ---- System calls and faults ----

  Cycle time() const override { return call_clock.now(); }

  SyscallOutcome syscall(Core& core, Thread& thread, Cycle now) override;

  /// Pages that were unmapped or changed rights leave the caches: what hits an L1 is not checked again.
  void forget_changed_pages(Program& program);
  /// Waits of `program` for a time that has come end.
  void expire_timeouts(Program& program, Cycle now);
  bool fault(Core& core, Thread& thread, const Fault& f, Cycle now) override;
  void region_returned(Core&, Cycle now) override;
  void drop_decoded_blocks(CoreId core) override { program_of(core).blocks.flush(); }

  // ---- The ideal allocator ----

  HeapCalls::Outcome heap_call(Core& core, std::int32_t function, Attempt* attempt, Cycle now) override;

  /// In fast-forward threads use the pool of the core that run.warm gives them.
  std::optional<Fault> host_call(Program& program, Thread& thread, std::int32_t function) override;
  HeapCalls::Outcome serve_heap_call(Program& program, HartState& hart, std::int32_t function,
                                     const IdealAllocator::Caller& caller);

  const Fault& heap_fault(CoreId core) const override { return program_of(core).heap->fault(); }

  // ---- Task regions (C7) ----

  void observe_instructions(InstructionObserver& watcher) {
    if (!instructions) {
      instructions.emplace();
      for (const auto& core : cores) core->pipeline().observe(*instructions);
    }
    instructions->add(watcher);
  }
  void check_capsules();
  void check_ties();

  void observe_tasks(TaskObserver& watcher) {
    observers.add(watcher);
    task_units.observe(&observers);
  }

  TaskSystem& tasks() override { return task_units; }
  CapsuleVector& capsules(CoreId core) override { return program_of(core).capsule_vector; }
  void capsule_ended(CoreId core, const OpenCapsuleCall& call, Cycle now) override {
    capsule_calls.add(call, now);
    observers.on_capsule(core, call.stub, call.since, now, call.is_doomed);
  }
  std::uint32_t core_count() const override { return config.chip.cores; }
  std::uint32_t worker_count() const override {
    return config.chip.cores + config.tiles() * config.task.spare_workers;
  }
  TileId tile_of(CoreId core) const override { return TileId{core.value / config.chip.cores_per_tile}; }

  void create_outside_task(Core&, const TaskDescriptor& task, Cycle) override {
    if (!programs.is_shared())
      task_units.create_before_region(task);  // else region_instruction() will refuse
  }

  /// A task instruction in fast-forward: there is no task, so `create`, `read`, `region` and those of
  /// capsules are all it may be.
  void task_instruction(Program& program, Thread& thread, const isa::Insn& insn);
  void capsule_instruction(Program& program, Thread& thread, const isa::Insn& insn);
  void refuse_tasks(Program& program, const Thread& thread);

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

  std::uint64_t suspend(const SuspendedTask& task) override {
    forget_stack(task.worker);
    return workers.suspend(task);
  }
  SuspendedTask resume(std::uint64_t run) override { return workers.resume(run); }
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
    if (ties) ties->become_nonspeculative(core);
  }
  void become_nonspeculative_suspended(std::uint64_t id) override {
    if (replay) replay->become_nonspeculative_suspended(id);
    if (ties) ties->become_nonspeculative_suspended(id);
  }
  void give_back_log(Attempt& attempt);
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

  // ---- Programs ----

  /// The only one, where there is no other.
  Program& sole() const { return programs.sole(); }
  std::span<const std::unique_ptr<Core>> cores_of(const Program& program) const {
    return std::span(cores).subspan(program.place.first_core, program.place.cores);
  }
  Program& program_of(CoreId core) const { return programs.of(core); }

  const Config config;
  Timeline timeline;
  CapsuleCalls capsule_calls;
  CycleAccount account;
  StatRegistry registry;
  std::unique_ptr<Mesh> mesh;
  std::unique_ptr<ConflictScheme> conflicts;
  std::unique_ptr<MemoryHierarchy> hierarchy;
  Programs programs;
  TaskUnits task_units;
  TaskObservers observers;
  std::unique_ptr<ReplayChecker> replay;     // null: the run is not checked
  std::optional<LineContention> contention;  // run.contention
  std::optional<ChipDebug> debug;
  std::unique_ptr<TieChecker> ties;  // null: ties are not looked for
  std::optional<InstructionObservers> instructions;
  std::optional<CapsuleLint> capsule_lint;  // run.check_capsules
  std::vector<std::unique_ptr<Core>> cores;

  RunClock clock{timeline};
  CallClock call_clock{timeline};
  Markers markers;
  Timeouts timeouts{timeline, programs, config.chip.frequency_mhz,
                    [this](Program& program, Cycle now) { expire_timeouts(program, now); }};
  bool ran_serial = false;    // the region of interest was code that serial_region() measures
  bool speculates = false;    // a task has, on whatever core
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
  std::uint64_t cycles = 0;
};

}  // namespace rubato::chip
