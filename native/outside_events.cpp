// OutsideEvents on the native engine. An event is a task that is made at once and handed over by set(): the
// task leaves the group (native/worker/arrivals.hpp). So the end of a group means the same as with other
// members, and set() needs no memory. R10 and R11.
//
//   begin_event()   makes the task, joins the group, lists the event: run() stays open
//   end_event()     pushes the task into the inbox, as threads outside do with what they create; then
//                   removes the event from the list
//   a failure       removes all events, while no worker runs; their tasks are destroyed
//
// The list's mutex is held for each of these; a failure empties the inbox meanwhile. So an event is either
// handed over before a failure, and dropped with the inbox, or removed by it, and set() does nothing. A
// worker that looks for the end of a run looks for events first and into the inbox then
// (native/worker/termination.hpp): one of them is there.
// SPDX-License-Identifier: MIT
#include "rubato/outside_event.hpp"

#include <memory>
#include <utility>

#include "native/engine.hpp"
#include "native/order/groups.hpp"
#include "native/worker/arrivals.hpp"
#include "native/worker/worker.hpp"

namespace rubato::inline v0::engine {

UnsetEvent* begin_event(TaskGroup& group, const EventOrigin& origin, std::shared_ptr<void> keeps) {
  native::Engine& engine = native::the_engine();
  engine.refuse_copy("an OutsideEvent");
  ThreadState& self = this_thread();
  if (!self.is_worker && engine.is_stranger()) misuse(errors::foreign_thread("OutsideEvent"));
  const auto is_repeatable = [](const native::Worker& w) {
    return w.is_validating() && !w.is_dropping_attempt();
  };
  if (self.is_worker && is_repeatable(static_cast<native::Worker&>(self))) misuse(errors::event_in_reader());
  auto event = std::make_unique<native::HeldEvent>(origin.file, origin.line, origin.is_timed);
  event->task = native::make_arrival(self, group, std::move(keeps));
  native::Groups::add_member(group);
  engine.unset_events.add(*event);
  return event.release();
}

bool end_event(UnsetEvent* unset, EventEnd end) noexcept {
  const std::unique_ptr<native::HeldEvent> event(static_cast<native::HeldEvent*>(unset));
  native::Engine& engine = native::started_engine();
  // A run that fails destroys its tasks, and with them events that they own: no further error.
  if (end == EventEnd::abandoned && engine.is_stopping()) end = EventEnd::withdrawn;
  const bool is_unset = engine.unset_events.remove(*event, [&] {
    if (end == EventEnd::abandoned) native::abandon_arrival(*event);
    if (end != EventEnd::withdrawn) engine.push_outside(event->task, event->task);
  });
  if (!is_unset) return false;
  if (end == EventEnd::withdrawn) native::drop_arrival(event->task);
  engine.note_event_end();
  return true;
}

}  // namespace rubato::inline v0::engine
