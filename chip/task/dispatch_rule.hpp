// Whether and how a task may run (C10, C11). Locales and the order among candidates are the task queue's.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "chip/task/speculation_throttle.hpp"
#include "chip/task/task_record.hpp"

namespace rubato::chip {

/// How far ahead of the GVT MAYSPEC tasks may speculate, chip-wide: see speculation_trials.hpp.
enum class SpeculationReach : std::uint8_t { free, limited, none };

enum class RunMode : std::uint8_t { none, non_speculative, speculative };

/// The state of the rest of the chip, as a tile knows it.
struct TileView {
  VirtualTime gvt{};           ///< as last broadcast to the tile
  bool is_stopped = false;     ///< a promotion is being served: no non-speculative task starts
  bool has_suspended = false;  ///< tasks of the tile wait in system calls
  /// If set: attempts of this timestamp or a later one gain nothing. They would find the commit queue full of
  /// earlier ones, or there is enough to do at the GVT's timestamp.
  std::optional<Timestamp> hold_from{};
  const SpeculationThrottle* throttle = nullptr;  ///< null: none
  SpeculationReach reach = SpeculationReach::limited;

  /// The task may not speculate, being too far ahead; those of the GVT's timestamp never are.
  bool throttles(const Task& task) const {
    if (throttle == nullptr || reach == SpeculationReach::free) return false;
    return task.descriptor.type == TaskType::mayspec && task.order > gvt.timestamp &&
           (reach == SpeculationReach::none ||
            !throttle->admits(task.descriptor, task.order - gvt.timestamp));
  }
};

/// Contract: depends on the task and on what the tile knows only. If a task may not run, none later in its
/// lane is asked about: it is asked about again when the tile's GVT has another timestamp.
class DispatchRule {
 public:
  virtual ~DispatchRule() = default;
  virtual RunMode may_run(const Task& task, const TileView& view) const = 0;
};

/// C10 without speculation: parents are always non-speculative and no promotion is ever served, so a task may
/// run if it has no timestamp or that of the earliest active task. MAYSPEC runs as NONSPEC. A SPEC task runs
/// alone from its beginning, as a promoted one does (C18): it may wait for a mutex that a suspended task
/// holds, and no other task goes on before it ends.
class NonSpeculativeRule final : public DispatchRule {
 public:
  RunMode may_run(const Task& task, const TileView& view) const override {
    const TaskDescriptor& d = task.descriptor;
    const bool ready = (!d.has_timestamp || d.timestamp <= view.gvt.timestamp) &&
                       (d.type != TaskType::spec || !view.has_suspended);
    return ready ? RunMode::non_speculative : RunMode::none;
  }
};

/// C10, C11: SPEC tasks always speculate. MAYSPEC tasks speculate if a NONSPEC task could not run, with three
/// exceptions: their core would only stall with them at the end, the tasks they create would only be spilled,
/// or they would only be aborted once more. The core is then better kept for tasks that need not speculate.
class SpeculativeRule final : public DispatchRule {
 public:
  RunMode may_run(const Task& task, const TileView& view) const override {
    const TaskDescriptor& d = task.descriptor;
    if (d.type != TaskType::spec && !view.is_stopped && task.uncommitted_parent == nullptr &&
        (!d.has_timestamp || d.timestamp <= view.gvt.timestamp))
      return RunMode::non_speculative;
    if (d.type == TaskType::nonspec) return RunMode::none;
    // A SPEC child of an untimestamped non-speculative task appears after it: it is dispatched after its end.
    if (task.waits_for_creator()) return RunMode::none;
    if (d.type == TaskType::mayspec && task.order > view.gvt.timestamp &&
        ((view.hold_from && task.order >= *view.hold_from) || task.speculates_from > view.gvt.timestamp ||
         view.throttles(task)))
      return RunMode::none;
    return RunMode::speculative;
  }
};

}  // namespace rubato::chip
