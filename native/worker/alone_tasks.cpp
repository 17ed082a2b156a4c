// SPDX-License-Identifier: MIT
#include "native/worker/alone_tasks.hpp"

#include "native/clock.hpp"
#include "native/fault.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/worker.hpp"

namespace rubato::inline v0::native {
namespace {

using Events = Shared::Events;

}  // namespace

AloneTasks::AloneTasks(Worker& worker) : worker_(worker), shared_(worker.shared) {}

Task* AloneTasks::take() {
  unsigned rank = 0;
  while (lanes_.is_empty(rank)) ++rank;
  for (unsigned lower = rank + 1; lower < kPriorities; ++lower) {
    if (!lanes_.is_empty(lower) && passed_[lower]++ >= policy::kPassLimit) rank = lower;
  }
  passed_[rank] = 0;
  --size_;
  return lanes_.lanes[rank].take();
}

bool AloneTasks::is_due() {
  if (is_empty() || (++refills_ <= policy::kRefillsBeforeAlone && !is_turn())) return false;
  refills_ = 0;
  return true;
}

void AloneTasks::stand_by() {
  Events& events = shared_.events;
  const TraceScope aside(worker_.timer.lane(), TraceSpan::Kind::aside);
  const auto must_stand = [](std::uint64_t word) {
    return (word & Events::kAlone) != 0 && (word & Events::kStop) == 0;
  };
  std::uint64_t word = 0;
  do {
    word = events.stand_by().word;
    events.notify_all();  // the one that waits for us
    for (std::uint32_t seen = events.epoch(); must_stand(word = events.look_ordered()); seen = events.epoch())
      events.sleep({seen, word}, 1000);
    word = events.stand_down();
  } while (must_stand(word));
}

/// Its turn has come: the tasks of other workers that run alone, and asked before, have run.
bool AloneTasks::is_turn() const { return turn_ && shared_.turns_alone.is_on(*turn_); }

bool AloneTasks::run() {
  Events& events = shared_.events;
  const unsigned others = shared_.workers() - 1;
  if (!turn_) turn_ = shared_.turns_alone.ask();
  if (!is_turn()) return false;
  if (Events::standing(events.look_ordered()) != 0)
    return false;  // they have run nothing since the last turn
  events.raise(Events::kAlone);
  for (unsigned tries = 0;; ++tries) {
    const std::uint32_t seen = events.epoch();
    const std::uint64_t word = events.look_ordered();
    if ((word & Events::kStop) != 0) {
      events.lower(Events::kAlone);
      return true;
    }
    // The end of the run had been found when a thread outside created the task: the first worker waits for
    // this one, which pauses, and has the task yet when the run goes on.
    if ((word & Events::kPaused) != 0) {
      events.lower(Events::kAlone);
      events.notify_all();
      return true;
    }
    if (Events::idle(word) + Events::standing(word) >= others || has_fault(Fault::company_for_spec)) break;
    if (tries < policy::kIdleSpins) {
      StdAtomics::pause();
    } else {
      events.sleep({seen, word}, 100);
    }
  }
  try {
    run_turn();
  } catch (...) {
    worker_.fail();  // and the others go on, to see that
  }
  turn_.reset();
  shared_.turns_alone.end();
  events.lower(Events::kAlone);
  if (Events::standing(events.look_ordered()) != 0) events.notify_all();
  return true;
}

/// Nothing runs beside them.
void AloneTasks::run_turn() {
  const std::uint64_t end = ticks() + ticks_of(policy::kMicrosecondsAlone);
  for (unsigned i = 0; i < threshold(policy::kTasksAlone, 2u) && !is_empty(); ++i) {
    if ((shared_.events.look() & Events::kStop) != 0 || (i != 0 && ticks() > end)) return;
    worker_.refresh_if_due();
    Task* const task = take();
    const bool is_guarded = Groups::is_guarded(task);
    task->handle &=
        ~engine::handle::kPrimitiveMask;  // no task runs that could be in the way, and none may wait
    if (is_guarded) Groups::guard(task);
    worker_.start(Slot(task));
    OrderedPart& ordered = worker_.ordered;
    ordered.settle();
    if (ordered.owns_order() && is_empty()) ordered.advance();  // the next timestamp may have one, too
  }
}

}  // namespace rubato::inline v0::native
