// Timers of actors (rule A13): a thread of its own that begins with the first of them, sleeps until the next
// one's time and sends what is due as any thread outside does. Each pending timer is a hold.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "native/actor/actors.hpp"
#include "native/fault.hpp"
#include "rubato/actor/timer.hpp"
#include "rubato/engine/native.hpp"

namespace rubato::inline v0::engine {
namespace {

using Clock = std::chrono::steady_clock;
using runtime::Fault;
using runtime::has_fault;

class Timers {
 public:
  std::uint64_t add(Duration delay, Duration period, std::unique_ptr<TimerCall> call) {
    native::Hold hold = native::hold();
    const Clock::time_point at = Clock::now() + delay;
    const std::lock_guard lock(mutex_);
    if (!is_started_) {
      std::thread([this] { wait_for_all(); }).detach();
      is_started_ = true;
    }
    const std::uint64_t number = ++last_number_;
    times_[number] = at;
    const bool is_next = queue_.empty() || at < queue_.begin()->first.first;
    queue_.try_emplace({at, number}, period, std::move(call), std::move(hold));
    if (is_next && !has_fault(Fault::actor_timer_unnoticed)) changed_.notify_one();
    return number;
  }

  /// One that is being called is not called again.
  void cancel(std::uint64_t number) {
    Pending cancelled;  // destroyed without the lock: it may hold the last reference to what asks
    const std::lock_guard lock(mutex_);
    const auto found = times_.find(number);
    if (found == times_.end()) return;
    if (const auto place = queue_.find({found->second, number}); place != queue_.end()) {
      cancelled = std::move(place->second);
      queue_.erase(place);
    }
    times_.erase(found);
  }

 private:
  struct Pending {
    Duration period{};
    std::unique_ptr<TimerCall> call;
    native::Hold hold;
    Pending() = default;
    Pending(Duration p, std::unique_ptr<TimerCall> c, native::Hold&& h)
        : period(p), call(std::move(c)), hold(std::move(h)) {}
  };
  using Key = std::pair<Clock::time_point, std::uint64_t>;

  void wait_for_all() {
    runtime::never_waits_for_room = true;
    std::unique_lock lock(mutex_);
    for (;;) {
      if (queue_.empty()) {
        changed_.wait(lock);
        continue;
      }
      const Key next = queue_.begin()->first;
      if (Clock::now() < next.first) {
        changed_.wait_until(lock, next.first);
        continue;
      }
      auto node = queue_.extract(queue_.begin());
      lock.unlock();
      const bool goes_on = node.mapped().call->call();
      lock.lock();
      const auto found = times_.find(next.second);
      if (goes_on && found != times_.end()) {  // not cancelled meanwhile
        found->second += node.mapped().period;
        node.key() = {found->second, next.second};
        queue_.insert(std::move(node));
      } else {
        if (found != times_.end()) times_.erase(found);
        lock.unlock();
        node = {};
        lock.lock();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, Pending> queue_;
  std::map<std::uint64_t, Clock::time_point> times_;  // by number; also of the one that is being called
  std::uint64_t last_number_ = 0;
  bool is_started_ = false;
};

/// Never destroyed: its thread is not joined, like a process' end may find the engine in a run.
Timers& timers() {
  static Timers& instance = *new Timers;
  return instance;
}

}  // namespace

std::uint64_t add_timer(Duration delay, Duration period, std::unique_ptr<TimerCall> call) {
  return timers().add(delay, period, std::move(call));
}
void cancel_timer(std::uint64_t number) { timers().cancel(number); }

}  // namespace rubato::inline v0::engine
