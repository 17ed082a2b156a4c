// The cascade of abort_cascade.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/abort_cascade.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/task/task_unit.hpp"

namespace rubato::chip {

void AbortCascade::doom(Attempt* attempt, const AbortReason& reason) {
  if (attempt->is_victim) return;
  const bool met_others = reason.cause == AbortCause::conflict || reason.cause == AbortCause::dependence;
  if (context_.capsule_fault == CapsuleFault::suspended_not_aborted && met_others &&
      attempt->state == Attempt::State::suspended)
    return;
  attempt->is_victim = true;
  victims_.push_back({attempt, reason});
}

// A parent's abort notification takes its children, whatever they do (Fig. 6(b)).
void AbortCascade::doom_children(Attempt& attempt, Cycle now) {
  AbortReason reason{AbortCause::parent, LineAddr{}, attempt.core, attempt.task};
  for (Task* child : attempt.children) {
    if (fault_ == AbortFault::forget_child && child->attempt != nullptr) {
      tiles_[child->tile.value]->parent_committed(child);
      continue;
    }
    if (child->state != TaskState::held && child->state != TaskState::in_flight)
      context_.network.send(attempt.tile, child->tile, {message::kAcknowledgement, TrafficClass::abort}, now);
    if (child->state == TaskState::running || child->state == TaskState::finished ||
        child->state == TaskState::exceptioned)
      doom(child->attempt, reason);
    discarded_.push_back(child);
  }
  attempt.children.clear();
  attempt.held_children = 0;
}

// The restoring stores are conflicts with all later accesses: attempts that used the values are aborted too.
void AbortCascade::doom_dependents(const Attempt& attempt, Cycle now) {
  if (fault_ == AbortFault::forget_dependent) return;
  LineAddr previous{~std::uint64_t{0}};
  for (const Probe& written : attempt.writes) {
    const LineAddr line = written.line;
    if (line == previous) continue;
    previous = line;
    later_.clear();
    context_.speculation->later_accessors(attempt.tile, line, attempt.virtual_time, later_);
    for (Attempt* dependent : later_) {
      if (dependent->is_victim) continue;
      context_.network.send(attempt.tile, dependent->tile,
                            {message::kRequest + message::kVirtualTime, TrafficClass::abort}, now);
      doom(dependent, {AbortCause::dependence, line, attempt.core, attempt.task});
    }
  }
}

// conflict.selective_aborts=false: all later attempts are aborted too, whatever they have used, except those
// about to commit.
void AbortCascade::doom_all_later() {
  if (victims_.empty()) return;  // with a fault
  const Victim& earliest = *std::min_element(
      victims_.begin(), victims_.end(),
      [](const auto& a, const auto& b) { return a.attempt->virtual_time < b.attempt->virtual_time; });
  const AbortReason reason{AbortCause::dependence, earliest.reason.line, earliest.attempt->core,
                           earliest.attempt->task};
  later_.clear();
  context_.speculation->later_attempts(earliest.attempt->virtual_time, later_);
  for (Attempt* attempt : later_)
    if (!is_fate_pending(*attempt)) doom(attempt, reason);
}

// Everything that goes with victims_; then memory as it was before the earliest of them.
void AbortCascade::close(Cycle now) {
  if (!context_.config.conflict.selective_aborts) doom_all_later();
  for (std::size_t i = 0; i < victims_.size(); ++i) {
    Attempt& attempt = *victims_[i].attempt;
    doom_children(attempt, now);
    doom_dependents(attempt, now);
  }
  std::sort(victims_.begin(), victims_.end(), [](const Victim& a, const Victim& b) {
    return b.attempt->virtual_time < a.attempt->virtual_time;
  });
  if (fault_ == AbortFault::undo_in_wrong_order) std::reverse(victims_.begin(), victims_.end());
  for (const Victim& v : victims_) restore(*v.attempt);
  for (Task* child : discarded_) tiles_[child->tile.value]->discard(child, now);
  discarded_.clear();
}

void AbortCascade::restore(const Attempt& attempt) {
  if (attempt.state == Attempt::State::exceptioned && attempt.is_rolling_back) return;  // done before
  for (auto entry = attempt.undo.rbegin(); entry != attempt.undo.rend(); ++entry) {
    if (fault_ == AbortFault::forget_undo && entry == attempt.undo.rbegin()) continue;
    memory_.store(entry->address, entry->old_value);
  }
}

void AbortCascade::abort(std::span<Attempt* const> victims, const AbortReason& cause, Cycle now) {
  RUBATO_CHECK(victims_.empty(), "an abort begins inside another");
  AbortReason reason = cause;
  if (reason.cause == AbortCause::conflict && reason.by_task == nullptr) {
    TaskUnit& aborter = *tiles_[reason.by.value / context_.config.chip.cores_per_tile];
    reason.by_task = aborter.running(reason.by);
    reason.speculates_from = aborter.count_aborts(reason.by, victims.size());
  }
  for (Attempt* attempt : victims) doom(attempt, reason);
  close(now);
  for (const Victim& v : victims_) tiles_[v.attempt->tile.value]->abort(v.attempt, v.reason, now);
  victims_.clear();
  context_.wake_waiting_for_fate(now);
}

void AbortCascade::except(Attempt& attempt, Cycle now) {
  RUBATO_CHECK(victims_.empty(), "an exception inside an abort");
  const AbortReason reason{AbortCause::exception, LineAddr{}, attempt.core, attempt.task};
  doom(&attempt, reason);
  close(now);
  for (const Victim& v : victims_)
    if (v.attempt != &attempt) tiles_[v.attempt->tile.value]->abort(v.attempt, v.reason, now);
  victims_.clear();
  attempt.is_victim = false;
  tiles_[attempt.tile.value]->except(&attempt, reason, now);
  context_.wake_waiting_for_fate(now);
}

bool AbortCascade::is_fate_pending(const Attempt& attempt) const {
  return attempt.state == Attempt::State::finished &&
         context_.arbiter->is_deciding(attempt.tile, attempt.virtual_time);
}

bool AbortCascade::is_decided(const Attempt& attempt) const {
  return attempt.state == Attempt::State::finished && attempt.virtual_time < context_.arbiter->sampled();
}

void AbortCascade::wait_for_fate(CoreId core) {
  context_.waiting_for_fate.push_back(core);
  tiles_[core.value / context_.config.chip.cores_per_tile]->on_blocked(context_.timeline.now());
}

VirtualTime AbortCascade::gvt_at(TileId tile) const { return context_.arbiter->gvt_at(tile); }

}  // namespace rubato::chip
