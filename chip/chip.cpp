// SPDX-License-Identifier: MIT
#include "chip/chip.hpp"

#include <fmt/format.h>

#include "chip/chip_impl.hpp"
#include "chip/conflict/factory.hpp"
#include "chip/faults.hpp"

namespace rubato::chip {

namespace {

/// Spill areas lie behind the guest's address space: no access of the guest reaches them.
constexpr std::uint64_t kSpillBytes = 1 << 28;  // addresses, not memory: room for 3 million tasks a tile
constexpr Addr kSpillBase = AddressSpace::kSize;
static_assert(kLogBase == kSpillBase + kMaxTiles * kSpillBytes);
static_assert(kLogBase + kMaxCores * kLogBytes == HandlerArea::kBase);

RunOutcome ended_by_debugger() { return {ExitCode::interrupted, 0, "ended by the debugger", {}}; }

constexpr Latency kProgressCycles = 1 << 18;  // between two reports
constexpr Latency kCountCycles = 1 << 10;     // between two looks at run.instructions

}  // namespace

Chip::Impl::Impl(const Config& c, std::vector<ProgramPlace> places)
    : config(c),
      account(c.chip.cores),
      mesh(make_mesh(c)),
      conflicts(make_conflict_scheme(config, *mesh)),
      hierarchy(make_memory_system(c, *mesh, *conflicts, &timeline, &core_side)),
      programs(std::move(places), config, *conflicts, *hierarchy, program_side),
      task_units({.config = config,
                  .timeline = timeline,
                  .network = *mesh,
                  .memory = *hierarchy,
                  .host = task_side,
                  .spill_base = kSpillBase,
                  .spill_bytes_per_tile = kSpillBytes,
                  .speculation = c.chip.cores > 1 ? conflicts.get() : nullptr,
                  .account = &account,
                  .space = &programs.sole().memory}) {
  // Lines of other programs lie where spill areas would.
  if (!programs.is_shared()) hierarchy->set_private_lines(line_of(kSpillBase), kSpillBytes / kLineBytes);
  add_checkers();
  make_cores();
  if (checkers.capsules) observe_instructions(*checkers.capsules);
  if (checkers.ties) observe_instructions(*checkers.ties);
  if (AbortCascade* const aborts = task_units.aborts()) {
    conflicts->attach(*aborts, [this](LineAddr line) { return hierarchy->possible_holders(line); });
    programs.sole().system_calls.attach(*aborts);
    if (programs.sole().heap) programs.sole().heap->attach(*aborts);
  }
  register_stats();
}

void Chip::Impl::add_checkers() {
  Program& program = programs.sole();
  const Symbols& symbols = program.process.symbols();
  const auto fail = [this](const std::string& sentence) { end({ExitCode::check_failed, 0, sentence, {}}); };
  if (config.run.check_replay) {
    checkers.replay =
        std::make_unique<ReplayChecker>(program.memory, symbols, config, [this](const std::string& sentence) {
          end({ExitCode::internal, 0, "replay: " + sentence, {}});
        });
    checkers.replay->set_capsules(&program.capsule_vector);
    observe_tasks(*checkers.replay);
  }
  if (config.run.check_capsules) {
    const auto place = [this](CoreId core) {
      const Pipeline& pipeline = cores[core.value]->pipeline();
      const auto [low, high] = pipeline.rights().own_stack();
      // Only tasks are checked: a thread's calls use its own stack, which is no fault.
      return CapsuleLint::Place{cores[core.value]->in_region() ? pipeline.hart().capsule_depth : 0, low,
                                high};
    };
    checkers.capsules.emplace(program.memory, symbols, program.process.lock_marks(), program.lock_tickets,
                              config.chip.cores, place, fail);
  }
  if (config.run.check_ties) {
    checkers.ties = std::make_unique<TieChecker>(program.memory, symbols, config.chip.cores, fail);
    observe_tasks(*checkers.ties);
  }
}

void Chip::Impl::make_cores() {
  if (programs.watches_contention(config)) {
    contention.emplace(*hierarchy, timeline, config.chip.cores);
    line_blocks.emplace(*contention, programs.sole().watch_allocations());
  }
  MemorySystem& memory_system = contention ? static_cast<MemorySystem&>(*contention) : *hierarchy;
  ExecutionObserver* const execution =
      contention ? static_cast<ExecutionObserver*>(&*contention) : checkers.replay.get();
  cores.reserve(config.chip.cores);
  for (std::uint32_t i = 0; i < config.chip.cores; ++i) {
    const CoreId id{i};
    Program& program = programs.of(id);
    LockTickets* const tickets = program.process.lock_marks().empty() ? nullptr : &program.lock_tickets;
    cores.push_back(
        std::make_unique<Core>(id, config,
                               Pipeline::Ports{.memory = &program.memory,
                                               .blocks = &program.blocks,
                                               .memory_system = memory_system,
                                               .l1i = hierarchy->l1i(id),
                                               .l1d = hierarchy->l1d(id),
                                               .timeline = &timeline,
                                               .recorder = conflicts.get(),
                                               .reservations = &conflicts->reservations(),
                                               .log_base = line_of(kLogBase + i * kLogBytes),
                                               .log_lines = kLogBytes / kLineBytes,
                                               .observer = execution,
                                               .watch = contention ? &contention->watch() : nullptr,
                                               .lock_tickets = tickets},
                               timeline, account, core_side));
    if (contention) contention->attach(id, cores.back()->pipeline().counters());
  }
  for (const auto& program : programs) {
    const std::span own = threads.of(*program);
    program->system_calls.attach([own](LineAddr first, LineAddr last) {
      for (const auto& core : own) core->pipeline().lose_reservation(first, last);
    });
    program->system_calls.attach_changes([own](Addr begin, Addr end) {
      for (const auto& core : own) core->perform_deferred(begin, end);
    });
  }
}

void Chip::Impl::observe_instructions(InstructionObserver& watcher) {
  if (!instructions) {
    instructions.emplace();
    for (const auto& core : cores) core->pipeline().observe(*instructions);
  }
  instructions->add(watcher);
}

// ---- Running ----

RunOutcome Chip::Impl::run() {
  for (const auto& program : programs) program->process.print_restored();
  clock.every(RunClock::Look::limit, config.run.max_cycles);
  clock.every(RunClock::Look::count, config.run.instructions != 0 ? kCountCycles : 0);
  clock.every(RunClock::Look::sample, config.run.profile_cycles);
  clock.every(RunClock::Look::progress, kProgressCycles);
  if (debug && !debug->begin()) end(ended_by_debugger());
  for (const auto& program : programs)
    if (!config.run.fast_forward || !program->has_region()) arrive(*program);
  while (!outcome) {
    if (detailed) {
      simulate();
    } else {
      skip_ahead(programs.next_in_fast_forward());
    }
  }
  finish_account();
  if (debug) debug->end(*outcome, programs.sole().process.death_signal());
  return *outcome;
}

void Chip::Impl::simulate() {
  while (detailed && !outcome) {
    if (!timeouts.has_work()) {
      resolve_standstill();
    } else if (!timeline.step()) {
      const Cycle now = timeline.pause();
      clock.look(now, [&](RunClock::Look due) { look(due, now); });
    }
  }
}

void Chip::Impl::resolve_standstill() {
  const std::vector<Thread*> interrupted = region.interrupt_doomed(
      [this](TileId tile, std::uint64_t run) { return task_units.is_doomed(tile, run); });
  for (Thread* const thread : interrupted) programs.sole().process.interrupt(*thread);
  if (interrupted.empty() && !task_units.go_on_beside_suspended()) no_progress();
}

void Chip::Impl::look(RunClock::Look due, Cycle now) {
  switch (due) {
    case RunClock::Look::limit:
      return end({ExitCode::no_progress, 0,
                  fmt::format("the program was still running after {} cycles (run.max_cycles)",
                              config.run.max_cycles),
                  threads.describe() + describe_waiting()});
    case RunClock::Look::count:
      if (programs.count_those_done(config.run.instructions, now,
                                    [this](const Program& program) { return threads.instructions(program); }))
        for (const auto& program : programs)
          if (program->is_in_detail()) finish(*program, {});
      return;
    case RunClock::Look::interval:
      settle(now);
      return clock.show_interval(now);
    case RunClock::Look::sample:
      threads.sample();
      if (clock.is_in_roi()) task_units.sample();
      return;
    case RunClock::Look::progress:
      return report_progress();
  }
}

void Chip::Impl::attach(GdbServer& server) {
  debug.emplace(
      server, programs.sole().process, programs.sole().memory,
      [this] {
        programs.sole().memory.code_changed();
        programs.sole().blocks.flush();
      },
      [this](const Thread& thread) -> const Core* {
        for (const auto& core : cores)
          if (core->thread() == &thread && core->activity() != Core::Activity::idle) return core.get();
        return nullptr;
      });
  programs.sole().fast_forward.leave_breakpoints();
}

bool Chip::Impl::is_debugged(Thread& thread, const Fault& fault) {
  switch (debug->stop(thread, fault)) {
    case ChipDebug::After::resume:
      return true;
    case ChipDebug::After::as_without:
      return fault.kind == FaultKind::breakpoint && programs.sole().process.deliver_fault(thread, fault);
    case ChipDebug::After::end:
      end(ended_by_debugger());
      return true;
  }
  return false;
}

Progress Chip::Impl::progress() const {
  return {timeline.now(), threads.instructions() + programs.fast_forward_instructions(),
          task_units.committed(), task_units.gvt().timestamp, !detailed};
}

void Chip::Impl::report_progress() {
  if (clock.is_observed() && !clock.show_progress(progress()))
    end({ExitCode::interrupted, 0, "interrupted", {}});
  if (debug && !debug->look()) end(ended_by_debugger());
}

void Chip::Impl::settle(Cycle now) {
  for (const auto& core : cores) core->account_until(later(now, core->reached()));
  task_units.account_until(now);
  cycles = now.value;
}

void Chip::Impl::finish_account() {
  const Cycle end_cycle = threads.reached();
  for (const auto& core : cores) core->account_until(end_cycle);
  task_units.settle_attempts();
  task_units.account_until(end_cycle);
  cycles = end_cycle.value;
  for (const auto& program : programs)  // an end that is not theirs
    if (program->is_in_detail()) programs.count(*program, end_cycle, threads.instructions(*program));
  clock.leave_roi(end_cycle);
  for (const auto& program : programs) threads.stop_profile(*program, end_cycle);
  if (contention) contention->finish();
  account.verify(cycles);
}

void Chip::Impl::on_event(Cycle now, std::uint32_t kind, std::uint64_t number) {
  switch (kind) {
    case kProgramOver:
      return leave_detail_of(programs[number], now);
    case kEnterRegion:
      if (Thread* const thread = region.entering()) enter_region(*thread, now);
      return;
    case kMarkedEnd: {  // fast-forward goes on behind the last region that the program has marked
      Program& program = programs[number];
      if (program.is_in_detail() && !region.is_running() && region.entering() == nullptr &&
          program.open_regions.empty())
        leave_detail_of(program, now);
      return;
    }
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

// ---- Statistics ----

void Chip::Impl::register_stats() {
  registry.counter("chip.cycles", "cycles", "Cycles simulated in detail.", &cycles);
  registry.total("chip.instructions", "instructions",
                 "Guest instructions executed in detail, aborted ones included.",
                 [this] { return threads.instructions(); });
  registry.total("chip.fast_forward.instructions", "instructions",
                 "Guest instructions executed in fast-forward.",
                 [this] { return programs.fast_forward_instructions(); });
  programs.register_stats(registry);
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
    core->model().register_stats(registry, prefix);
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

Chip::Chip(const Config& config, ProcessOptions process) {
  std::vector<ProgramPlace> places;
  places.push_back({std::move(process), 0, config.chip.cores, config.run.roi});
  impl_ = std::make_unique<Impl>(config, std::move(places));
}
Chip::Chip(const Config& config, std::vector<ProgramPlace> programs)
    : impl_(std::make_unique<Impl>(config, std::move(programs))) {}
Chip::~Chip() = default;

void Chip::observe(ChipObserver* observer, Latency interval) { impl_->clock.observe(observer, interval); }
void Chip::observe_tasks(TaskObserver* observer) { impl_->observe_tasks(*observer); }
void Chip::observe_instructions(InstructionObserver* observer) { impl_->observe_instructions(*observer); }
void Chip::watch_fast_forward(Addr first, std::uint64_t bytes, UntimedObserver* observer) {
  Program& program = impl_->programs.sole();
  FastForward::Observer* const next = impl_->config.run.warm ? &program.warm_up : nullptr;
  program.fast_forward.observe(&program.untimed_watch.emplace(program.memory, first, bytes, *observer, next));
}
void Chip::observe_messages(MessageObserver* observer) { impl_->hierarchy->observe_messages(*observer); }
void Chip::debug(GdbServer& server) { impl_->attach(server); }
void Chip::inject(const Faults& faults) {
  impl_->conflicts->inject(faults.conflicts);
  impl_->task_units.inject(faults.tasks);
  impl_->task_units.inject(faults.capsules);
  for (const auto& core : impl_->cores) {
    core->inject(faults.capsules, faults.dooms, faults.orders);
    chip::inject(core->model(), faults.windows);
  }
  // Null where nothing speculates.
  if (AbortCascade* const aborts = impl_->task_units.aborts()) aborts->inject(faults.aborts);
}
RunOutcome Chip::run() { return impl_->run(); }
const CapsuleCalls& Chip::capsule_calls() const { return impl_->capsule_calls; }
StatRegistry& Chip::registry() { return impl_->registry; }
const CycleAccount& Chip::cycle_account() const { return impl_->account; }
const AbortProfile& Chip::abort_profile() const { return impl_->task_units.abort_profile(); }
const LineContention* Chip::line_contention() const {
  return impl_->contention ? &*impl_->contention : nullptr;
}
const LineBlocks* Chip::line_blocks() const { return impl_->line_blocks ? &*impl_->line_blocks : nullptr; }
const ParallelismProfile& Chip::parallelism_profile() const { return impl_->task_units.parallelism(); }
const Symbols& Chip::symbols() const { return impl_->programs.sole().process.symbols(); }
std::size_t Chip::programs() const { return impl_->programs.size(); }
const Program& Chip::program(std::size_t index) const { return impl_->programs[index]; }
Progress Chip::progress() const { return impl_->progress(); }
Cycle Chip::cycles() const { return Cycle{impl_->cycles}; }
std::uint64_t Chip::detailed_instructions() const { return impl_->threads.instructions(); }
const ThreadProfile& Chip::thread_profile() const { return impl_->programs.sole().profile; }
void Chip::watch_threads(ThreadWatcher* watcher) { impl_->programs.sole().profile.watch(watcher); }
std::string_view Chip::untasked_mode() const { return impl_->untasked_mode; }
std::uint64_t Chip::fast_forward_instructions() const { return impl_->programs.fast_forward_instructions(); }
std::uint64_t Chip::guest_bytes() const { return impl_->programs.mapped_bytes(); }

}  // namespace rubato::chip
