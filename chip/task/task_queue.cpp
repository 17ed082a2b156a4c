// The task queue of task_queue.hpp.
// SPDX-License-Identifier: MIT
#include "chip/task/task_queue.hpp"

#include <bit>

namespace rubato::chip {

TaskQueue::TaskQueue(std::uint32_t capacity, double uncommitted_share)
    : QueueEntries(capacity, uncommitted_share) {
  for (auto& list : idle_) list.reserve(capacity);
  for (auto& heap : ready_) heap.reserve(capacity);
  latest_.reserve(capacity);
}

std::uint32_t TaskQueue::holder_of(const Task& task, Locale locale) const {
  if (ignores_locales_) return kNobody;
  // Branch-free over the cores: the one that holds the locale, if any, is unpredictable. Suspended tasks are
  // few.
  std::uint32_t same = 0;
  for (std::uint32_t slot = 0; slot < kMaxCoresPerTile; ++slot)
    same |= (locales_[slot] == locale ? 1U : 0U) << slot;
  for (std::uint32_t rest = busy_ >> kMaxCoresPerTile; rest != 0; rest &= rest - 1) {
    const std::uint32_t slot = kMaxCoresPerTile + static_cast<std::uint32_t>(std::countr_zero(rest));
    same |= (locales_[slot] == locale ? 1U : 0U) << slot;
  }
  same &= busy_;
  if (same == 0 || !task.descriptor.has_locale) return kNobody;
  return static_cast<std::uint32_t>(std::countr_zero(same));
}

void TaskQueue::insert(Task* task) {
  if (task->uncommitted_parent != nullptr) count_uncommitted(1);
  enter_idle(task);
}

void TaskQueue::enter_idle(Task* task) {
  task->state = TaskState::idle;
  auto& list = idle_[index(task->lane())];
  task->index = static_cast<std::uint32_t>(list.size());
  list.push_back({task->order, task->tie, task});
  count_idle(*task, 1);
  const Lane lane = task->lane();
  ready_[index(lane)].push(task);
  const Task* const earliest = is_known(lane) ? earliest_free_[index(lane)] : nullptr;
  if (earliest == nullptr || !earliest->before(*task)) forget_earliest(lane);
  check();
}

void TaskQueue::count_idle(const Task& task, std::uint32_t by) {
  count_guest(by);
  if (task.is_throttled) throttled_ += by;
  if (task.uncommitted_parent == nullptr) return;
  uncommitted_idle_ += by;
  uncommitted_idle_of_[index(task.lane())] += by;
}

void TaskQueue::find_earliest_free(Lane lane) {
  ReadyHeap& ready = ready_[index(lane)];
  is_known_ |= 1U << index(lane);
  std::uint32_t holder = kNobody;
  while (!ready.empty() && (holder = holder_of(*ready.top(), ready.front().locale)) != kNobody) {
    Task* task = ready.pop();
    TaskHeap& waiters = waiters_[holder][index(lane)];
    waiters.push(task);
    waited_ |= 1U << holder;
    waiters.meld(task->followers);
  }
  earliest_free_[index(lane)] = ready.top();
}

const Task* TaskQueue::earliest(Lane lane) const {
  const Task* first = ready_[index(lane)].top();
  for (std::uint32_t rest = busy_; rest != 0; rest &= rest - 1) {
    const Task* waiter = this->waiter(static_cast<std::uint32_t>(std::countr_zero(rest)), lane);
    if (waiter != nullptr && (first == nullptr || waiter->before(*first))) first = waiter;
  }
  return first;
}

void TaskQueue::set_aside(Task* task) {
  Task* top = ready_[index(Lane::untimestamped)].pop();
  RUBATO_CHECK(top == task, "set aside a task that is not its lane's earliest");
  lead(task->followers, Lane::untimestamped);
  aside_.push(task);
  forget_earliest(Lane::untimestamped);
}

void TaskQueue::forget_idle(Task* task) {
  auto& list = idle_[index(task->lane())];
  list[task->index] = list.back();
  list[task->index].task->index = task->index;
  list.pop_back();
  count_idle(*task, ~0U);
}

void TaskQueue::dispatch(Task* task, std::uint32_t slot, bool speculative) {
  Task* top = ready_[index(task->lane())].pop();
  RUBATO_CHECK(top == task, "dispatched a task that is not its lane's earliest");
  forget_earliest(task->lane());
  forget_idle(task);
  if (speculative) count_active(1);
  occupy(*task, slot);
  if (holds_locale(slot)) {
    if (!task->followers.empty()) waited_ |= 1U << slot;
    waiters_[slot][index(task->lane())].meld(task->followers);
  } else {
    RUBATO_DCHECK(task->followers.empty());
  }
}

void TaskQueue::occupy(const Task& task, std::uint32_t slot) {
  RUBATO_DCHECK(holder_of(task, task.descriptor.locale) == kNobody, "two running tasks with one locale");
  RUBATO_CHECK(!holds_locale(slot), "a core runs two tasks");
  if (!task.descriptor.has_locale) return;
  busy_ |= 1U << slot;
  locales_[slot] = task.descriptor.locale;
  is_known_ = 0;
}

void TaskQueue::move_holder(std::uint32_t from, std::uint32_t to) {
  RUBATO_CHECK(!holds_locale(to), "a slot has two tasks");
  if (!holds_locale(from)) return;
  locales_[to] = locales_[from];
  for (const Lane lane : kAllLanes) waiters_[to][index(lane)].meld(waiters_[from][index(lane)]);
  const auto move_bit = [&](std::uint32_t& bits) {
    bits |= (bits >> from & 1) << to;
    bits &= ~(1U << from);
  };
  move_bit(busy_);
  move_bit(waited_);
}

// The earliest of `waiting` becomes ready again, the others follow it.
void TaskQueue::lead(TaskHeap& waiting, Lane lane) {
  if (waiting.empty()) return;
  Task* leader = waiting.pop();
  leader->followers.meld(waiting);
  ready_[index(lane)].push(leader);
}

void TaskQueue::take_out(Task* task) {
  if (task->is_ready) {
    ready_[index(task->lane())].remove(task);
  } else {
    TaskHeap::remove(task);
  }
  lead(task->followers, task->lane());
}

void TaskQueue::finish(std::uint32_t slot) {
  if (!holds_locale(slot)) return;
  busy_ &= ~(1U << slot);
  is_known_ = 0;
  if ((waited_ >> slot & 1) == 0) return;
  waited_ &= ~(1U << slot);
  for (const Lane lane : kAllLanes) lead(waiters_[slot][index(lane)], lane);
}

// ---- Speculation ----

void TaskQueue::hold(Task* task) {
  task->state = TaskState::held;
  task->index = held();
  held_.push_back(task);
  count_held(1);
  if (task->uncommitted_parent != nullptr) count_uncommitted(1);
  check();
}

void TaskQueue::unhold(Task* task) {
  held_[task->index] = held_.back();
  held_[task->index]->index = task->index;
  held_.pop_back();
  count_held(~0U);
  if (task->uncommitted_parent != nullptr) count_uncommitted(~0U);
}

void TaskQueue::parent_committed(const Task& task) {
  count_uncommitted(~0U);
  if (task.state != TaskState::idle) return;
  --uncommitted_idle_;
  --uncommitted_idle_of_[index(task.lane())];
}

const Task* TaskQueue::a_spillable() const {
  for (const auto& list : idle_)
    for (const OrderedTask& idle : list)
      if (idle.task->uncommitted_parent == nullptr) return idle.task;
  return nullptr;
}

void TaskQueue::throttle(Task* task) {
  take_out(task);
  forget_earliest(task->lane());
  forget_idle(task);
  task->is_throttled = true;
  enter_idle(task);
}

void TaskQueue::discard(Task* task) {
  take_out(task);
  forget_earliest(task->lane());
  forget_idle(task);
  if (task->uncommitted_parent != nullptr) count_uncommitted(~0U);
}

void TaskQueue::reinsert(Task* task) {
  count_active(~0U);
  enter_idle(task);
}

void TaskQueue::release_active(const Task& task) {
  count_active(~0U);
  if (task.uncommitted_parent != nullptr) count_uncommitted(~0U);
}

// ---- Spills ----

void TaskQueue::take_latest(Lane lane, std::uint32_t count, std::vector<Task*>& out) {
  RUBATO_CHECK(count <= spillable(lane), "spills more tasks than there are");
  forget_earliest(lane);
  const auto& idle_here = idle_[index(lane)];
  if (uncommitted_idle_of_[index(lane)] == 0) {
    latest_.assign(idle_here.begin(), idle_here.end());
  } else {
    latest_.clear();
    for (const OrderedTask& idle : idle_here)
      if (idle.task->uncommitted_parent == nullptr) latest_.push_back(idle);
  }
  std::nth_element(latest_.begin(), latest_.begin() + count, latest_.end(),
                   [](const OrderedTask& a, const OrderedTask& b) { return b.before(a); });
  latest_.resize(count);
  std::sort(latest_.begin(), latest_.end(),
            [](const OrderedTask& a, const OrderedTask& b) { return a.before(b); });
  out.clear();
  for (const OrderedTask& idle : latest_) {
    Task* const task = idle.task;
    out.push_back(task);
    if (task->is_ready) {
      task->is_ready = false;  // swept below: a search for each would take longer
      lead(task->followers, lane);
    } else {
      take_out(task);
    }
    forget_idle(task);
    task->state = TaskState::spilling;
  }
  if (count != 0) ready_[index(lane)].sweep(latest_.front());
  count_spilling(count);
}

std::uint32_t TaskQueue::waiting_for(std::uint32_t slot) const {
  if (!holds_locale(slot)) return 0;
  std::uint32_t count = 0;
  for (const auto& list : idle_) {
    for (const OrderedTask& i : list) {
      count += i.task->descriptor.has_locale && i.task->descriptor.locale == locales_[slot] ? 1 : 0;
    }
  }
  return count;
}

}  // namespace rubato::chip
