// SPDX-License-Identifier: MIT
#include "chip/chip.hpp"

#include <fmt/format.h>

#include "chip/chip_impl.hpp"
#include "chip/conflict/factory.hpp"
#include "chip/faults.hpp"

namespace rubato::chip {

namespace {

/// A program uses the task model if it has this symbol: the function that holds the region instruction.
constexpr std::string_view kTaskRegionSymbol = "rubato_task_region";
/// What serial_region() of a program with tasks calls: the code that its tasks are compared with.
constexpr std::string_view kSerialRegionSymbol = "rubato_serial_region";
/// The value of run.roi with which detail is where the program marks regions.
constexpr std::string_view kAtMarkers = "@markers";
constexpr std::uint64_t kProgressInstructions = 1 << 24;
/// Spill areas lie behind the guest's address space: no access of the guest reaches them.
constexpr std::uint64_t kSpillBytes = 1 << 28;  // addresses, not memory: room for 3 million tasks a tile
constexpr Addr kSpillBase = AddressSpace::kSize;
/// Undo logs lie behind the spill areas: 1 Mi entries a core.
constexpr std::uint64_t kLogBytes = 1 << 24;
constexpr Addr kLogBase = kSpillBase + kMaxTiles * kSpillBytes;
static_assert(kLogBase + kMaxCores * kLogBytes == HandlerArea::kBase);

}  // namespace

Chip::Impl::Impl(const Config& c, ProcessOptions options)
    : config(c),
      account(c.chip.cores),
      mesh(make_mesh(c)),
      conflicts(make_conflict_scheme(config, *mesh)),
      hierarchy(make_memory_system(c, *mesh, *conflicts, &timeline, this)),
      task_units({.config = config,
                  .timeline = timeline,
                  .network = *mesh,
                  .memory = *hierarchy,
                  .host = *this,
                  .spill_base = kSpillBase,
                  .spill_bytes_per_tile = kSpillBytes,
                  .speculation = c.chip.cores > 1 ? conflicts.get() : nullptr,
                  .account = &account,
                  .space = &memory}),
      process(std::move(options), memory, *this),
      fast_forward(process, memory, blocks, c.run.quantum),
      scheduler(c.chip.cores),
      warm_up(*hierarchy, c.chip.cores) {
  if (!c.task.capsules) memory.track_all();
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
    replay->set_capsules(&capsule_vector);
    observe_tasks(*replay);
  }
  LockTickets* const tickets = process.lock_marks().empty() ? nullptr : &lock_tickets;
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
                                                           .recorder = conflicts.get(),
                                                           .reservations = &conflicts->reservations(),
                                                           .log_base = line_of(kLogBase + i * kLogBytes),
                                                           .log_lines = kLogBytes / kLineBytes,
                                                           .observer = replay.get(),
                                                           .lock_tickets = tickets},
                                           timeline, account, *this));
  }
  if (c.run.check_capsules) check_capsules();
  system_calls.attach([this](LineAddr first, LineAddr last) {
    for (const auto& core : cores) core->pipeline().lose_reservation(first, last);
  });
  system_calls.attach_changes([this](Addr begin, Addr end) {
    for (const auto& core : cores) core->perform_deferred(begin, end);
  });
  process.observe_accesses(&system_calls);
  memory.observe(&system_calls);
  if (task_units.aborts() != nullptr) {
    conflicts->attach(*task_units.aborts(),
                      [this](LineAddr line) { return hierarchy->possible_holders(line); });
    system_calls.attach(*task_units.aborts());
    if (heap) heap->attach(*task_units.aborts());
  }
  has_tasks = process.symbols().find(kTaskRegionSymbol).has_value();
  if (has_tasks && config.core.model == "window")
    throw UsageError(
        "core.model=window runs programs of threads, and this one has tasks: run it with core.model=inorder");
  detail_at_markers = config.run.roi == kAtMarkers;
  roi = find_roi();
  register_stats();
}
// ---- Running ----

RunOutcome Chip::Impl::run() {
  process.print_restored();
  if (config.run.max_cycles != 0) limit_at = Cycle{config.run.max_cycles};
  if (interval != 0) interval_at = Cycle{interval};
  if (config.run.profile_cycles != 0) sample_at = Cycle{config.run.profile_cycles};
  set_pause();
  if (debug && !debug->begin()) end_by_debugger();
  if (!config.run.fast_forward || (!roi && !has_tasks && !detail_at_markers)) begin_detail();
  while (!ended) {
    if (detailed) {
      simulate();
    } else {
      skip_ahead();
    }
  }
  finish_account();
  if (debug) debug->end(outcome, process.death_signal());
  return outcome;
}

std::optional<Addr> Chip::Impl::find_roi() const {
  const std::string& name = config.run.roi;
  if (name.empty()) {
    if (!config.run.fast_forward) return std::nullopt;
    return process.symbols().find(has_tasks ? kSerialRegionSymbol : "main");
  }
  if (!config.run.fast_forward)
    throw UsageError(
        "run.roi (--roi) simulates one function in detail, run.fast_forward=false (--no-ff) everything: "
        "give one of them");
  if (detail_at_markers) return std::nullopt;
  const std::optional<Addr> found = process.symbols().find(name);
  if (!found)
    throw UsageError(
        "run.roi: the program has no symbol '{}' (nm lists its symbols; a stripped program has none)", name);
  return found;
}

void Chip::Impl::simulate() {
  leave_detail = false;
  while (!leave_detail && !ended) {
    if (!has_work()) {
      if (!task_units.go_on_beside_suspended()) no_progress();
    } else if (!timeline.step()) {
      observe_at(timeline.pause());
    }
  }
}

void Chip::Impl::observe_at(Cycle now) {
  if (now == limit_at) {
    end({ExitCode::no_progress, 0,
         fmt::format("the program was still running after {} cycles (run.max_cycles)", config.run.max_cycles),
         describe_cores() + describe_waiting()});
    return;
  }
  if (now == interval_at) {
    settle(now);
    if (observer != nullptr) observer->on_interval(now);
    interval_at += interval;
  }
  if (now == sample_at) {
    sample_cores();
    sample_at += config.run.profile_cycles;
  }
  if (now == progress_at) {
    report_progress();
    progress_at += kProgressCycles;
  }
  set_pause();
}

void Chip::Impl::skip_ahead() {
  const FastForward::Result r = fast_forward.run(roi, kProgressInstructions);
  switch (r.stop) {
    case FastForward::Stop::budget:
      report_progress();
      if (detail_at_markers && !open_regions.empty() && !ended) begin_detail();
      return;
    case FastForward::Stop::stop_pc:
      ran_serial = has_tasks && config.run.roi.empty();
      begin_detail(r.thread);
      return;
    case FastForward::Stop::task_instruction:
      task_instruction(*r.thread, r.insn);
      return;
    case FastForward::Stop::chip_call:
      RUBATO_CHECK(false, "only save_checkpoint() stops at system calls");
      return;
    case FastForward::Stop::exited:
      process_exited();
      return;
    case FastForward::Stop::deadlock:
      no_progress();
      return;
    case FastForward::Stop::fault:
      if (debug && is_debugged(*r.thread, r.fault)) return;
      report_fault(*r.thread, r.fault);
      return;
  }
}

void Chip::Impl::attach(GdbServer& server) {
  debug.emplace(
      server, process, memory,
      [this] {
        memory.code_changed();
        blocks.flush();
      },
      [this](const Thread& thread) -> const Core* {
        for (const auto& core : cores)
          if (core->thread() == &thread && core->activity() != Core::Activity::idle) return core.get();
        return nullptr;
      });
  fast_forward.leave_breakpoints();
}

bool Chip::Impl::is_debugged(Thread& thread, const Fault& fault) {
  switch (debug->stop(thread, fault)) {
    case ChipDebug::After::resume:
      return true;
    case ChipDebug::After::as_without:
      return fault.kind == FaultKind::breakpoint && process.deliver_fault(thread, fault);
    case ChipDebug::After::end:
      end_by_debugger();
      return true;
  }
  return false;
}

void Chip::Impl::begin_detail(const Thread* caller) {
  detailed = true;
  blocks.set_stop(std::nullopt);
  forget_changed_pages();
  for (const auto& core : cores) core->pipeline().set_time_origin(fast_forward.nanoseconds());
  if (caller != nullptr)
    for (const auto& core : cores)
      core->pipeline().watch_return(caller->regs.x[reg::ra], caller->regs.x[reg::sp]);
  if (config.run.fast_forward || !has_tasks) enter_roi(timeline.now());
  begin_profile(timeline.now());
  for (const auto& thread : process.threads())
    if (thread->state == ThreadState::runnable && !thread->is_worker) on_runnable(*thread);
  schedule_timeout();
}

void Chip::Impl::enter_roi(Cycle now) {
  RUBATO_CHECK(!in_roi, "a region of interest began inside another");
  in_roi = true;
  if (observer != nullptr) observer->on_region_begin(now);
}

void Chip::Impl::end(RunOutcome o) {
  if (ended) return;
  ended = true;
  outcome = std::move(o);
}

void Chip::Impl::process_exited() {
  if (const auto signal = process.death_signal()) {
    end({ExitCode::guest_fault, 128 + *signal, describe_death(*signal), {}});
  } else if (const int status = process.exit_status(); status != 0) {
    end({ExitCode::check_failed, status, fmt::format("the program exited with status {}", status), {}});
  } else {
    end({});
  }
}

std::uint64_t Chip::Impl::detailed_instructions() const {
  std::uint64_t sum = 0;
  for (const auto& core : cores) sum += core->pipeline().counters().instructions;
  return sum;
}

Cycle Chip::Impl::reached() const {
  Cycle latest = timeline.now();
  for (const auto& core : cores) latest = later(latest, core->reached());
  return latest;
}

void Chip::Impl::finish_account() {
  const Cycle end_cycle = reached();
  for (const auto& core : cores) core->account_until(end_cycle);
  task_units.settle_attempts();
  task_units.account_until(end_cycle);
  cycles = end_cycle.value;
  leave_roi(end_cycle);
  profile.stop(end_cycle, [this](CoreId core) -> const ThreadProfile::Parts& { return parts_of(core); });
  account.verify(cycles);
}

void Chip::Impl::on_event(Cycle now, std::uint32_t kind, std::uint64_t) {
  switch (kind) {
    case kTimeout:
      clock = now;
      --timeouts_pending;
      timeout_scheduled = kNever;
      calling = 0;
      system_calls.begin(CoreId{0}, now);  // for whoever waited
      process.expire_timeouts();
      system_calls.end();
      if (process.exited()) process_exited();
      schedule_timeout();
      return;
    case kEnterRegion:
      if (entering != nullptr) enter_region(*entering, now);
      return;
    case kMarkedEnd:
      return leave_marked_region(now);
    case kRegionEnd:
      // A core whose attempt was aborted in the middle of a miss is not there yet.
      if (std::any_of(cores.begin(), cores.end(),
                      [](const auto& core) { return core->activity() == Core::Activity::rollback; }))
        timeline.schedule(now + 1, this, kRegionEnd);
      else
        finish_region(now);
      return;
  }
}

void Chip::Impl::check_capsules() {
  const auto place = [this](CoreId core) {
    const Pipeline& pipeline = cores[core.value]->pipeline();
    const auto [low, high] = pipeline.rights().own_stack();
    // Of tasks alone: a thread's calls use its stack, and is no fault.
    return CapsuleLint::Place{cores[core.value]->in_region() ? pipeline.hart().capsule_depth : 0, low, high};
  };
  capsule_lint.emplace(memory, process.symbols(), process.lock_marks(), lock_tickets, config.chip.cores,
                       place, [this](const std::string& sentence) {
                         end({ExitCode::check_failed, 0, sentence, {}});
                       });
  observe_instructions(*capsule_lint);
}

std::string Chip::Impl::describe_cores() const {
  std::string text;
  for (const auto& core : cores) {
    const bool is_doomed = core->activity() == Core::Activity::doomed;
    if (core->thread() == nullptr || (core->in_region() && core->task() == 0 && !is_doomed)) continue;
    text += fmt::format("core {}: thread {} at {}", core->id().value, core->thread()->tid,
                        process.symbols().describe(core->pipeline().hart().pc));
    if (const std::uint64_t task = core->task_of_run(); task != 0) text += fmt::format(", task {}", task);
    if (const CapsuleState::Call& call = core->capsule().call(); call.stub != 0) {
      text +=
          fmt::format(", in capsule {} since cycle {}{}", capsule_name(process.symbols().describe(call.stub)),
                      call.since.value, is_doomed ? ", its task aborted" : "");
      if (const auto lock = process.lock_marks().awaited(core->pipeline().hart(), memory);
          lock && !lock_tickets.has_turn(core->id(), *lock)) {
        const LockTickets::Draw* const holder = lock_tickets.holder(*lock);
        text += fmt::format(", waits for the lock {}, held by {}", process.symbols().describe(*lock),
                            holder != nullptr ? LockTickets::describe(*holder, process.symbols())
                                              : "whoever took it before the region of interest");
      }
    }
    text += '\n';
  }
  return text;
}

// ---- Statistics ----

void Chip::Impl::register_stats() {
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
    registry.counter(prefix + "atomics", "accesses", "Atomic instructions that accessed memory.", &c.atomics);
    if (const CoreModel* const model = core->pipeline().model()) model->register_stats(registry, prefix);
  }
  const CapsuleCalls::Count& calls = capsule_calls.all();
  registry.counter("chip.capsules.calls", "calls", "Outermost capsule calls of tasks.", &calls.calls);
  registry.counter("chip.capsules.cycles", "cycles", "Cycles in them, until they ended or were doomed.",
                   &calls.cycles);
  registry.counter("chip.capsules.doomed_calls", "calls", "Those whose task was aborted meanwhile.",
                   &calls.doomed_calls);
  registry.counter("chip.capsules.doomed_cycles", "cycles", "Cycles from that to their end.",
                   &calls.doomed_cycles);
  account.register_stats(registry);
  hierarchy->register_stats(registry);
  conflicts->register_stats(registry);
  mesh->register_stats(registry);
  task_units.register_stats(registry);
}

// ---- The interface ----

Chip::Chip(const Config& config, ProcessOptions process)
    : impl_(std::make_unique<Impl>(config, std::move(process))) {}
Chip::~Chip() = default;

void Chip::observe(ChipObserver* observer, Latency interval) {
  impl_->observer = observer;
  impl_->interval = interval;
}
void Chip::observe_tasks(TaskObserver* observer) { impl_->observe_tasks(*observer); }
void Chip::observe_instructions(InstructionObserver* observer) { impl_->observe_instructions(*observer); }
void Chip::watch_fast_forward(Addr first, std::uint64_t bytes, UntimedObserver* observer) {
  FastForward::Observer* const next = impl_->config.run.warm ? &impl_->warm_up : nullptr;
  impl_->fast_forward.observe(&impl_->untimed_watch.emplace(impl_->memory, first, bytes, *observer, next));
}
void Chip::observe_messages(MessageObserver* observer) { impl_->hierarchy->observe_messages(*observer); }
void Chip::debug(GdbServer& server) { impl_->attach(server); }
void Chip::inject(const Faults& faults) {
  impl_->conflicts->inject(faults.conflicts);
  impl_->task_units.inject(faults.tasks);
  impl_->task_units.inject(faults.capsules);
  for (const auto& core : impl_->cores) {
    core->inject(faults.capsules, faults.dooms);
    if (CoreModel* const model = core->pipeline().model()) model->inject(faults.windows);
  }
  // Null where nothing speculates.
  if (AbortCascade* const aborts = impl_->task_units.aborts()) aborts->inject(faults.aborts);
}
RunOutcome Chip::run() { return impl_->run(); }
const CapsuleCalls& Chip::capsule_calls() const { return impl_->capsule_calls; }
StatRegistry& Chip::registry() { return impl_->registry; }
const CycleAccount& Chip::cycle_account() const { return impl_->account; }
const AbortProfile& Chip::abort_profile() const { return impl_->task_units.abort_profile(); }
const Symbols& Chip::symbols() const { return impl_->process.symbols(); }
const Process& Chip::process() const { return impl_->process; }
Progress Chip::progress() const { return impl_->progress(); }
Cycle Chip::cycles() const { return Cycle{impl_->cycles}; }
std::uint64_t Chip::detailed_instructions() const { return impl_->detailed_instructions(); }
const ThreadProfile& Chip::thread_profile() const { return impl_->profile; }
void Chip::watch_threads(ThreadWatcher* watcher) { impl_->profile.watch(watcher); }
bool Chip::ran_serial() const { return impl_->ran_serial; }
std::uint64_t Chip::fast_forward_instructions() const { return impl_->fast_forward.instructions(); }
std::uint64_t Chip::guest_bytes() const { return impl_->memory.mapped_bytes(); }

}  // namespace rubato::chip
