// The task unit's commits: when the GVT has passed them, attempts become final, and their children hear of
// it. Espresso, Sec. V-A; C9, C17.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/prefetch.hpp"
#include "chip/task/task_unit.hpp"

namespace rubato::chip {

namespace {

/// Software prefetch for commits: attempts that commit are cold, for they ran long ago. In steps, each of
/// which prefetches the data that the next one reads.
void prefetch_commits(const SpeculationControl& control, std::span<Attempt* const> attempts) {
  if constexpr (!kHostHints) return;
  for (const Attempt* a : attempts) prefetch<sizeof *a>(a);
  for (const Attempt* a : attempts) {
    prefetch<Task::kUsedAtCommit>(a->task);
    prefetch(a->reads.data());
    prefetch(a->writes.data());
    prefetch(a->children.data());
  }
  for (const Attempt* a : attempts) {
    control.prefetch_end(*a);
    for (const Task* child : a->children) prefetch<Task::kFirstUsed>(child);
  }
}

}  // namespace

void TaskUnit::advance_earliest(Cycle now) {
  const VirtualTime gvt = state_.gvt();
  state_.account_commits(now);
  const std::span<Attempt* const> decided = state_.commit_queue.before(gvt, context_.decided);
  prefetch_commits(*context_.speculation, decided);
  for (Attempt* attempt : decided)
    if (attempt->state == Attempt::State::finished) commit(attempt, now);
  context_.wake_waiting_for_fate(now);
  for (std::uint32_t slot = 0; slot < state_.cores; ++slot)
    if (state_.states[slot] == CoreState::running && state_.slots[slot].task->attempt != nullptr)
      become_nonspeculative(slot, now);
  if (suspensions_.any())  // P51: they hold no core, and their capsules go on as non-speculative tasks'
    for (const SuspendedRun& run : suspensions_.runs())
      if (Attempt* const attempt = run.attempt(); attempt != nullptr && need_not_speculate(*attempt))
        commit_in_place(attempt, now);
  commit_room_.wake_finishing(now);
  state_.commit_queue.for_each_exceptioned([&](const Attempt* attempt) {
    if (attempt->virtual_time.timestamp <= gvt.timestamp) state_.reconsider_later(now);
  });
  if (state_.has_stalled_attempt()) state_.reconsider_later(now);
}

void TaskUnit::collect_decided(VirtualTime gvt, std::vector<Attempt*>& out) const {
  const auto& attempts = state_.commit_queue.attempts();
  for (std::size_t i = 0; i < attempts.size(); ++i)
    if (state_.commit_queue.times()[i] < gvt && attempts[i]->state == Attempt::State::finished)
      out.push_back(attempts[i]);
}

void TaskUnit::commit(Attempt* attempt, Cycle now) {
  Task* task = attempt->task;
  state_.commit_queue.remove(attempt);
  context_.speculation->commit(*attempt);
  drop_handlers(*attempt, CapsuleFault::handler_after_commit, now);
  context_.settle(*attempt, CycleClass::committed);
  commit_children(*attempt, now);
  if (Task* parent = task->uncommitted_parent; parent != nullptr)
    std::erase(parent->attempt->children, task);  // decided as well, but its tile does not know yet
  state_.account_occupancy(now);
  state_.queue.release_active(*task);
  count_commit(*task);
  context_.host.retire(*attempt, true);
  context_.attempts.release(attempt);
  context_.pool.release(task);
  context_.arbiter->arm(now);
}

void TaskUnit::count_commit(const Task& task) {
  if (!task.waits) {
    ++state_.counts.committed;
    choice_.committed(task);
    return context_.waits.progressed(context_.next_id);
  }
  ++state_.counts.waited;
  if (!context_.waits.waited(task, context_.pool)) return;
  const auto blocked = context_.waits.look(context_.pool);
  if (!blocked) return;
  if (!blocked->has_suspended) return context_.host.no_progress(blocked->sentence(), blocked->details());
  // Suspended tasks go on when time has passed, or when other tasks wake them; no such task is left.
  const bool goes_on = std::any_of(tiles_.begin(), tiles_.end(),
                                   [](const auto& t) { return t->suspensions_.has_resumable(); });
  if (!goes_on && !context_.host.awaits_time()) context_.host.no_progress({}, {});
}

// Children hear of it at once; the messages are counted, and wake their tiles when they arrive.
void TaskUnit::commit_children(Attempt& attempt, Cycle now) {
  for (Task* child : attempt.children) {
    if (child->state == TaskState::held) {
      state_.account_occupancy(now);
      state_.queue.unhold(child);
      child->uncommitted_parent = nullptr;
      release_held(child, now);
    } else if (child->state == TaskState::in_flight) {
      child->uncommitted_parent = nullptr;
      // A child that was refused because its parent was uncommitted may have an entry now.
      TaskUnit& unit = *tiles_[child->destination.value];
      if (unit.admission_.has_refused(*child))
        unit.state_.reconsider_later(state_.send_word(child->destination, now));
    } else {
      TaskUnit& unit = *tiles_[child->tile.value];
      unit.parent_committed(child);
      const Cycle arrival = state_.send_word(child->tile, now);
      if (unit.awaits_commits()) unit.state_.reconsider_later(arrival);
    }
  }
  attempt.children.clear();
  attempt.held_children = 0;
}

void TaskUnit::parent_committed(Task* child) {
  state_.touch();
  state_.queue.parent_committed(*child);
  child->uncommitted_parent = nullptr;
}

// A NONSPEC child may go where it runs.
void TaskUnit::release_held(Task* task, Cycle now) {
  if (task->destination == state_.tile) {
    state_.account_occupancy(now);
    ++state_.counts.local;
    accept(task, now);
  } else {
    admission_.send_held(task, now);
  }
}

}  // namespace rubato::chip
