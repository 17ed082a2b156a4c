// The task units of task_units.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/task_units.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/error.hpp"
#include "include/rubato/errors.hpp"

namespace rubato::chip {

namespace {

constexpr const char* kNoSpeculation =
    "SPEC tasks need speculation, which this chip does not have; declare them mayspec or nonspec, or run on "
    "one core";

std::string describe(const TaskDescriptor& task) {
  const std::string name = fmt::format("function {:#x}", task.name());
  return task.has_timestamp ? fmt::format("{}, timestamp {}", name, task.timestamp) : name + ", no timestamp";
}

}  // namespace

TaskUnits::TaskUnits(const Params& p)
    : config_(p.config),
      host_(p.host),
      context_{.config = p.config,
               .timeline = p.timeline,
               .network = p.network,
               .memory = p.memory,
               .host = p.host,
               .rng = Rng(mix64(p.config.chip.seed) ^ 0x7a5c)} {
  const std::uint32_t per_tile = config_.task.task_queue * config_.chip.cores_per_tile;
  if (!config_.task.unlimited_queues && per_tile < 4) {
    throw UsageError("task.task_queue is {}: a tile needs at least 4 entries to make progress",
                     config_.task.task_queue);
  }
  if (config_.chip.cores_per_tile > kMaxCoresPerTile) {
    throw UsageError("chip.cores_per_tile is {}: expected at most {}", config_.chip.cores_per_tile,
                     kMaxCoresPerTile);
  }
  if (config_.task.mayspec != "mayspec")
    context_.mayspec_type = config_.task.mayspec == "spec" ? TaskType::spec : TaskType::nonspec;
  context_.mapper = make_task_mapper(config_.task.mapper, {.tiles = config_.tiles(),
                                                           .cores_per_tile = config_.chip.cores_per_tile,
                                                           .seed = mix64(config_.chip.seed)});
  if (config_.chip.cores > 1) {
    arbiter_ = std::make_unique<Arbiter>(p.config, p.timeline, p.network, p.host);
    context_.arbiter = arbiter_.get();
    if (p.speculation != nullptr) {
      cascade_ = std::make_unique<AbortCascade>(context_, *p.space, units_);
      promotion_ = std::make_unique<Promotion>(p.timeline, p.network, arbiter_->tile(), config_.tiles());
      context_.speculation = p.speculation;
      context_.account = p.account;
      context_.aborts = context_.cascade = cascade_.get();
      context_.promotion = promotion_.get();
      if (config_.task.throttle != "none") {
        trials_ = std::make_unique<SpeculationTrials>();
        context_.trials = trials_.get();
        arbiter_->consult(*trials_);
      }
    }
  }
  if (cascade_) {
    rule_ = std::make_unique<SpeculativeRule>();
  } else {
    rule_ = std::make_unique<NonSpeculativeRule>();
  }
  context_.rule = rule_.get();
  for (std::uint32_t t = 0; t < config_.tiles(); ++t) {
    units_.push_back(std::make_unique<TaskUnit>(
        context_, units_, TileId{t}, p.spill_base + t * p.spill_bytes_per_tile, p.spill_bytes_per_tile));
    units_of_cores_.insert(units_of_cores_.end(), config_.chip.cores_per_tile, units_.back().get());
    participants_.push_back(units_.back().get());
  }
  if (arbiter_) arbiter_->attach(participants_);
  if (promotion_) {
    std::vector<PromotionParticipant*> tiles;
    for (const auto& unit : units_) tiles.push_back(unit.get());
    promotion_->attach(std::move(tiles));
  }
}

void TaskUnits::register_stats(StatRegistry& registry) const {
  if (arbiter_) arbiter_->register_stats(registry);
  if (trials_) trials_->register_stats(registry);
  context_.profile.register_stats(registry);
  for (const auto& unit : units_) unit->register_stats(registry);
  register_totals(registry);
}

void TaskUnits::register_totals(StatRegistry& registry) const {
  const auto total = [&](const char* name, const char* description, std::uint64_t TileCounts::*count,
                         const std::uint64_t* more = nullptr, const char* unit_of_count = "tasks") {
    registry.total(name, unit_of_count, description, [this, count, more] {
      std::uint64_t sum = more == nullptr ? 0 : *more;
      for (const auto& unit : units_) sum += unit->state().counts.*count;
      return sum;
    });
  };
  total("tasks.created", "tasks created, before regions and in them", &TileCounts::created,
        &created_before_regions_);
  total("tasks.committed", "tasks whose effects are permanent", &TileCounts::committed);
  total("tasks.waited", "times that a task found its TaskGroup incomplete and was put back",
        &TileCounts::waited, nullptr, "times");
  total("tasks.nonspeculative", "tasks that ended as non-speculative ones", &TileCounts::nonspeculative);
  total("tasks.spilled", "tasks written to memory because a task queue was full", &TileCounts::spilled);
  total("tasks.aborted", "attempts that were aborted", &TileCounts::aborted, nullptr, "attempts");
  total("tasks.held_back",
        "core cycles without a task while task.throttle kept MAYSPEC tasks from speculating",
        &TileCounts::held_back, nullptr, "cycles");
  total("tasks.suspended_attempts.count",
        "attempts, and doomed runs, that left their cores, waiting in a capsule's system call",
        &TileCounts::suspended_attempts, nullptr, "runs");
  total("tasks.suspended_attempts.cycles", "they waited so, without a core, all together",
        &TileCounts::suspended_cycles, nullptr, "cycles");
  total("tasks.suspended_attempts.doomed", "attempts aborted while they waited so",
        &TileCounts::suspended_doomed, nullptr, "attempts");
  registry.total("tasks.promoted", "tasks", "tasks promoted to run non-speculatively",
                 [this] { return promotion_ ? promotion_->granted() : 0; });
}

void TaskUnits::observe(TaskObserver* observer) {
  context_.observer = observer;
  if (arbiter_) arbiter_->observe(observer);
}

// ---- Regions ----

void TaskUnits::create_before_region(const TaskDescriptor& task) {
  if (refuses(task)) throw UsageError("{} ({})", kNoSpeculation, describe(task));
  initial_.push_back(task);
  ++created_before_regions_;
}

void TaskUnits::begin_region(Cycle now, std::uint32_t spare_workers) {
  RUBATO_CHECK(!in_region(), "a region begins while another runs");
  active_ = arbiter_ == nullptr;
  is_accounting_ = true;
  ++regions_;
  for (auto& unit : units_) unit->begin_region(now, spare_workers);
  // A chain of batches for each tile and lane, in the order in which its tasks will be needed.
  std::vector<std::vector<Task*>> chains(units_.size() * kLanes);
  for (const TaskDescriptor& descriptor : initial_) {
    Task* task = context_.make_task(descriptor, 0);
    const TileId tile = context_.mapper->map(descriptor, TileId{0});
    chains[tile.value * kLanes + static_cast<unsigned>(task->lane())].push_back(task);
    if (context_.observer != nullptr) context_.observer->on_created(task->id, 0, descriptor, CoreId{0}, now);
  }
  initial_.clear();
  for (std::size_t i = 0; i < chains.size(); ++i) {
    std::sort(chains[i].begin(), chains[i].end(), [](const Task* a, const Task* b) {
      const TaskDescriptor &x = a->descriptor, &y = b->descriptor;
      if (x.has_timestamp && x.timestamp != y.timestamp) return x.timestamp < y.timestamp;
      return a->tie < b->tie;
    });
    units_[i / kLanes]->add_initial(chains[i]);
  }
  if (trials_) trials_->begin_region(now);
  if (arbiter_) arbiter_->begin_region(now);
}

// ---- Calls of cores ----

std::string TaskUnits::error_of(const Task* creator, const TaskDescriptor& task) const {
  if (creator == nullptr) {
    return fmt::format("a task ({}) was created during a region by a thread outside tasks", describe(task));
  }
  const TaskDescriptor& parent = creator->descriptor;
  if (refuses(task)) {
    return fmt::format("{} (the task with {} created one with {})", kNoSpeculation, describe(parent),
                       describe(task));
  }
  // The words are those of every engine; functions stand as addresses, which the fault's report turns into
  // names.
  const std::string creator_function = fmt::format("{:#x}", parent.name());
  const std::string child_function = fmt::format("{:#x}", task.name());
  const errors::Task child{child_function, task.timestamp};
  if (task.has_timestamp && !parent.has_timestamp) {
    return errors::timestamp_from_untimestamped({creator_function, std::nullopt}, child);
  }
  if (task.has_timestamp && task.timestamp < parent.timestamp) {
    return errors::earlier_timestamp({creator_function, parent.timestamp}, child);
  }
  return {};
}

CreateOutcome TaskUnits::create(CoreId core, const TaskDescriptor& task, Cycle now, std::string& error) {
  TaskUnit& unit = unit_of(core);
  const Task* creator = unit.running(core);
  if (creator == nullptr || refuses(task) ||
      (task.has_timestamp &&
       (!creator->descriptor.has_timestamp || task.timestamp < creator->descriptor.timestamp))) {
    // An error of a speculative task may be misspeculation: the task meets it again when it runs again (C8).
    if (creator == nullptr || creator->attempt == nullptr) error = error_of(creator, task);
    return CreateOutcome::exception;
  }
  return unit.create(core, task, now);
}

bool TaskUnits::dispatch(CoreId core, Cycle now, DispatchedTask& work) {
  if (!in_region()) return false;
  TaskUnit& unit = unit_of(core);
  if (unit.dispatch(core, now, work)) return true;
  // Without an arbiter the one core sees by itself that nothing is left.
  if (!arbiter_ && !unit.suspensions().any()) {
    RUBATO_CHECK(unit.report(now).empty, "the one core finds no task that may run");
    active_ = false;
    host_.end_region(now);
  }
  return false;
}

Cycle TaskUnits::step_internal(CoreId core, Cycle now) { return unit_of(core).step_internal(core, now); }

bool TaskUnits::finish(CoreId core, Cycle now, bool waits) { return unit_of(core).finish(core, now, waits); }

bool TaskUnits::exception(CoreId core, Cycle now, bool goes_on) {
  return unit_of(core).exception(core, now, goes_on);
}

bool TaskUnits::doom_task(TileId tile, std::uint64_t id, Cycle now) {
  const TaskUnit& unit = *units_[tile.value];
  const TileState& state = unit.state();
  Attempt* found = nullptr;
  for (std::uint32_t slot = 0; slot < state.cores; ++slot)
    if (const Task* const task = state.slots[slot].task;
        task != nullptr && task->id == id && host_.is_in_capsule(state.core_of(slot)))
      found = task->attempt;
  for (const SuspendedRun& run : unit.suspensions().runs())
    if (run.task != nullptr && run.task->id == id) found = run.attempt();
  if (found == nullptr) return false;
  cascade_->abort({&found, 1}, {AbortCause::conflict, LineAddr{}, found->core, found->task}, now);
  return true;
}

void TaskUnits::suspend(CoreId core, const DispatchedTask& what, Cycle now) {
  unit_of(core).suspend(core, what, now);
}

void TaskUnits::resume(TileId tile, std::uint64_t run, Cycle now) { units_[tile.value]->resume(run, now); }

bool TaskUnits::go_on_beside_suspended() {
  bool is_any = false;
  if (in_region())
    for (const auto& unit : units_) is_any |= unit->go_on_beside_suspended(context_.timeline.now());
  return is_any;
}

void TaskUnits::settle_attempts() {
  for (const auto& attempt : context_.attempts.all())
    if (attempt->task != nullptr) context_.settle(*attempt, CycleClass::aborted);
}

// ---- Reports ----

std::string TaskUnits::describe_waiting() const {
  std::string out;
  for (const auto& unit : units_) unit->describe_waiting(out);
  return out;
}

void TaskUnits::sample() {
  if (!is_accounting_ || !in_region()) return;
  ParallelismProfile::Instant instant;
  instant.region = regions_;
  for (const auto& unit : units_) unit->look(instant);
  parallelism_.add(instant);
}

VirtualTime TaskUnits::gvt() const { return arbiter_ ? arbiter_->gvt() : units_[0]->state().gvt(); }

std::uint64_t TaskUnits::committed() const {
  std::uint64_t sum = 0;
  for (const auto& unit : units_) sum += unit->state().counts.committed;
  return sum;
}

}  // namespace rubato::chip
