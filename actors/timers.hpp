// The timers of all actors, and of asks: which there are, whose they are, and which is due next (A13).
// The same on every engine, which guards the table, says when time has come, and knows what keeps run() open.
//
// A timer that is due sends a Due, and waits until the actor's turn takes it: a periodic one is queued again
// only then. So at most one message of a timer is under way, and a slow actor's mailbox does not grow.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "rubato/actor/timer.hpp"
#include "rubato/engine/actor_extras.hpp"

namespace rubato::inline v0::engine {

/// Nanoseconds of actor_nanoseconds().
using Time = std::uint64_t;
inline constexpr Time kNever = std::numeric_limits<std::int64_t>::max();

/// Never is later than every time, and nothing overflows.
inline Time time_after(Time now, Duration delay) {
  if (delay <= Duration::zero()) return now;
  const auto wait = static_cast<Time>(delay.count());
  return now >= kNever || wait >= kNever - now ? kNever : now + wait;
}
/// The first that is later than `now`.
inline Time next_of_period(Time at, Duration period, Time now) {
  const auto step = static_cast<Time>(period.count());
  const Time passed = now > at ? (now - at) / step : 0;
  return time_after(at + passed * step, period);
}

/// The action of a timer; one of the two is not null.
struct TimedAction {
  std::unique_ptr<TimerCall> call;
  std::shared_ptr<TimedMessage> message;
  bool is_of_task = false;  ///< a delayed task's, which keeps run() open itself
};

/// @tparam Hold  keeps run() open while it lives
template <class Hold>
class TimerTable {
  using Queue = std::set<std::pair<Time, std::uint64_t>>;

 public:
  struct Timer : TimerLink {
    std::uint64_t number = 0;
    Time at = 0;
    Duration period{};
    std::uint64_t owner = 0;  ///< an actor; 0: none
    TimedAction action;
    Hold hold{};
    typename Queue::node_type queued{};  ///< while its Due is on its way: to queue it again takes no memory
  };
  /// Destroyed when the table is free for others: what it holds may cancel other timers.
  using Owned = std::unique_ptr<Timer>;

  /// @returns its number. `list`: of its owner, or null.
  std::uint64_t add(Owned timer, TimerLink** list) {
    const std::uint64_t number = ++last_number_;
    timer->number = number;
    Timer& added = *all_.try_emplace(number, std::move(timer)).first->second;
    try {
      queue_.emplace(added.at, number);
    } catch (...) {
      all_.erase(number);
      throw;
    }
    if (list != nullptr) link(added, *list);
    return number;
  }
  /// Null: it is over.
  Owned remove(std::uint64_t number) {
    const auto found = all_.find(number);
    if (found == all_.end()) return nullptr;
    Owned timer = std::move(found->second);
    all_.erase(found);
    queue_.erase({timer->at, number});
    unlink(*timer);
    return timer;
  }
  /// Removes a timer of this list; null: there is none. `all`: also those of asks, else only messages.
  Owned remove_one(TimerLink* list, bool all) {
    for (; list != nullptr; list = list->next) {
      const auto& timer = static_cast<const Timer&>(*list);
      if (all || timer.action.message != nullptr) return remove(timer.number);
    }
    return nullptr;
  }

  /// The next that is to be due; null: none.
  Timer* next() { return queue_.empty() ? nullptr : all_.find(queue_.begin()->second)->second.get(); }
  /// No timer keeps run() open any more.
  void release_holds() {
    for (auto& [number, timer] : all_) timer->hold = {};
  }
  /// The next one's Due is on its way.
  void note_sent() {
    Timer& sent = *next();
    sent.queued = queue_.extract(queue_.begin());
  }
  /// Its Due could not be sent: it is due later.
  void send_again(std::uint64_t number, Time at) {
    if (const auto found = all_.find(number); found != all_.end()) queue_again(*found->second, at);
  }
  struct Taken {
    std::shared_ptr<TimedMessage> message;  ///< null: it was cancelled
    Owned over;                             ///< not null if it is over
    bool is_next = false;                   ///< it is queued again, before all others
  };
  /// Its Due has come to its actor.
  Taken take(std::uint64_t number, Time now) {
    Taken taken;
    const auto found = all_.find(number);
    if (found == all_.end()) return taken;
    Timer& timer = *found->second;
    taken.message = timer.action.message;
    if (timer.period == Duration::zero()) {
      taken.over = remove(number);
    } else {
      queue_again(timer, next_of_period(timer.at, timer.period, now));
      taken.is_next = queue_.begin()->second == number;
    }
    return taken;
  }

 private:
  void queue_again(Timer& timer, Time at) {
    timer.queued.value() = {at, timer.number};
    queue_.insert(std::move(timer.queued));
    timer.at = at;
  }
  static void link(Timer& timer, TimerLink*& list) {
    timer.next = list;
    timer.place = &list;
    if (list != nullptr) list->place = &timer.next;
    list = &timer;
  }
  static void unlink(Timer& timer) {
    if (timer.place == nullptr) return;
    *timer.place = timer.next;
    if (timer.next != nullptr) timer.next->place = timer.place;
    timer.place = nullptr;
  }

  std::unordered_map<std::uint64_t, Owned> all_;
  Queue queue_;  // of those whose Due is not on its way
  std::uint64_t last_number_ = 0;
};

inline const char* stopped_in_a_run() {
  return "a manual_clock is made or ends in a task, or while a run goes on: do it outside tasks, between two "
         "runs";
}
inline const char* stopped_twice() {
  return "there is a manual_clock already: one at a time stops the time of actors";
}

inline const char* stopped_for_tasks() {
  return "a manual_clock is made while delayed tasks wait for their time (create_later()): run them first";
}

/// An actor ends (`all`), or is made again: its timers are cancelled.
void cancel_timers_of(Cell& cell, bool all);
/// For an actor that is made again, or asks for it: drops its time-out for idleness.
void forget_idle_timeout(Cell& cell);

// The engine's.
std::uint64_t start_timer(Time at, Duration period, std::uint64_t owner, TimedAction action);
std::shared_ptr<TimedMessage> take_due(std::uint64_t number);
/// By a manual_clock.
bool is_clock_stopped();
/// False: this thread must leave timers alone now.
bool may_cancel_timers();
/// Cancels one of that list. False: there was none.
bool cancel_one_of(Extras& extras, bool all);

}  // namespace rubato::inline v0::engine
