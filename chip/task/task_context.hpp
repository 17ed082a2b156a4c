// The common state of all task units of a chip, and the events that they schedule for themselves and each
// other.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/rng.hpp"
#include "chip/capsule/capsule_fault.hpp"
#include "chip/config/config.hpp"
#include "chip/noc/network.hpp"
#include "chip/speculation/abort_profile.hpp"
#include "chip/speculation/speculation_control.hpp"
#include "chip/speculation/task_observer.hpp"
#include "chip/speculation/task_system.hpp"
#include "chip/task/abort_cascade.hpp"
#include "chip/task/arbiter.hpp"
#include "chip/task/attempt_pool.hpp"
#include "chip/task/core_states.hpp"
#include "chip/task/dispatch_rule.hpp"
#include "chip/task/group_waits.hpp"
#include "chip/task/promotion.hpp"
#include "chip/task/speculation_trials.hpp"
#include "chip/task/task_fault.hpp"
#include "chip/task/task_mapper.hpp"
#include "chip/task/task_pool.hpp"
#include "chip/time/timeline.hpp"
#include "chip/vocabulary/memory_system.hpp"

namespace rubato::chip {

/// Events that task units schedule, for themselves and for each other; the payload is tile << 32 | slot of
/// the send buffer of that tile.
enum class TaskEvent : std::uint32_t {
  create_arrives,    ///< at the destination
  granted_arrives,   ///< the same, sent again after a grant
  accepted_arrives,  ///< acknowledgement at the creator's tile
  refused_arrives,   ///< the destination is full and will grant an entry later
  grant_arrives,     ///< it has one now
  borrowed_step,     ///< next step of a spill on a stalled core of the tile
  rollback_step,     ///< next step of a rollback; slot: the attempt's number
  reconsider,        ///< an attempt may have to make room for an earlier task, or an idle core has work
  patience_ends,     ///< with an attempt that blocks a core or a locale; slot: a Need
};

/// The common state of all task units of a chip.
struct TaskContext {
  const Config& config;
  Timeline& timeline;
  Network& network;
  MemorySystem& memory;
  TaskHost& host;
  Arbiter* arbiter = nullptr;  ///< null on a one-core chip
  const DispatchRule* rule = nullptr;
  TaskObserver* observer = nullptr;
  AbortProfile profile{};
  SpeculationControl* speculation = nullptr;  ///< null: nothing speculates
  CycleAccount* account = nullptr;            ///< with `speculation`
  Aborter* aborts = nullptr;                  ///< with `speculation`
  AbortCascade* cascade = nullptr;            ///< the same, for exceptions
  Promotion* promotion = nullptr;             ///< with `speculation`
  SpeculationTrials* trials = nullptr;        ///< with `speculation`, where MAYSPEC tasks may be throttled
  std::optional<TaskType> mayspec_type{};     ///< what MAYSPEC tasks are run as, if not as themselves
  /// The type as which a task of type `type` is run. Observers see the task as the program created it.
  TaskType runs_as(TaskType type) const {
    return type == TaskType::mayspec && mayspec_type ? *mayspec_type : type;
  }
  std::vector<EventHandler*> units{};  ///< the task units, by tile
  TaskPool pool{};
  AttemptPool attempts{};
  GroupWaits waits{};
  std::vector<CoreId> waiting_for_fate{};  ///< blocked accesses (C12)
  std::vector<Attempt*> decided{};         ///< scratch of a unit's commits
  std::unique_ptr<TaskMapper> mapper{};
  Rng rng;
  std::uint64_t next_id = 1;
  TaskFault fault = TaskFault::none;
  CapsuleFault capsule_fault = CapsuleFault::none;
  /// The state of a core that begins a doomed run.
  CoreState doomed_state() const {
    return capsule_fault == CapsuleFault::doom_frees_core ? CoreState::idle : CoreState::doomed;
  }

  /// A record for `descriptor`, created now: id and tie are given in order of creation.
  Task* make_task(const TaskDescriptor& descriptor, std::uint64_t parent);
  /// The attempt's fate is known: its cycles, on all cores that it ran on, become those of `fate`.
  void settle(Attempt& attempt, CycleClass fate);
  /// Attempts committed or aborted: blocked accesses may go on.
  void wake_waiting_for_fate(Cycle now);
};

}  // namespace rubato::chip
