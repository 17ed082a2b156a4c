// The choice of work for a free core of a tile. Espresso, Sec. V-A, V-B; C9, C10, C11, C13. It only looks;
// the task unit starts the work.
//
// Order of the work for a free core:
//   1. a suspended task that may go on;
//   2. a spill, if the queue is at its threshold and there is a batch to spill, or fewer and no room: at once
//      if something waits for an entry, else taking turns with guest tasks, so that spilling never starves
//      what can run;
//   3. an abort handler, if no promotion is being served: P45;
//   4. the earliest guest task that may run; no attempt, if a handler waits;
//   5. a refill, if its tasks are needed now, or fit below the threshold with those of running
//      refills; before 4 if it has earlier tasks.
//
// The throttle belongs to the choice: nothing else asks it. It learns from commits and aborts of the tile.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "chip/task/abort_handlers.hpp"
#include "chip/task/admission.hpp"
#include "chip/task/blocked_children.hpp"
#include "chip/task/commit_room.hpp"
#include "chip/task/dispatch_choice.hpp"
#include "chip/task/room_finder.hpp"
#include "chip/task/speculation_throttle.hpp"
#include "chip/task/spiller.hpp"
#include "chip/task/suspensions.hpp"
#include "chip/task/tile_state.hpp"

namespace rubato::chip {

class WorkChoice {
 public:
  WorkChoice(TileState& state, const Admission& admission, const AbortHandlers& handlers,
             const Spiller& spiller, const Suspensions& suspensions, const CommitRoom& commit_room,
             const RoomFinder& room);
  void begin_region() { is_holding_ = false; }

  /// The knowledge of the tile with which the dispatch rule decides.
  TileView view() const {
    return {state_.gvt(), state_.is_stopped, suspensions_.keeps_spec_waiting(),
            hold_from(),  throttle_.get(),   reach()};
  }
  /// Sets throttled tasks and blocked children aside.
  Candidates candidates();
  /// On a plain tile: the candidates before any task is throttled. For checks; it changes nothing.
  Candidates plain_candidates() const;
  /// For the core of `slot`.
  Choice choose(std::uint32_t slot);
  /// As choose(), with the first candidate. @param guest_may_run the core has a worker for it.
  Choice choose(const Choice& guest, bool guest_may_run) const;

  // Results of the last look at the candidates.
  /// A MAYSPEC task may not run now, or that was not looked at.
  bool is_holding() const { return is_holding_; }
  /// A SPEC task waits until no task of the tile is suspended.
  bool is_spec_waiting() const { return is_spec_waiting_; }
  /// The candidates need not be looked at: a core that will soon ask does so.
  void skip() { is_holding_ = true; }
  /// The same, and no task of the tile is suspended.
  void skip_plain() {
    is_holding_ = true;
    is_spec_waiting_ = false;
  }

  /// Nothing else was found to run: see BlockedChildren::poll().
  void poll_blocked(Cycle now) { blocked_.poll(now); }

  // Lessons for the throttle and the trials; none where nothing is throttled.
  void committed(const Task& task);
  /// An attempt of a MAYSPEC task met another task in memory, or had used data of one that did.
  void aborted(const Task& task);

 private:
  SpeculationReach reach() const {
    return throttle_ != nullptr ? state_.context.arbiter->reach_at(state_.tile) : SpeculationReach::free;
  }
  std::optional<Timestamp> hold_from() const {
    if (spiller_.spilled_tasks() == 0) return std::nullopt;
    return commit_room_.hold_from(commit_room_.has_started_many() && spiller_.has_earliest_spilled());
  }
  Choice choose_beside_handlers(const Choice& guest) const;
  Choice choose_beside_refills(const Choice& guest) const;

  bool is_holding_ = false;
  bool is_spec_waiting_ = false;
  TileState& state_;
  const Admission& admission_;
  const AbortHandlers& handlers_;
  const Spiller& spiller_;
  const Suspensions& suspensions_;
  const CommitRoom& commit_room_;
  const RoomFinder& room_;
  std::unique_ptr<SpeculationThrottle> throttle_;  // null: none
  BlockedChildren blocked_{state_};
};

}  // namespace rubato::chip
