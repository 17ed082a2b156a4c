// SPDX-License-Identifier: MIT
#include "chip/chip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "chip/alloc/heap_calls.hpp"
#include "chip/coherence/memory_hierarchy.hpp"
#include "chip/conflict/conflict_detector.hpp"
#include "chip/conflict/system_call_checks.hpp"
#include "chip/core/core.hpp"
#include "chip/core/worker_pool.hpp"
#include "chip/faults.hpp"
#include "chip/isa/block_cache.hpp"
#include "chip/isa/task_instructions.hpp"
#include "chip/noc/mesh.hpp"
#include "chip/os/fast_forward.hpp"
#include "chip/os/fault_report.hpp"
#include "chip/os/thread_scheduler.hpp"
#include "chip/replay/replay_checker.hpp"
#include "chip/task/task_observers.hpp"
#include "chip/task/task_units.hpp"
#include "chip/time/timeline.hpp"
#include "chip/warm_up.hpp"

namespace rubato::chip {

namespace {

/// A program uses the task model if it has this symbol: the function that holds the region instruction.
constexpr std::string_view kTaskRegionSymbol = "rubato_task_region";
constexpr Latency kProgressCycles = 1 << 18;
constexpr std::uint64_t kProgressInstructions = 1 << 24;
/// Spill areas lie behind the guest's address space: no access of the guest reaches them.
constexpr std::uint64_t kSpillBytes = 1 << 28;  // addresses, not memory: room for 3 million tasks a tile
constexpr Addr kSpillBase = AddressSpace::kSize;
/// Undo logs lie behind the spill areas: 1 Mi entries a core.
constexpr std::uint64_t kLogBytes = 1 << 24;
constexpr Addr kLogBase = kSpillBase + kMaxTiles * kSpillBytes;

}  // namespace

struct Chip::Impl final : EventHandler,
                          CoreHost,
                          TaskHost,
                          ThreadObserver,
                          GuestClock,
                          FastForward::HostCalls {
  enum Event : std::uint32_t { kTimeout, kRegionEnd };

  Impl(const Config& c, ProcessOptions options)
      : config(c),
        account(c.chip.cores),
        mesh(make_mesh(c)),
        conflicts(config, *mesh),
        hierarchy(make_memory_system(c, *mesh, conflicts)),
        task_units({.config = config,
                    .timeline = timeline,
                    .network = *mesh,
                    .memory = *hierarchy,
                    .host = *this,
                    .spill_base = kSpillBase,
                    .spill_bytes_per_tile = kSpillBytes,
                    .detector = c.chip.cores > 1 ? &conflicts : nullptr,
                    .account = &account,
                    .space = &memory}),
        process(std::move(options), memory, *this),
        fast_forward(process, memory, blocks, c.run.quantum),
        scheduler(c.chip.cores),
        warm_up(*hierarchy, c.chip.cores) {
    hierarchy->set_private_lines(line_of(kSpillBase), kSpillBytes / kLineBytes);
    if (c.run.warm) fast_forward.observe(&warm_up);
    process.set_observer(this);
    if (c.run.alloc == "ideal") {
      heap.emplace(process, memory, c.chip.cores);
      heap->observe_accesses(&system_calls);
      blocks.set_host_calls(heap->entries());
      fast_forward.serve(this);
    }
    if (c.run.check_replay) {
      replay = std::make_unique<ReplayChecker>(memory, process.symbols(), config,
                                               [this](const std::string& sentence) {
                                                 end({ExitCode::internal, 0, "replay: " + sentence, {}});
                                               });
      observe_tasks(*replay);
    }
    cores.reserve(c.chip.cores);
    for (std::uint32_t i = 0; i < c.chip.cores; ++i) {
      const CoreId id{i};
      cores.push_back(std::make_unique<Core>(id, config,
                                             Pipeline::Ports{.memory = memory,
                                                             .blocks = blocks,
                                                             .memory_system = *hierarchy,
                                                             .l1i = hierarchy->l1i(id),
                                                             .l1d = hierarchy->l1d(id),
                                                             .timeline = &timeline,
                                                             .recorder = &conflicts,
                                                             .reservations = &conflicts.reservations(),
                                                             .log_base = line_of(kLogBase + i * kLogBytes),
                                                             .log_lines = kLogBytes / kLineBytes,
                                                             .observer = replay.get()},
                                             timeline, account, *this));
    }
    system_calls.attach([this](LineAddr first, LineAddr last) {
      for (const auto& core : cores) core->pipeline().lose_reservation(first, last);
    });
    process.observe_accesses(&system_calls);
    memory.observe(&system_calls);
    if (task_units.aborts() != nullptr) {
      conflicts.attach(*task_units.aborts(),
                       [this](LineAddr line) { return hierarchy->possible_holders(line); });
      system_calls.attach(*task_units.aborts());
      if (heap) heap->attach(*task_units.aborts());
    }
    has_tasks = process.symbols().find(kTaskRegionSymbol).has_value();
    roi = find_roi();
    register_stats();
  }

  // ---- Running ----

  RunOutcome run() {
    if (config.run.max_cycles != 0) limit_at = Cycle{config.run.max_cycles};
    if (interval != 0) interval_at = Cycle{interval};
    if (!config.run.fast_forward || (!roi && !has_tasks)) begin_detail();
    while (!ended) {
      if (detailed) {
        simulate();
      } else {
        skip_ahead();
      }
    }
    finish_account();
    return outcome;
  }

  /// The function that is simulated in detail, if it is one: that of run.roi; main() of a program without
  /// tasks.
  std::optional<Addr> find_roi() const {
    const std::string& name = config.run.roi;
    if (name.empty())
      return config.run.fast_forward && !has_tasks ? process.symbols().find("main") : std::nullopt;
    if (!config.run.fast_forward)
      throw UsageError(
          "run.roi (--roi) simulates one function in detail, run.fast_forward=false (--no-ff) everything: "
          "give one of them");
    const std::optional<Addr> found = process.symbols().find(name);
    if (!found)
      throw UsageError(
          "run.roi: the program has no symbol '{}' (nm lists its symbols; a stripped program has none)",
          name);
    return found;
  }

  /// Detailed simulation until the region or the run ends.
  void simulate() {
    leave_detail = false;
    while (!leave_detail && !ended) {
      if (!has_work()) {
        no_progress();
      } else if (const Cycle pause = pause_at(); timeline.next() >= pause) {
        observe_at(pause);
      } else {
        timeline.step();
      }
    }
  }

  /// False if all that is left on the timeline was to end waits that have ended otherwise: nothing would ever
  /// happen again.
  bool has_work() const {
    return timeline.pending() > timeouts_pending || (timeouts_pending != 0 && process.next_timeout());
  }

  /// Watching a run is no event on its timeline: what cores may do ahead of each other must not depend on it.
  Cycle pause_at() const override { return earlier(progress_at, earlier(interval_at, limit_at)); }

  /// All that happens before `now` has happened.
  void observe_at(Cycle now) {
    if (now == limit_at) {
      end({ExitCode::no_progress, 0,
           fmt::format("the program was still running after {} cycles (run.max_cycles)",
                       config.run.max_cycles),
           describe_cores() + describe_waiting()});
      return;
    }
    if (now == interval_at) {
      settle(now);
      if (observer != nullptr) observer->on_interval(now);
      interval_at += interval;
    }
    if (now == progress_at) {
      report_progress();
      progress_at += kProgressCycles;
    }
  }

  /// Fast-forward until the region of interest, the next task instruction or the end.
  void skip_ahead() {
    const FastForward::Result r = fast_forward.run(roi, kProgressInstructions);
    switch (r.stop) {
      case FastForward::Stop::budget:
        report_progress();
        return;
      case FastForward::Stop::stop_pc:
        begin_detail(r.thread);
        return;
      case FastForward::Stop::task_instruction:
        task_instruction(*r.thread, r.insn);
        return;
      case FastForward::Stop::exited:
        process_exited();
        return;
      case FastForward::Stop::deadlock:
        no_progress();
        return;
      case FastForward::Stop::fault:
        report_fault(*r.thread, r.fault);
        return;
    }
  }

  /// From here on every thread runs on a core; if `caller` just called the region of interest, until that
  /// returns.
  void begin_detail(const Thread* caller = nullptr) {
    detailed = true;
    blocks.set_stop(std::nullopt);
    forget_changed_pages();
    for (const auto& core : cores) core->pipeline().set_time_origin(fast_forward.nanoseconds());
    if (caller != nullptr)
      for (const auto& core : cores)
        core->pipeline().watch_return(caller->regs.x[reg::ra], caller->regs.x[reg::sp]);
    if (config.run.fast_forward || !has_tasks) enter_roi(timeline.now());
    for (const auto& thread : process.threads())
      if (thread->state == ThreadState::runnable && !thread->is_worker) on_runnable(*thread);
    schedule_timeout();
  }

  void enter_roi(Cycle now) {
    RUBATO_CHECK(!in_roi, "a region of interest began inside another");
    in_roi = true;
    if (observer != nullptr) observer->on_region_begin(now);
  }
  void leave_roi(Cycle now) {
    if (std::exchange(in_roi, false) && observer != nullptr) observer->on_region_end(now);
  }

  void end(RunOutcome o) {
    if (ended) return;
    ended = true;
    outcome = std::move(o);
  }

  void process_exited() {
    if (const auto signal = process.death_signal()) {
      end({ExitCode::guest_fault, 128 + *signal, describe_death(*signal), {}});
    } else if (const int status = process.exit_status(); status != 0) {
      end({ExitCode::check_failed, status, fmt::format("the program exited with status {}", status), {}});
    } else {
      end({});
    }
  }

  void report_fault(const Thread& thread, const Fault& fault) {
    end({ExitCode::guest_fault, 0, describe(fault, thread, process), {}});
  }

  std::string describe_waiting() const {
    return process.describe_waiting() + name_functions(task_units.describe_waiting(), process.symbols());
  }

  void no_progress() {
    end({ExitCode::no_progress, 0, "nothing can proceed: every thread and task waits for another",
         describe_waiting()});
  }

  void report_progress() {
    if (observer != nullptr && !observer->on_progress(progress()))
      end({ExitCode::interrupted, 0, "interrupted", {}});
  }

  Progress progress() const {
    return {timeline.now(), detailed_instructions() + fast_forward.instructions(), task_units.committed(),
            task_units.gvt().timestamp, !detailed};
  }

  std::uint64_t detailed_instructions() const {
    std::uint64_t sum = 0;
    for (const auto& core : cores) sum += core->pipeline().counters().instructions;
    return sum;
  }

  Cycle reached() const {
    Cycle latest = timeline.now();
    for (const auto& core : cores) latest = later(latest, core->reached());
    return latest;
  }

  void finish_account() {
    const Cycle end_cycle = reached();
    for (const auto& core : cores) core->account_until(end_cycle);
    task_units.settle_attempts();
    cycles = end_cycle.value;
    leave_roi(end_cycle);
    account.verify(cycles);
  }

  /// Brings every statistic up to date at a cycle that all cores have reached or wait at.
  void settle(Cycle now) {
    for (const auto& core : cores) core->account_until(later(now, core->reached()));
    cycles = now.value;
  }

  void on_event(Cycle now, std::uint32_t kind, std::uint64_t) override {
    switch (kind) {
      case kTimeout:
        clock = now;
        --timeouts_pending;
        timeout_scheduled = kNever;
        system_calls.begin(CoreId{0}, now);  // for whoever waited
        process.expire_timeouts();
        system_calls.end();
        if (process.exited()) process_exited();
        schedule_timeout();
        return;
      case kRegionEnd:
        finish_region(now);
        return;
    }
  }

  std::string describe_cores() const {
    std::string text;
    for (const auto& core : cores)
      if (core->thread() != nullptr && (!core->in_region() || core->task() != 0))
        text += fmt::format("core {}: thread {} at {}\n", core->id().value, core->thread()->tid,
                            process.symbols().describe(core->pipeline().hart().pc));
    return text;
  }

  // ---- Threads on cores ----

  void on_runnable(Thread& thread) override {
    if (!detailed) return;  // fast-forward asks the process itself
    for (const auto& core : cores)
      if (core->thread() == &thread) return;  // its own call ended the wait it had just begun
    if (const SuspendedTask* suspended = workers.find(thread))
      return task_units.resume(suspended->tile, suspended->task.id, later(clock, timeline.now()));
    if (thread.is_worker) return;
    scheduler.add(thread);
    wake_idle_core();
  }

  void on_retry(const Thread* thread) override {
    if (!replay) return;
    if (thread == nullptr) return replay->leave_kernel();
    const SuspendedTask* suspended = workers.find(*thread);
    replay->enter_kernel(suspended != nullptr ? suspended->task.id : 0);
  }

  void on_signal(Thread& thread) override {
    for (const auto& core : cores)
      if (core->activity() == Core::Activity::thread && core->thread() == &thread) core->end_slice();
  }

  void wake_idle_core() {
    for (const auto& core : cores)
      if (core->activity() == Core::Activity::idle && !core->in_region())
        core->wake(later(clock, timeline.now()));
  }

  void find_thread(Core& core, Cycle now) override {
    if (!detailed || owner != nullptr) return;
    Thread* thread = scheduler.pick(core.id());
    if (thread == nullptr) {  // perhaps the last that could have become a worker
      if (entering != nullptr) enter_region(*entering, now);
      return;
    }
    clock = now;
    system_calls.begin(core.id(), now);
    const SyscallOutcome outcome_of_signals = process.deliver_signals(*thread);
    system_calls.end();
    if (outcome_of_signals == SyscallOutcome::process_exited) return process_exited();
    core.run_thread(*thread, now, config.run.time_slice);
  }

  void slice_ended(Core& core, Cycle now) override {
    if (!scheduler.has_waiting() && !process.has_signal(*core.thread())) {
      core.extend_slice(config.run.time_slice);
      return;
    }
    Thread* thread = core.release_thread(now);
    scheduler.add(*thread);
    core.wake(now);
  }

  // ---- System calls and faults ----

  std::uint64_t nanoseconds() const override {
    return fast_forward.nanoseconds() + later(clock, timeline.now()).value * 1000 / config.chip.frequency_mhz;
  }

  SyscallOutcome syscall(Core& core, Thread& thread, Cycle now) override {
    clock = now;
    system_calls.begin(core.id(), now);
    if (replay) replay->enter_kernel(core.task());
    const SyscallOutcome result = process.syscall(thread);
    if (replay) replay->leave_kernel();
    system_calls.end();
    if (result == SyscallOutcome::process_exited) process_exited();
    forget_changed_pages();
    schedule_timeout();
    return result;
  }

  /// Pages that were unmapped or changed rights leave the caches: what hits an L1 is not checked again.
  void forget_changed_pages() {
    if (!memory.has_changes()) return;
    for (const auto& [begin, end_] : memory.take_changes())
      hierarchy->forget(line_of(begin), line_of(end_ - 1));
  }

  void schedule_timeout() {
    const auto at = process.next_timeout();
    if (!at) return;
    const std::uint64_t ns = *at > fast_forward.nanoseconds() ? *at - fast_forward.nanoseconds() : 0;
    const Cycle cycle = later(Cycle{(ns * config.chip.frequency_mhz + 999) / 1000}, timeline.now());
    if (cycle >= timeout_scheduled) return;
    timeout_scheduled = cycle;
    ++timeouts_pending;
    timeline.schedule(cycle, this, kTimeout);
  }

  // ---- The ideal allocator ----

  HeapCalls::Outcome heap_call(Core& core, std::int32_t function, Attempt* attempt, Cycle now) override {
    system_calls.begin(core.id(), now);
    HartState& hart = core.pipeline().hart();
    if (replay) replay->enter_heap(core.task(), hart);
    const auto result = serve_heap_call(hart, function, {core.id(), core.thread()->tid, attempt, now});
    if (replay)
      replay->leave_heap(core.id(), hart,
                         result == HeapCalls::Outcome::returned || result == HeapCalls::Outcome::jumped,
                         heap->taken(), heap->freed());
    system_calls.end();
    return result;
  }

  /// In fast-forward threads use the pool of the core that run.warm gives them.
  std::optional<Fault> host_call(Thread& thread, std::int32_t function) override {
    const CoreId core{static_cast<std::uint32_t>(thread.tid) % config.chip.cores};
    const auto result = serve_heap_call(thread.regs, function, {core, thread.tid, nullptr, timeline.now()});
    if (result == HeapCalls::Outcome::faulted) return heap->fault();
    return std::nullopt;
  }

  HeapCalls::Outcome serve_heap_call(HartState& hart, std::int32_t function,
                                     const IdealAllocator::Caller& caller) {
    const auto result = heap->call(hart, function, caller);
    if (result == HeapCalls::Outcome::unserved) blocks.set_host_calls(heap->entries());
    return result;
  }

  const Fault& heap_fault() const override { return heap->fault(); }

  bool fault(Core& core, Thread& thread, const Fault& f, Cycle now) override {
    clock = now;
    system_calls.begin(core.id(), now);
    if (replay) replay->enter_kernel(core.task());
    const bool is_handled = f.kind != FaultKind::task_error && process.deliver_fault(thread, f);
    if (replay) replay->leave_kernel();
    system_calls.end();
    if (is_handled) return true;
    report_fault(thread, f);
    return false;
  }

  void region_returned(Core&, Cycle now) override {
    for (const auto& core : cores)
      if (core->activity() == Core::Activity::thread) core->release_thread(now);
    scheduler.clear();
    entering = nullptr;
    const Cycle end_cycle = reached();
    clock = later(clock, end_cycle);  // time goes on from where the cores are
    settle(end_cycle);
    leave_roi(end_cycle);
    detailed = false;
    leave_detail = true;
  }

  void drop_decoded_blocks() override { blocks.flush(); }

  // ---- Task regions (C7) ----

  void observe_tasks(TaskObserver& watcher) {
    observers.add(watcher);
    task_units.observe(&observers);
  }

  TaskSystem& tasks() override { return task_units; }
  std::uint32_t core_count() const override { return config.chip.cores; }
  std::uint32_t worker_count() const override {
    return config.chip.cores + config.tiles() * config.task.spare_workers;
  }
  TileId tile_of(CoreId core) const override { return TileId{core.value / config.chip.cores_per_tile}; }

  void create_outside_task(Core&, const TaskDescriptor& task, Cycle) override {
    task_units.create_before_region(task);
  }

  /// A task instruction in fast-forward: there is no task, so `create`, `read` and `region` are all it may
  /// be.
  void task_instruction(Thread& thread, const isa::Insn& insn) {
    HartState& hart = thread.regs;
    switch (insn.op) {
      case isa::Op::task_create:
        task_units.create_before_region(descriptor_of(hart, static_cast<std::uint32_t>(insn.imm)));
        break;
      case isa::Op::task_read:
        hart.registers()[insn.rd] = read_outside_task(static_cast<isa::ReadSelector>(insn.imm));
        break;
      case isa::Op::task_region:
        region_instruction(thread, static_cast<isa::RegionOp>(insn.imm) == isa::RegionOp::worker,
                           timeline.now());
        return;
      default:
        report_fault(thread, {FaultKind::illegal_instruction, hart.pc, 0, {}});
        return;
    }
    hart.pc += insn.length;
  }

  std::uint64_t read_outside_task(isa::ReadSelector selector) const {
    if (selector == isa::ReadSelector::cores) return config.chip.cores;
    return selector == isa::ReadSelector::workers ? worker_count() : 0;
  }

  void region_instruction(Core& core, Thread& thread, bool worker, Cycle now) override {
    region_instruction(thread, worker, now);
    if (owner == nullptr) core.wake(now);  // for another thread
  }

  void region_instruction(Thread& thread, bool worker, Cycle now) {
    if (!worker) return enter_region(thread, now);
    thread.is_worker = true;
    worker_threads.push_back(&thread);
    if (entering != nullptr) enter_region(*entering, now);
  }

  /// Waits while workers are missing that others may still become.
  void enter_region(Thread& thread, Cycle now) {
    entering = nullptr;
    const auto& threads = process.threads();
    const auto other = std::find_if(threads.begin(), threads.end(), [&](const auto& t) {
      return t.get() != &thread && !t->is_worker && t->state == ThreadState::runnable;
    });
    if (other != threads.end() && worker_threads.size() + 1 < worker_count()) {
      if (!detailed) return fast_forward.end_turn();
      entering = &thread;
      return;
    }
    if (other != threads.end())
      return report_fault(thread,
                          {FaultKind::task_error, thread.regs.pc, 0,
                           fmt::format("run() was called while thread {} is runnable: join or block other "
                                       "threads first, only tasks run in a task region",
                                       (*other)->tid)});
    if (worker_threads.size() + 1 < cores.size())
      return report_fault(
          thread, {FaultKind::task_error, thread.regs.pc, 0,
                   fmt::format("run() needs a worker thread for each of {} cores, the program started "
                               "{}",
                               cores.size(), worker_threads.size() + 1)});
    begin_region(thread, now);
  }

  void begin_region(Thread& thread, Cycle now) {
    owner = &thread;
    is_within_detail = std::exchange(detailed, true);
    blocks.set_stop(std::nullopt);
    forget_changed_pages();
    for (const auto& core : cores) core->pipeline().set_time_origin(fast_forward.nanoseconds());
    settle(now);
    is_within_roi = in_roi;
    if (!is_within_roi) enter_roi(now);
    thread.is_worker = true;
    // The program may have started fewer workers than it was asked to.
    const auto spare = std::min<std::uint32_t>(
        config.task.spare_workers,
        static_cast<std::uint32_t>(worker_threads.size() + 1 - cores.size()) / config.tiles());
    region_workers.clear();
    region_workers.push_back(worker_of(thread));
    for (std::size_t i = 1; i < cores.size() + std::size_t{spare} * config.tiles(); ++i)
      region_workers.push_back(worker_of(*worker_threads[i - 1]));
    mark_stacks(true);
    workers.begin_region(config.tiles());
    for (std::size_t i = 0; i < region_workers.size(); ++i) {
      if (i < cores.size()) {
        cores[i]->enter_region(region_workers[i], now);
      } else {
        workers.add(TileId{static_cast<std::uint32_t>(i - cores.size()) / spare}, region_workers[i]);
      }
    }
    if (replay) {
      std::vector<std::pair<Addr, Addr>> stacks;
      for (const Worker& worker : region_workers) stacks.emplace_back(worker.stack_low, worker.stack_high);
      replay->begin_region(std::move(stacks), heap ? heap->entries() : std::map<Addr, std::int32_t>{});
    }
    task_units.begin_region(now, spare);
    schedule_timeout();
  }

  /// The part of a worker's stack below the region instruction's frame is its core's own (C7).
  Worker worker_of(Thread& thread) const {
    const Addr low = thread.regs.x[reg::a0], high = thread.regs.x[reg::sp];
    const bool is_usable = low < high && memory.allows_range(low, high - low, Page::kWrite);
    return {&thread, thread.regs, is_usable ? low : 0, is_usable ? high : 0};
  }

  void mark_stacks(bool begins) {
    for (const Worker& worker : region_workers) {
      if (worker.stack_low == worker.stack_high) continue;
      memory.mark_worker_stack(worker.stack_low, worker.stack_high, begins);
      if (begins && is_within_detail) forget_stack(worker);  // may be in any core's L1
    }
  }

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

  void finish_region(Cycle now) {
    if (replay) replay->end_region();
    for (const auto& core : cores) core->leave_region(now);
    mark_stacks(false);
    for (const Worker& worker : region_workers) worker.thread->regs = worker.regs;
    settle(now);
    if (!is_within_roi) leave_roi(now);
    Thread& thread = *std::exchange(owner, nullptr);
    thread.is_worker = false;
    thread.regs.pc += 8;  // behind the region instruction and its `finish`
    if (is_within_detail) {
      on_runnable(thread);
    } else {
      detailed = false;
      leave_detail = true;
    }
  }

  void wake(CoreId core, Cycle at) override { cores[core.value]->wake(at); }
  void abort_running(CoreId core, Cycle at) override { cores[core.value]->abort_task(at); }
  void become_nonspeculative(CoreId core) override {
    cores[core.value]->become_nonspeculative();
    if (replay) replay->become_nonspeculative(core);
  }
  void retire(Attempt& attempt, bool is_committed) override {
    cores[attempt.core.value]->pipeline().give_back_log(attempt);
    if (!heap) return;
    if (is_committed) {
      heap->allocator().on_commit(attempt);
    } else {
      heap->allocator().on_abort(attempt);
    }
  }
  void begin_speculation() override {
    if (std::exchange(speculates, true)) return;
    for (const auto& core : cores) hierarchy->l1d(core->id()).begin_marks();
  }

  // ---- Statistics ----

  void register_stats() {
    registry.counter("chip.cycles", "cycles", "Cycles simulated in detail.", &cycles);
    registry.total("chip.instructions", "instructions",
                   "Guest instructions executed in detail, aborted ones included.",
                   [this] { return detailed_instructions(); });
    registry.total("chip.fast_forward.instructions", "instructions",
                   "Guest instructions executed in fast-forward.",
                   [this] { return fast_forward.instructions(); });
    for (const auto& core : cores) {
      const PipelineCounters& c = core->pipeline().counters();
      const std::string prefix = fmt::format("core.{}.", core->id().value);
      registry.counter(prefix + "instructions", "instructions", "Instructions executed.", &c.instructions);
      registry.counter(prefix + "branches", "branches", "Conditional branches and indirect jumps.",
                       &c.branches);
      registry.counter(prefix + "mispredicts", "branches", "Branches whose prediction was wrong.",
                       &c.mispredicts);
      registry.counter(prefix + "loads", "accesses", "Load instructions.", &c.loads);
      registry.counter(prefix + "stores", "accesses", "Store instructions.", &c.stores);
      registry.counter(prefix + "atomics", "accesses", "Atomic instructions that accessed memory.",
                       &c.atomics);
    }
    account.register_stats(registry);
    hierarchy->register_stats(registry);
    conflicts.register_stats(registry);
    mesh->register_stats(registry);
    task_units.register_stats(registry);
  }

  const Config config;
  Timeline timeline;
  AddressSpace memory;
  isa::BlockCache blocks{memory};
  CycleAccount account;
  StatRegistry registry;
  std::unique_ptr<Mesh> mesh;
  ConflictDetector conflicts;
  SystemCallChecks system_calls{conflicts};
  std::unique_ptr<MemoryHierarchy> hierarchy;
  TaskUnits task_units;
  Process process;
  std::optional<HeapCalls> heap;  // run.alloc=ideal
  FastForward fast_forward;
  ThreadScheduler scheduler;
  WarmUp warm_up;
  TaskObservers observers;
  std::unique_ptr<ReplayChecker> replay;  // null: the run is not checked
  std::vector<std::unique_ptr<Core>> cores;

  ChipObserver* observer = nullptr;
  Latency interval = 0;
  bool has_tasks = false;     // the program uses the task model
  std::optional<Addr> roi;    // of the function that is the region of interest
  bool speculates = false;    // a task has, on whatever core
  bool in_roi = false;        // the region of interest: task regions, --roi or main
  bool detailed = false;      // else fast-forward
  bool leave_detail = false;  // the detailed loop is to end
  bool ended = false;
  RunOutcome outcome;
  Thread* owner = nullptr;              // of the running region
  Thread* entering = nullptr;           // in detail: its region waits for workers
  bool is_within_detail = false;        // the running region: so was what came before it
  bool is_within_roi = false;           // the running region: the region of interest began before it
  std::vector<Thread*> worker_threads;  // in order of arrival
  std::vector<Worker> region_workers;   // of the running region: its owner, which serves core 0, then those
  WorkerPool workers;                   // that serve no core
  Cycle clock{};                        // of the system call being performed
  Cycle timeout_scheduled = kNever;
  Cycle progress_at{kProgressCycles}, interval_at = kNever, limit_at = kNever;
  std::uint64_t timeouts_pending = 0;  // and of kTimeout
  std::uint64_t cycles = 0;
};

Chip::Chip(const Config& config, ProcessOptions process)
    : impl_(std::make_unique<Impl>(config, std::move(process))) {}
Chip::~Chip() = default;

void Chip::observe(ChipObserver* observer, Latency interval) {
  impl_->observer = observer;
  impl_->interval = interval;
}
void Chip::observe_tasks(TaskObserver* observer) { impl_->observe_tasks(*observer); }
void Chip::inject(const Faults& faults) {
  impl_->conflicts.inject(faults.conflicts);
  impl_->task_units.inject(faults.tasks);
  impl_->task_units.aborts()->inject(faults.aborts);
}
RunOutcome Chip::run() { return impl_->run(); }
StatRegistry& Chip::registry() { return impl_->registry; }
const CycleAccount& Chip::cycle_account() const { return impl_->account; }
const AbortProfile& Chip::abort_profile() const { return impl_->task_units.abort_profile(); }
const Symbols& Chip::symbols() const { return impl_->process.symbols(); }
const Process& Chip::process() const { return impl_->process; }
Progress Chip::progress() const { return impl_->progress(); }
Cycle Chip::cycles() const { return Cycle{impl_->cycles}; }
std::uint64_t Chip::detailed_instructions() const { return impl_->detailed_instructions(); }
std::uint64_t Chip::fast_forward_instructions() const { return impl_->fast_forward.instructions(); }
std::uint64_t Chip::guest_bytes() const { return impl_->memory.mapped_bytes(); }

}  // namespace rubato::chip
