// The task unit's commits: when the GVT has passed them, attempts become final, and their children hear of
// it. Espresso, Sec. V-A; C9, C17.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "base/prefetch.hpp"
#include "chip/task/task_unit.hpp"

namespace rubato::chip {

/// Attempts that commit were long ago: what they refer to has left the host's nearest caches. In steps, of
/// which each asks for what the next one reads.
void TaskUnit::prefetch_commits(std::span<Attempt* const> attempts) const {
  for (const Attempt* a : attempts) prefetch<sizeof *a>(a);
  for (const Attempt* a : attempts) {
    prefetch<Task::kFirstUsed>(a->task);
    prefetch(a->reads.data());
    prefetch(a->writes.data());
    prefetch(a->children.data());
  }
  for (const Attempt* a : attempts) {
    context_.detector->prefetch_end(*a);
    for (const Task* child : a->children) prefetch<Task::kFirstUsed>(child);
  }
}

void TaskUnit::advance_earliest(Cycle now) {
  const VirtualTime gvt = this->gvt();
  account_commits(now);
  const std::span<Attempt* const> decided = commit_queue_.before(gvt, context_.decided);
  prefetch_commits(decided);
  for (Attempt* attempt : decided)
    if (attempt->state == Attempt::State::finished) commit(attempt, now);
  context_.wake_waiting_for_fate(now);
  for (std::uint32_t slot = 0; slot < cores_; ++slot)
    if (states_[slot] == CoreState::running && slots_[slot].task->attempt != nullptr)
      become_nonspeculative(slot, now);
  wake_finishing(now);
  commit_queue_.for_each_exceptioned([&](const Attempt* attempt) {
    if (attempt->virtual_time.timestamp <= gvt.timestamp) reconsider_later(now);
  });
  if (stalled_attempts_ != 0) reconsider_later(now);
}

void TaskUnit::collect_decided(VirtualTime gvt, std::vector<Attempt*>& out) const {
  const auto& attempts = commit_queue_.attempts();
  for (std::size_t i = 0; i < attempts.size(); ++i)
    if (commit_queue_.times()[i] < gvt && attempts[i]->state == Attempt::State::finished)
      out.push_back(attempts[i]);
}

void TaskUnit::commit(Attempt* attempt, Cycle now) {
  Task* task = attempt->task;
  commit_queue_.remove(attempt);
  context_.detector->commit(*attempt);
  drop_handlers(*attempt);
  context_.account->settle(attempt->cycles, CycleClass::committed);
  commit_children(*attempt, now);
  if (Task* parent = task->uncommitted_parent; parent != nullptr)
    std::erase(parent->attempt->children, task);  // decided as well, but its tile does not know yet
  account_occupancy(now);
  queue_.release_active(*task);
  count_commit(*task);
  context_.host.retire(*attempt, true);
  context_.attempts.release(attempt);
  context_.pool.release(task);
  context_.arbiter->arm(now);
}

void TaskUnit::count_commit(const Task& task) {
  if (!task.waits) {
    ++stats_.committed;
    if (throttle_ != nullptr) throttle_->committed(task.descriptor);
    return context_.waits.progressed(context_.next_id);
  }
  ++stats_.waited;
  if (!context_.waits.waited(task, context_.pool)) return;
  const auto blocked = context_.waits.look(context_.pool);
  if (!blocked) return;
  if (!blocked->has_suspended) return context_.host.no_progress(blocked->sentence(), blocked->details());
  // These go on when time has passed, or when others wake them, of whom none is left.
  const bool goes_on =
      std::any_of(tiles_.begin(), tiles_.end(), [](const auto& t) { return t->has_resumable(); });
  if (!goes_on && !context_.host.awaits_time()) context_.host.no_progress({}, {});
}

// Children hear of it at once; the messages are counted, and wake their tiles when they arrive.
void TaskUnit::commit_children(Attempt& attempt, Cycle now) {
  for (Task* child : attempt.children) {
    if (child->state == TaskState::held) {
      account_occupancy(now);
      queue_.unhold(child);
      child->uncommitted_parent = nullptr;
      release_held(child, now);
    } else if (child->state == TaskState::in_flight) {
      child->uncommitted_parent = nullptr;
      // Where it was refused as a child of an uncommitted parent it may now have an entry.
      TaskUnit& unit = *tiles_[child->destination.value];
      if (unit.refused(*child)) unit.reconsider_later(send_word(child->destination, now));
    } else {
      TaskUnit& unit = *tiles_[child->tile.value];
      unit.parent_committed(child);
      const Cycle arrival = send_word(child->tile, now);
      if (unit.awaits_commits()) unit.reconsider_later(arrival);
    }
  }
  attempt.children.clear();
  attempt.held_children = 0;
}

void TaskUnit::parent_committed(Task* child) {
  touch();
  queue_.parent_committed(*child);
  child->uncommitted_parent = nullptr;
}

// A NONSPEC child may go where it runs. It keeps its entry here until the send buffer has one.
void TaskUnit::release_held(Task* task, Cycle now) {
  if (task->destination == tile_) {
    account_occupancy(now);
    ++stats_.local;
    accept(task, now);
  } else {
    queue_.hold(task);
    await_send_buffer(now);
    commit_sends_.push_back(task);
    serve_commit_sends(now);
  }
}

// The last entry of the send buffer too is for the earliest: its destination keeps a place for it, so it
// leaves soon. And for those without a timestamp, which are never the earliest and may be what that waits
// for: theirs makes room.
void TaskUnit::serve_commit_sends(Cycle now) {
  while (!commit_sends_.empty()) {
    const auto next = std::find_if(commit_sends_.begin(), commit_sends_.end(), [&](const Task* t) {
      const TaskDescriptor& d = t->descriptor;
      return send_.has_room(!d.has_timestamp || is_earliest(true, d.timestamp) ? 0 : 2, now);
    });
    if (next == commit_sends_.end()) return;
    Task* task = *next;
    commit_sends_.erase(next);
    account_occupancy(now);
    queue_.unhold(task);
    task->state = TaskState::in_flight;
    send_create(send_.add(task, task->destination), TaskEvent::create_arrives, now);
    serve_waiting(now);
  }
}

}  // namespace rubato::chip
