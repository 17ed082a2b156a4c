// Lagging of turns, the publication's own [L] (Fig. 3): a worker whose actor has no message left waits a
// little before it gives up the turn, where samples say that the next message comes sooner than a switch
// takes. A25, A36 and A44 to A47. How samples decide is in native/lag.
//
// The mailbox stays the turn's while it waits, and the wait only looks whether a message is linked behind the
// last one: finish() is called after it as it is without a wait. So the protocol of the mailbox is the same.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "native/clock.hpp"
#include "native/lag/idle_lag.hpp"
#include "native/lag/turn_switch.hpp"
#include "native/lag/waiting.hpp"
#include "native/memory/cells.hpp"
#include "rubato/engine/native_task.hpp"

namespace rubato::inline v0::native {

class Worker;

/// A worker's, if its engine lags turns.
class TurnLag {
 public:
  explicit TurnLag(Worker& worker);

  /// The turn has handled the last message that it knows of, and may handle more. Returns when one has come,
  /// or when waiting makes no sense any more. Where the level is off, it is needed for turns that are timed
  /// only: it sets Worker::until_turn_lag.
  void give_up(Cell& cell, const Mailbox& mailbox);

  // ---- What a switch costs ----
  bool is_timing() const { return switch_began_ != 0; }
  /// The next task begins.
  void note_next(const engine::Task& task);
  /// Notes a turn that is made dear (turn_scheduling.hpp), after the extra work. `before`: its sender's part.
  void note_dear(std::uint64_t before);
  /// The worker has found nothing and waits: what it waits for is no part of the switch. A second wait within
  /// a switch ends it, since the search between the two found nothing.
  void pause_switch() {
    if (switch_began_ == 0) return;
    if (has_waited_) return forget_switch();
    has_waited_ = true;
    switch_began_ = ticks() - switch_began_;  // what has passed
  }
  /// A run has ended, or the worker pauses.
  void forget_switch();
  /// The worker goes on.
  void resume_switch() {
    if (switch_began_ != 0) switch_began_ = ticks() - switch_began_;
  }

 private:
  bool must_not_wait(const Cell& cell);
  lag::Record* new_record(Cell& cell);
  void note_switch(std::uint64_t ticks);
  void count() const;

  static constexpr std::uint64_t kMostSwitches = 16;  // that a turn waits for in sum (A45)

  Worker& worker_;
  lag::Decider<LagRandom> decider_;
  lag::Waits<LagClock> waits_;
  lag::TurnSwitch switch_;
  const unsigned delays_;
  const std::uint64_t look_;             // what a look costs, in ticks
  std::uint64_t until_first_;            // giving-ups of actors without a record, to the next sample
  bool is_worth_it_ = false;             // the level is off where a switch is cheaper than a few looks
  std::uint64_t turn_ = 0, waited_ = 0;  // the turn that has waited last, by number, and when it began to
  std::uint64_t switch_began_ = 0, after_ = 0;  // the switch that is timed, and after which task it is
  bool has_waited_ = false;                     // within it
};

}  // namespace rubato::inline v0::native
