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

constexpr Latency kProgressCycles = 1 << 18;  // between two reports
constexpr Latency kCountCycles = 1 << 10;     // between two looks at run.instructions

}  // namespace

Chip::Impl::Impl(const Config& c, std::vector<ProgramPlace> places)
    : config(c),
      account(c.chip.cores),
      mesh(make_mesh(c)),
      conflicts(make_conflict_scheme(config, *mesh)),
      hierarchy(make_memory_system(c, *mesh, *conflicts, &timeline, this)),
      programs(std::move(places), config, *conflicts, *hierarchy, *this),
      task_units({.config = config,
                  .timeline = timeline,
                  .network = *mesh,
                  .memory = *hierarchy,
                  .host = *this,
                  .spill_base = kSpillBase,
                  .spill_bytes_per_tile = kSpillBytes,
                  .speculation = c.chip.cores > 1 ? conflicts.get() : nullptr,
                  .account = &account,
                  .space = &sole().memory}) {
  // Lines of other programs lie where spill areas would.
  if (!programs.is_shared()) hierarchy->set_private_lines(line_of(kSpillBase), kSpillBytes / kLineBytes);
  if (c.run.check_replay) {
    replay = std::make_unique<ReplayChecker>(sole().memory, sole().process.symbols(), config,
                                             [this](const std::string& sentence) {
                                               end({ExitCode::internal, 0, "replay: " + sentence, {}});
                                             });
    replay->set_capsules(&sole().capsule_vector);
    observe_tasks(*replay);
  }
  if (c.run.contention) contention.emplace(*hierarchy, timeline, c.chip.cores);
  MemorySystem& memory_system = contention ? static_cast<MemorySystem&>(*contention) : *hierarchy;
  ExecutionObserver* const execution =
      contention ? static_cast<ExecutionObserver*>(&*contention) : replay.get();
  cores.reserve(c.chip.cores);
  for (std::uint32_t i = 0; i < c.chip.cores; ++i) {
    const CoreId id{i};
    Program& program = program_of(id);
    LockTickets* const tickets = program.process.lock_marks().empty() ? nullptr : &program.lock_tickets;
    cores.push_back(std::make_unique<Core>(id, config,
                                           Pipeline::Ports{.memory = program.memory,
                                                           .blocks = program.blocks,
                                                           .memory_system = memory_system,
                                                           .l1i = hierarchy->l1i(id),
                                                           .l1d = hierarchy->l1d(id),
                                                           .timeline = &timeline,
                                                           .recorder = conflicts.get(),
                                                           .reservations = &conflicts->reservations(),
                                                           .log_base = line_of(kLogBase + i * kLogBytes),
                                                           .log_lines = kLogBytes / kLineBytes,
                                                           .observer = execution,
                                                           .lock_tickets = tickets},
                                           timeline, account, *this));
  }
  if (c.run.check_capsules) check_capsules();
  if (c.run.check_ties) check_ties();
  for (const auto& program : programs) {
    const std::span own = cores_of(*program);
    program->system_calls.attach([own](LineAddr first, LineAddr last) {
      for (const auto& core : own) core->pipeline().lose_reservation(first, last);
    });
    program->system_calls.attach_changes([own](Addr begin, Addr end) {
      for (const auto& core : own) core->perform_deferred(begin, end);
    });
  }
  if (task_units.aborts() != nullptr) {
    conflicts->attach(*task_units.aborts(),
                      [this](LineAddr line) { return hierarchy->possible_holders(line); });
    sole().system_calls.attach(*task_units.aborts());
    if (sole().heap) sole().heap->attach(*task_units.aborts());
  }
  register_stats();
}
// ---- Running ----

RunOutcome Chip::Impl::run() {
  for (const auto& program : programs) program->process.print_restored();
  clock.every(RunClock::Look::limit, config.run.max_cycles);
  clock.every(RunClock::Look::count, config.run.instructions != 0 ? kCountCycles : 0);
  clock.every(RunClock::Look::sample, config.run.profile_cycles);
  clock.every(RunClock::Look::progress, kProgressCycles);
  if (debug && !debug->begin()) end_by_debugger();
  for (const auto& program : programs)
    if (!config.run.fast_forward || (!program->roi && !program->has_tasks && !program->detail_at_markers))
      arrive(*program);
  while (!ended) {
    if (detailed) {
      simulate();
    } else {
      skip_ahead();
    }
  }
  finish_account();
  if (debug) debug->end(outcome, sole().process.death_signal());
  return outcome;
}

void Chip::Impl::simulate() {
  leave_detail = false;
  while (!leave_detail && !ended) {
    if (!timeouts.has_work()) {
      if (!interrupt_doomed() && !task_units.go_on_beside_suspended()) no_progress();
    } else if (!timeline.step()) {
      const Cycle now = timeline.pause();
      clock.look(now, [&](RunClock::Look due) { look(due, now); });
    }
  }
}

void Chip::Impl::look(RunClock::Look due, Cycle now) {
  switch (due) {
    case RunClock::Look::limit:
      return end({ExitCode::no_progress, 0,
                  fmt::format("the program was still running after {} cycles (run.max_cycles)",
                              config.run.max_cycles),
                  describe_cores() + describe_waiting()});
    case RunClock::Look::count:
      return count_instructions(now);
    case RunClock::Look::interval:
      settle(now);
      return clock.show_interval(now);
    case RunClock::Look::sample:
      sample_cores();
      if (clock.is_in_roi()) task_units.sample();
      return;
    case RunClock::Look::progress:
      return report_progress();
  }
}

void Chip::Impl::attach(GdbServer& server) {
  debug.emplace(
      server, sole().process, sole().memory,
      [this] {
        sole().memory.code_changed();
        sole().blocks.flush();
      },
      [this](const Thread& thread) -> const Core* {
        for (const auto& core : cores)
          if (core->thread() == &thread && core->activity() != Core::Activity::idle) return core.get();
        return nullptr;
      });
  sole().fast_forward.leave_breakpoints();
}

bool Chip::Impl::is_debugged(Thread& thread, const Fault& fault) {
  switch (debug->stop(thread, fault)) {
    case ChipDebug::After::resume:
      return true;
    case ChipDebug::After::as_without:
      return fault.kind == FaultKind::breakpoint && sole().process.deliver_fault(thread, fault);
    case ChipDebug::After::end:
      end_by_debugger();
      return true;
  }
  return false;
}

void Chip::Impl::end(RunOutcome o) {
  if (ended) return;
  ended = true;
  outcome = std::move(o);
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
  for (const auto& program : programs)  // an end that is not theirs
    if (program->is_in_detail()) count(*program, end_cycle);
  clock.leave_roi(end_cycle);
  for (const auto& program : programs)
    program->profile.stop(end_cycle,
                          [this](CoreId core) -> const ThreadProfile::Parts& { return parts_of(core); });
  if (contention) contention->finish();
  account.verify(cycles);
}

void Chip::Impl::on_event(Cycle now, std::uint32_t kind, std::uint64_t payload) {
  switch (kind) {
    case kProgramOver:
      return leave_detail_of(programs[payload], now);
    case kEnterRegion:
      if (entering != nullptr) enter_region(*entering, now);
      return;
    case kMarkedEnd:
      return leave_marked_region(programs[payload], now);
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
  Program& program = sole();
  capsule_lint.emplace(program.memory, program.process.symbols(), program.process.lock_marks(),
                       program.lock_tickets, config.chip.cores, place, [this](const std::string& sentence) {
                         end({ExitCode::check_failed, 0, sentence, {}});
                       });
  observe_instructions(*capsule_lint);
}

void Chip::Impl::check_ties() {
  ties = std::make_unique<TieChecker>(sole().memory, sole().process.symbols(), config.chip.cores,
                                      [this](const std::string& sentence) {
                                        end({ExitCode::check_failed, 0, sentence, {}});
                                      });
  observe_tasks(*ties);
  observe_instructions(*ties);
}

std::string Chip::Impl::describe_cores() const {
  std::string text;
  for (const auto& core : cores) {
    const bool is_doomed = core->activity() == Core::Activity::doomed;
    const Program& program = program_of(core->id());
    const Process& process = program.process;
    if (core->thread() == nullptr || (core->in_region() && core->task() == 0 && !is_doomed)) continue;
    text += fmt::format("core {}: thread {} at {}", core->id().value, core->thread()->tid,
                        process.symbols().describe(core->pipeline().hart().pc));
    if (const std::uint64_t task = core->task_of_run(); task != 0) text += fmt::format(", task {}", task);
    if (const OpenCapsuleCall& call = core->capsule().call(); call.stub != 0) {
      text +=
          fmt::format(", in capsule {} since cycle {}{}", capsule_name(process.symbols().describe(call.stub)),
                      call.since.value, is_doomed ? ", its task aborted" : "");
      if (const auto lock = process.lock_marks().awaited(core->pipeline().hart(), program.memory);
          lock && !program.lock_tickets.has_turn(core->id(), *lock)) {
        const LockTickets::Draw* const holder = program.lock_tickets.holder(*lock);
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
  Program& program = impl_->sole();
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
const LineContention* Chip::line_contention() const {
  return impl_->contention ? &*impl_->contention : nullptr;
}
const ParallelismProfile& Chip::parallelism_profile() const { return impl_->task_units.parallelism(); }
const Symbols& Chip::symbols() const { return impl_->sole().process.symbols(); }
std::size_t Chip::programs() const { return impl_->programs.size(); }
const Program& Chip::program(std::size_t index) const { return impl_->programs[index]; }
Progress Chip::progress() const { return impl_->progress(); }
Cycle Chip::cycles() const { return Cycle{impl_->cycles}; }
std::uint64_t Chip::detailed_instructions() const { return impl_->detailed_instructions(); }
const ThreadProfile& Chip::thread_profile() const { return impl_->sole().profile; }
void Chip::watch_threads(ThreadWatcher* watcher) { impl_->sole().profile.watch(watcher); }
bool Chip::ran_serial() const { return impl_->ran_serial; }
std::uint64_t Chip::fast_forward_instructions() const { return impl_->programs.fast_forward_instructions(); }
std::uint64_t Chip::guest_bytes() const { return impl_->programs.mapped_bytes(); }

}  // namespace rubato::chip
