// SPDX-License-Identifier: MIT
#include "native/worker/arrivals.hpp"

#include <exception>
#include <optional>
#include <typeinfo>
#include <utility>

#include "native/order/groups.hpp"
#include "native/worker/outside_thread.hpp"
#include "native/worker/worker.hpp"
#include "rubato/guarded_group.hpp"
#include "rubato/outside_event.hpp"

namespace rubato::inline v0::native {
namespace {

/// The callable of an event's task. It leaves the group when it is called or destroyed, whichever is first.
class Arrival {
 public:
  using TaskName = OutsideEvent;

  Arrival(TaskGroup& group, std::shared_ptr<void> keeps) : group_(&group), keeps_(std::move(keeps)) {}
  Arrival(Arrival&& other) noexcept
      : group_(std::exchange(other.group_, nullptr)),
        keeps_(std::move(other.keeps_)),
        file_(other.file_),
        line_(other.line_) {}
  Arrival& operator=(Arrival&&) = delete;
  ~Arrival() { leave_unrun(); }

  void leave_unrun() {
    if (TaskGroup* const group = std::exchange(group_, nullptr)) Groups::drop_member(*group);
  }
  void abandon(const engine::UnsetEvent& event) {
    file_ = event.file;
    line_ = event.line;
  }

  void operator()() {
    if (file_ != nullptr) report();
    auto& worker = static_cast<Worker&>(*engine::current_thread);
    worker.timer.leave_out();
    worker.leave(*std::exchange(group_, nullptr));
  }

 private:
  /// The error is its GuardedGroup's, or ends the run.
  void report() const {
    const TaskError error(errors::event_abandoned(file_, line_), "OutsideEvent", std::nullopt);
    engine::Guard* const guard = engine::GroupState::guard(group_);
    if (guard == nullptr) throw error;
    if (!guard->is_cancelled())
      guard->add(std::make_exception_ptr(error), nullptr, typeid(OutsideEvent), std::nullopt);
  }

  TaskGroup* group_;
  std::shared_ptr<void> keeps_;
  const char* file_ = nullptr;  // null: it was set
  unsigned line_ = 0;
};

using ArrivalTask = engine::InlineTask<Arrival>;
static_assert(engine::is_inline_task<Arrival> && engine::payload_words<Arrival> <= engine::kInlineWords);

Arrival& arrival_in(Task* task) { return *engine::callable_in<Arrival>(engine::payload_of(task)); }

}  // namespace

Task* make_arrival(engine::ThreadState& self, TaskGroup& group, std::shared_ptr<void> keeps) {
  auto* const task = static_cast<Task*>(self.heap.allocate<sizeof(Task)>());
  task->handle = 0;
  engine::fill_task(task, Arrival(group, std::move(keeps)));
  return task;
}

void abandon_arrival(const HeldEvent& event) { arrival_in(event.task).abandon(event); }

void drop_arrival(Task* task) {
  destroy(task);
  free_outside(engine::this_thread(), task);
}

Chain take_all_from_outside(Shared& shared) {
  Chain arrived, dropped;
  shared.unset_events.remove_all(
      [&] { arrived = take_inbox(shared); },
      [&dropped](engine::UnsetEvent& event) { dropped.append(static_cast<HeldEvent&>(event).task); });
  for (Task* task = arrived.first; task != nullptr; task = task == arrived.last ? nullptr : next_of(task))
    if (task->code == &ArrivalTask::code) arrival_in(task).leave_unrun();
  // Not with the list's lock: what a task keeps may own events.
  while (!dropped.is_empty()) drop_arrival(dropped.take());
  return arrived;
}

}  // namespace rubato::inline v0::native
