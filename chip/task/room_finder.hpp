// Choice of the attempt that makes room: it gives its core, its locale or its entry to an earlier task, or to
// a task that others may be waiting for. Espresso, Sec. V-A; C9, C13, C17. This class only finds the attempt;
// the task unit aborts it.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/check.hpp"
#include "chip/task/abort_handlers.hpp"
#include "chip/task/admission.hpp"
#include "chip/task/dispatch_choice.hpp"
#include "chip/task/rollbacks.hpp"
#include "chip/task/spiller.hpp"
#include "chip/task/suspensions.hpp"
#include "chip/task/tile_state.hpp"

namespace rubato::chip {

/// The attempt that an earlier task wants to be aborted.
struct Obstacle {
  Attempt* attempt = nullptr;
  AbortCause cause{};
  const Task* by = nullptr;  ///< null: not one task, but room for any
};

/// The resource that an attempt which may never end keeps from others.
enum class ScarceResource : std::uint8_t { core, locale };

class RoomFinder {
 public:
  RoomFinder(TileState& state, const Admission& admission, const AbortHandlers& handlers,
             const Spiller& spiller, const Suspensions& suspensions, const Rollbacks& rollbacks)
      : state_(state),
        admission_(admission),
        handlers_(handlers),
        spiller_(spiller),
        suspensions_(suspensions),
        rollbacks_(rollbacks) {}

  /// At least one core is free, or soon will be, for a guest task.
  bool has_core() const { return (state_.states.asking() & suspensions_.may_run_guest()) != 0; }
  /// Something waits for an entry of the queue, spilled tasks or abort handlers to be read, or a promoted one
  /// to start.
  bool has_unmet_requests() const {
    return admission_.has_waiting() || spiller_.has_refills() || state_.promoted != nullptr ||
           handlers_.any();
  }

  // Quick predicates: nearly always enough.
  /// All tasks here have timestamps, and nothing waits for anything but a core or a locale: mostly so.
  bool is_plain() const {
    const bool is = !has_unmet_requests() && !suspensions_.any() &&
                    state_.queue.idle(Lane::timestamped) == state_.queue.guests();
    RUBATO_DCHECK(!is || has_timestamped_only(), "a plain tile has tasks of another lane");
    return is;
  }
  /// For a plain tile; `has_free`: it has a task with a free locale. @returns false if find() would find
  /// nothing.
  bool may_have_obstacle(bool has_free) const {
    for (std::uint32_t rest = state_.queue.waited_slots(); rest != 0; rest &= rest - 1) {
      const auto slot = static_cast<std::uint32_t>(std::countr_zero(rest));
      const Task* const waiter = state_.queue.waiter(slot, Lane::timestamped);
      if (waiter != nullptr && waiter->order < state_.yields_before[slot]) return true;
    }
    if (!has_free || has_core()) return false;
    const Timestamp first = state_.queue.earliest_free_order(Lane::timestamped);
    return first <= state_.gvt().timestamp || state_.precedes_all_running(first);
  }
  /// True if find() would find nothing.
  bool is_unobstructed(const Candidates& candidates) const {
    const bool is = looks_unobstructed(candidates);
    RUBATO_DCHECK(!is || find(candidates).attempt == nullptr, "an obstacle is overlooked");
    return is;
  }

  /// Without an attempt: none must go.
  Obstacle find(const Candidates& candidates) const;
  /// The latest attempt that waits in a call, if nothing proceeds and the tile has no worker for an earlier
  /// task, or for a handler.
  Obstacle at_worker(const Candidates& candidates) const;
  /// The latest of the attempts that could be spilled if they were idle. The GVT does not wait for it, or it
  /// has no core to go on.
  Attempt* latest_spillable() const;

  // Patience with attempts that may never end.
  /// A core asks for work.
  void count_ask() { ++asks_; }
  /// If an attempt that may never end blocks a waiting task, schedules an event that looks again.
  void start_patience(const Candidates& candidates, Cycle now) {
    start_patience(ScarceResource::core, candidates, now);
    start_patience(ScarceResource::locale, candidates, now);
  }
  /// The event of start_patience(). @returns an obstacle that was there all the time, or one without an
  /// attempt.
  Obstacle end_patience(ScarceResource resource, const Candidates& candidates);

 private:
  struct Patience {
    static constexpr Latency kMost = 16384, kLeast = 1024;
    Latency length = kMost;     ///< halved where it was in vain, else as at the beginning
    bool is_scheduled = false;  ///< its end
    VirtualTime attempt{};      ///< with which
    std::uint32_t asks = 0;     ///< of cores, before
  };
  /// The queue's part of is_plain(), found lane by lane.
  bool has_timestamped_only() const {
    return state_.queue.idle(Lane::timestamped_nonspec) == 0 && !state_.has_idle_untimed() &&
           state_.queue.earliest_aside() == nullptr;
  }
  bool looks_unobstructed(const Candidates& candidates) const {
    if (has_unmet_requests() || state_.queue.waited_slots() != 0 || suspensions_.has_resumable())
      return false;
    const Task* const first = candidates.first.task;
    if (first == nullptr) return candidates.earliest == nullptr;
    return has_core() || (first->descriptor.has_timestamp && first->order > state_.gvt().timestamp &&
                          !state_.precedes_all_running(first->order));
  }
  void start_patience(ScarceResource resource, const Candidates& candidates, Cycle now);
  Patience& patience(ScarceResource resource) { return patience_[static_cast<std::size_t>(resource)]; }
  Obstacle perhaps_endless(ScarceResource resource, const Candidates& candidates) const;
  Obstacle at_locale(const Candidates& candidates) const;
  Obstacle at_core(const Candidates& candidates) const;
  Obstacle at_entry() const;
  bool may_run(const Task& task, const Candidates& candidates) const {
    return state_.context.rule->may_run(task, candidates.view) != RunMode::none;
  }
  /// The task that holds the locale of `slot`, of a core or of a suspended task.
  const Task* holder(std::uint32_t slot) const {
    return slot < kMaxCoresPerTile ? state_.slots[slot].task : suspensions_.holder(slot);
  }
  bool has_core_for_suspended() const;
  Attempt* latest_waiting() const;
  const Task* untimestamped_waiting(const Candidates& candidates) const;
  const Task* untimestamped_waiter(std::uint32_t slot, const Candidates& candidates) const;

  TileState& state_;
  const Admission& admission_;
  const AbortHandlers& handlers_;
  const Spiller& spiller_;
  const Suspensions& suspensions_;
  const Rollbacks& rollbacks_;
  std::uint32_t asks_ = 0;
  std::array<Patience, 2> patience_;  // by resource
};

}  // namespace rubato::chip
