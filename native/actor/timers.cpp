// Timers of actors (A13): a thread of its own begins with the first of them and sleeps until the next
// one's time. It sends due messages as any thread outside does, and sets the events of delayed tasks
// (actors/delays.cpp). Each timer but those of tasks is a hold. Nothing of the program runs on that thread.
// SPDX-License-Identifier: MIT
#include "actors/timers.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <iterator>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "native/fault.hpp"
#include "native/memory/cells.hpp"
#include "native/worker/shared.hpp"
#include "rubato/actor/manual_clock.hpp"
#include "rubato/engine/native.hpp"

namespace rubato::inline v0::engine {
namespace {

using native::Fault;
using native::has_fault;

/// When the clock stood still, by a manual_clock; 0: it goes on.
std::atomic<Time> stopped_at{0};

class Timers {
  using Table = TimerTable<std::optional<native::Hold>>;

  auto locked(auto act) {
    const std::lock_guard lock(mutex_);
    return act();
  }

 public:
  std::uint64_t start(Time at, Duration period, std::uint64_t owner, TimedAction action) {
    auto timer = std::make_unique<Table::Timer>();
    timer->at = at;
    timer->period = period;
    timer->owner = owner;
    timer->action = std::move(action);
    if (!timer->action.is_of_task && !is_clock_stopped()) timer->hold.emplace(native::hold());
    const std::lock_guard lock(mutex_);
    if (!is_started_) {
      std::thread([this] { wait_for_all(); }).detach();
      is_started_ = true;
    }
    const std::uint64_t number =
        table_.add(std::move(timer), owner == 0 ? nullptr : &cell_of(owner)->extras->timers);
    if (table_.next()->number == number) wake();
    return number;
  }

  /// A timer whose call is under way is not waited for.
  void cancel(std::uint64_t number) {
    const Table::Owned cancelled = locked([&] { return table_.remove(number); });
  }
  bool cancel_one_of(const Extras& extras, bool all) {
    return locked([&] { return table_.remove_one(extras.timers, all); }) != nullptr;
  }

  std::shared_ptr<TimedMessage> take(std::uint64_t number) {
    Table::Taken taken = locked([&] { return table_.take(number, actor_nanoseconds()); });
    if (taken.is_next) wake();
    return std::move(taken.message);
  }

  void stop_clock(bool is_stopped) {
    const std::lock_guard lock(mutex_);
    if (is_stopped && stopped_at.load(std::memory_order_relaxed) != 0) throw_misuse(stopped_twice());
    const Time now = actor_nanoseconds();
    stopped_at.store(is_stopped ? now : 0, std::memory_order_relaxed);
    if (is_stopped) table_.release_holds();
    changed_.notify_one();
  }
  bool fire_until(Time time) {
    std::unique_lock lock(mutex_);
    const Table::Timer* const next = table_.next();
    const bool is_due = next != nullptr && next->at <= time;
    stopped_at.store(std::max(actor_nanoseconds(), is_due ? next->at : time), std::memory_order_relaxed);
    if (!is_due) return false;
    if (!can_fire(*next)) throw std::bad_alloc();
    fire(*next, lock);
    return true;
  }

 private:
  static constexpr std::chrono::milliseconds kWithoutMemory{1};

  void wake() {
    if (!has_fault(Fault::actor_timer_unnoticed)) changed_.notify_one();
  }

  void wait_for_all() {
    std::unique_lock lock(mutex_);
    for (;;) {
      Table::Timer* const next = table_.next();
      if (next == nullptr || stopped_at.load(std::memory_order_relaxed) != 0) {
        changed_.wait(lock);
      } else if (actor_nanoseconds() < next->at) {
        const std::chrono::nanoseconds at(static_cast<std::int64_t>(next->at));
        changed_.wait_until(lock, std::chrono::steady_clock::time_point(at));
      } else if (!can_fire(*next)) {
        changed_.wait_for(lock, kWithoutMemory);
      } else {
        fire(*next, lock);
      }
      if (!lock.owns_lock()) lock.lock();
    }
  }
  void fire(const Table::Timer& next, std::unique_lock<std::mutex>& lock) {
    if (next.action.call == nullptr) return send(next, lock);
    native::Shared& shared = native::the_shared();
    const native::RunTurn::Passing passing(shared.turn);  // configure() waits for the end of the timer's hold
    const Table::Owned due = table_.remove(next.number);
    lock.unlock();
    try {
      due->action.call->call();
    } catch (const std::bad_alloc&) {  // without blocks of its own: RUBATO_TASK_MEMORY=malloc
      shared.failure.add(std::current_exception());
      shared.stop();
    }
  }

  /// The event of a delayed task has its task already.
  static bool can_fire(const Table::Timer& timer) { return timer.action.is_of_task || has_blocks(); }
  /// Whether this thread has the blocks at hand that the message and the task of a due timer need.
  static bool has_blocks() {
    try {
      WorkerHeap& heap = this_thread().heap;
      return has_blocks_of<sizeof(Task)>(heap) && has_blocks_of<sizeof(ExtendedTask)>(heap);
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  template <std::size_t bytes>
  static bool has_blocks_of(WorkerHeap& heap) {
    void* blocks[4];
    unsigned count = 0;
    try {
      for (; count < std::size(blocks); ++count) blocks[count] = heap.allocate<bytes>();
    } catch (const std::bad_alloc&) {
    }
    const bool has_all = count == std::size(blocks);
    while (count != 0) heap.free<bytes>(blocks[--count]);
    return has_all;
  }

  /// Its actor may end or cancel it meanwhile, which closes the timer's own hold.
  void send(const Table::Timer& timer, std::unique_lock<std::mutex>& lock) {
    const std::uint64_t number = timer.number, owner = timer.owner;
    const TimedMessage::MakeDue make_due = timer.action.message->make_due;
    const native::Hold hold = native::hold();
    table_.note_sent();
    lock.unlock();
    try {
      post(owner, make_due(number));
    } catch (const std::bad_alloc&) {
      lock.lock();
      table_.send_again(number, time_after(actor_nanoseconds(), kWithoutMemory));
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Table table_;
  bool is_started_ = false;
};

/// Never destroyed: its thread is not joined, like a process' end may find the engine in a run.
Timers& timers() {
  static Timers& instance = *new Timers;
  return instance;
}

}  // namespace

std::uint64_t actor_nanoseconds() {
  if (const Time stopped = stopped_at.load(std::memory_order_relaxed); stopped != 0) return stopped;
  return static_cast<Time>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}
void stop_clock(bool is_stopped) {
  if (is_in_task() || native::the_shared().is_running()) throw_misuse(stopped_in_a_run());
  if (is_stopped && native::the_shared().unset_events.timed() != 0) throw_misuse(stopped_for_tasks());
  timers().stop_clock(is_stopped);
}
bool may_cancel_timers() { return true; }
bool is_clock_stopped() { return stopped_at.load(std::memory_order_relaxed) != 0; }
bool fire_until(std::uint64_t time) { return timers().fire_until(time); }
std::uint64_t start_timer(Time at, Duration period, std::uint64_t owner, TimedAction action) {
  return timers().start(at, period, owner, std::move(action));
}
std::shared_ptr<TimedMessage> take_due(std::uint64_t number) { return timers().take(number); }
bool cancel_one_of(Extras& extras, bool all) { return timers().cancel_one_of(extras, all); }
void cancel_timer(std::uint64_t number) {
  if (number != 0) timers().cancel(number);
}

}  // namespace rubato::inline v0::engine
