// Lagging of turns, the publication's own [L] (Fig. 3): a worker whose actor has no message left waits a
// little before it gives up the turn, where samples say that the next message comes sooner than a switch
// takes. A25, A36 and A44 to A47. How samples decide is in native/lag.
//
// The mailbox stays the turn's while it waits, and the wait only looks whether a message is linked behind the
// last one: finish() is called after it as it is without a wait. So the protocol of the mailbox is the same.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

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
  /// or when waiting makes no sense any more.
  void give_up(Cell& cell, const Mailbox& mailbox);

  // ---- What a switch costs ----
  bool is_timing() const { return switch_began_ != 0; }
  /// The next task begins.
  void note_next(const engine::Task& task);
  /// Notes a turn that is made dear (turn_scheduling.hpp), after the extra work. `before`: its sender's part.
  void note_dear(std::uint64_t before);
  /// The worker has found nothing: the interval is no switch any more.
  void forget_switch() { switch_began_ = 0; }

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
};

}  // namespace rubato::inline v0::native
