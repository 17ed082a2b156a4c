// Tasks that leave a group for a member that is no task: an OutsideEvent (native/outside_events.cpp), which
// set() hands over, or an actor that stops on a thread that is no worker. If that never comes, or the run
// fails before, the task is destroyed unrun.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "base/unset_events.hpp"
#include "native/pool/task_list.hpp"
#include "native/worker/shared.hpp"

namespace rubato::inline v0::native {

struct HeldEvent : engine::UnsetEvent {
  using UnsetEvent::UnsetEvent;
  Task* task = nullptr;
};

/// Not a member of the group yet. `keeps`: lives until the task has left the group.
Task* make_arrival(engine::ThreadState& self, TaskGroup& group, std::shared_ptr<void> keeps);
/// The event was destroyed before set(): its task says so.
void abandon_arrival(const HeldEvent& event);
/// Destroys a task that was not handed over: it leaves its group, and no task that waits for that goes on.
void drop_arrival(Task* task);

/// For a run that has failed, or does not come: all that threads outside have created, to be destroyed unrun.
/// No worker runs meanwhile. Events are removed at that same moment: none is set any more. All of them have
/// left their groups, which tasks may own that are destroyed now.
Chain take_all_from_outside(Shared& shared);

}  // namespace rubato::inline v0::native
