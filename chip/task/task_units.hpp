// All task hardware of the chip: a task unit a tile, the arbiter and the mapper, behind the one interface
// that cores see. Espresso, Sec. V-A, V-B; C6 to C18. Without a conflict detector nothing speculates: MAYSPEC
// runs as NONSPEC, SPEC is refused. The one-core chip has neither detector nor arbiter and runs the lowest
// task at once, whatever its type.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "chip/speculation/parallelism_profile.hpp"
#include "chip/task/task_unit.hpp"

namespace rubato::chip {

class TaskUnits final : public TaskSystem {
 public:
  /// Everything outlives the task units. `spill_base` (line-aligned) starts the untracked memory that tiles
  /// spill to, `spill_bytes_per_tile` each; it is used by address only.
  struct Params {
    const Config& config;  ///< resolved
    Timeline& timeline;
    Network& network;
    MemorySystem& memory;
    TaskHost& host;
    Addr spill_base;
    std::uint64_t spill_bytes_per_tile;
    /// All three, or none: tasks never speculate. Not used on one core.
    SpeculationControl* speculation = nullptr;
    CycleAccount* account = nullptr;
    AddressSpace* space = nullptr;
  };
  /// @throws UsageError if the configuration asks for what the task units cannot do.
  explicit TaskUnits(const Params& params);

  void register_stats(StatRegistry& registry) const;
  /// `observer` may be null. Call this before the first region.
  void observe(TaskObserver* observer);

  /// @throws UsageError for a SPEC task if nothing speculates.
  void create_before_region(const TaskDescriptor& task) override;
  void begin_region(Cycle now, std::uint32_t spare_workers) override;
  CreateOutcome create(CoreId core, const TaskDescriptor& task, Cycle now, std::string& error) override;
  bool dispatch(CoreId core, Cycle now, DispatchedTask& work) override;
  Cycle step_internal(CoreId core, Cycle now) override;
  bool finish(CoreId core, Cycle now, bool waits) override;
  bool exception(CoreId core, Cycle now, bool goes_on) override;
  void on_abort(CoreId core, const Handler& handler) override { unit_of(core).on_abort(core, handler); }
  void doom(CoreId core, AbortCause cause, Cycle now) override { unit_of(core).doom(core, cause, now); }
  void run_handler(CoreId core, const Handler& handler, Cycle now) override {
    unit_of(core).run_late_handler(handler, core, now);
  }
  void end_doomed(CoreId core, Cycle now) override { unit_of(core).end_doomed(core, now); }
  bool doom_task(TileId tile, std::uint64_t id, Cycle now) override;
  void suspend(CoreId core, const DispatchedTask& what, Cycle now) override;
  void resume(TileId tile, std::uint64_t run, Cycle now) override;
  /// The run, which is suspended on `tile`, is a doomed one.
  bool is_doomed(TileId tile, std::uint64_t run) const {
    return units_[tile.value]->suspensions().is_doomed(run);
  }
  std::string describe_waiting() const override;

  /// Nothing can proceed: starts tasks that wait only in order not to run beside suspended tasks. With
  /// speculation, attempts that wait in calls are aborted if earlier tasks lack their workers. False: there
  /// is no such task.
  bool go_on_beside_suspended();

  /// The run ends: attempts whose fate is open count as aborted, so that cycles add up.
  void settle_attempts();
  /// Brings every statistic up to date at a cycle that all cores have reached or wait at. Queues are looked
  /// at during regions only: from begin_region() to leave_region().
  void account_until(Cycle now) {
    if (!is_accounting_) return;
    for (auto& unit : units_) unit->account_until(now);
  }
  void leave_region(Cycle now) {
    account_until(now);
    is_accounting_ = false;
  }
  /// Injects a fault, so that tests see its effect.
  void inject(TaskFault fault) {
    context_.fault = fault;
    if (fault == TaskFault::ignore_locales)
      for (const auto& unit : units_) unit->ignore_locales();
  }
  void inject(CapsuleFault fault) { context_.capsule_fault = fault; }
  /// Conflict detection reports to this.
  AbortCascade* aborts() { return cascade_.get(); }

  /// As last broadcast; the lowest tile's on a one-core chip.
  VirtualTime gvt() const;
  /// Guest tasks whose effects are permanent.
  std::uint64_t committed() const;
  /// The region has ended: tasks that wait for TaskGroups that no task is left to complete. Mostly none.
  BlockedTasks left_waiting() const { return context_.waits.kept(); }
  const AbortProfile& abort_profile() const { return context_.profile; }
  /// Looks at what runs and waits, during regions.
  void sample();
  const ParallelismProfile& parallelism() const { return parallelism_; }
  const TaskUnit& unit(TileId tile) const { return *units_[tile.value]; }

 private:
  void register_totals(StatRegistry& registry) const;
  TaskUnit& unit_of(CoreId core) { return *units_of_cores_[core.value]; }
  bool refuses(const TaskDescriptor& task) const {
    return task.type == TaskType::spec && config_.chip.cores > 1 && !cascade_;
  }
  std::string error_of(const Task* creator, const TaskDescriptor& task) const;

  const Config& config_;
  TaskHost& host_;
  std::unique_ptr<DispatchRule> rule_;
  TaskContext context_;
  std::unique_ptr<Arbiter> arbiter_;
  std::vector<std::unique_ptr<TaskUnit>> units_;
  std::vector<TaskUnit*> units_of_cores_;  // each core's tile's: a division takes the host longer
  std::vector<RoundParticipant*> participants_;
  std::unique_ptr<AbortCascade> cascade_;      // null: nothing speculates
  std::unique_ptr<Promotion> promotion_;       // likewise
  std::unique_ptr<SpeculationTrials> trials_;  // null: MAYSPEC tasks are not throttled
  ParallelismProfile parallelism_;
  std::uint64_t regions_ = 0;  // that have begun
  std::vector<TaskDescriptor> initial_;
  std::uint64_t created_before_regions_ = 0;
  bool in_region() const { return arbiter_ ? arbiter_->in_region() : active_; }

  bool active_ = false;  ///< a region runs on the one-core chip
  bool is_accounting_ = false;
};

}  // namespace rubato::chip
