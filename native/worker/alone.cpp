// Tasks that run with nothing beside them: `spec` ones. Workers take turns; the others stand by. Rule R9.
// SPDX-License-Identifier: MIT
#include <thread>

#include "native/engine.hpp"
#include "native/fault.hpp"
#include "native/worker/clock.hpp"
#include "native/worker/worker.hpp"

namespace rubato::runtime {
namespace {

constexpr std::uint64_t kMicrosecondsAlone = 1000;  // before others have their turn

}  // namespace

/// Another worker's task wants to run with nothing beside it. Goes on only when standing down itself shows
/// that no further one has asked meanwhile, and counted on this worker.
void Worker::stand_by() {
  Events& events = engine_.events;
  const TraceScope aside(trace_, TraceSpan::Kind::aside);
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

/// It waited for others' tasks that run alone, and these have run.
bool Worker::is_turn_alone() const { return turn_alone_ && engine_.turns_alone.is_on(*turn_alone_); }

/// False: others have their turn before.
bool Worker::run_alone() {
  Events& events = engine_.events;
  const unsigned others = engine_.workers() - 1;
  if (!turn_alone_) turn_alone_ = engine_.turns_alone.ask();
  if (!is_turn_alone()) return false;
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
    if (Events::idle(word) + Events::standing(word) >= others || has_fault(Fault::company_for_spec)) break;
    if (tries < kIdleSpins) {
      StdAtomics::pause();
    } else {
      events.sleep({seen, word}, 100);
    }
  }
  try {
    run_turn_alone();
  } catch (...) {
    fail();  // and the others go on, to see that
  }
  turn_alone_.reset();
  engine_.turns_alone.end();
  events.lower(Events::kAlone);
  if (Events::standing(events.look_ordered()) != 0) events.notify_all();
  return true;
}

/// Nothing runs beside them.
void Worker::run_turn_alone() {
  const std::uint64_t end = ticks() + ticks_of(kMicrosecondsAlone);
  for (unsigned i = 0; i < threshold(1024u, 2u) && !alone_.is_empty(); ++i) {
    if ((engine_.events.look() & Events::kStop) != 0 || (i != 0 && ticks() > end)) return;
    if (--until_refresh_ == 0) refresh_epoch();
    Task* const task = alone_.take();
    task->handle &=
        ~engine::handle::kPrimitiveMask;  // no task runs that could be in the way, and none may wait
    start(Slot(task));
    settle();
    if (owns_order() && alone_.is_empty()) advance();  // the next timestamp may have one, too
  }
}

}  // namespace rubato::runtime
