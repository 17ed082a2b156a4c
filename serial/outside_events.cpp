// SPDX-License-Identifier: MIT
#include "serial/outside_events.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/unset_events.hpp"
#include "rubato/outside_event.hpp"
#include "rubato/task.hpp"
#include "serial/engine.hpp"

namespace rubato::inline v0::engine {
namespace {

struct SerialEvent : UnsetEvent {
  SerialEvent(TaskGroup& g, const EventOrigin& origin, std::shared_ptr<void> k)
      : UnsetEvent(origin.file, origin.line, origin.is_timed), group(g), keeps(std::move(k)) {}

  TaskGroup& group;
  std::shared_ptr<void> keeps;
  EventEnd end = EventEnd::set;
};
using Owned = std::unique_ptr<SerialEvent>;

class Events {
 public:
  void add(SerialEvent& event) { unset_.add(event); }
  bool has_untimed() const { return unset_.count() != unset_.timed(); }

  bool has_timed() const { return unset_.timed() != 0; }

  /// False: its run has failed.
  bool remove(SerialEvent& event) {
    return unset_.remove(event, [] {});
  }
  /// The same, by another thread: take() finds it afterwards.
  bool hand_over(Owned event) {
    SerialEvent& handed = *event;
    const bool is_unset = unset_.remove(handed, [&] {
      const std::lock_guard lock(mutex_);
      arrived_.push_back(std::move(event));
    });
    const std::lock_guard lock(mutex_);  // a waiting thread looks at both
    changed_.notify_one();
    return is_unset;
  }
  std::vector<Owned> take() {
    std::vector<Owned> taken;
    const std::lock_guard lock(mutex_);
    taken.swap(arrived_);
    return taken;
  }
  /// The members that they were leave their groups; @returns what they kept.
  std::vector<std::shared_ptr<void>> drop() {
    std::vector<std::shared_ptr<void>> kept;
    const auto use = [&kept](UnsetEvent& unset) {
      auto& event = static_cast<SerialEvent&>(unset);
      --GroupState::pending(event.group);
      kept.push_back(std::move(event.keeps));
    };
    unset_.remove_all([] {}, use);
    for (const Owned& event : take()) {
      --GroupState::pending(event->group);
      kept.push_back(std::move(event->keeps));
    }
    return kept;
  }

  /// Until one has arrived, or there is none any more. Standard error says so if that takes long.
  void wait(std::uint64_t limit) {
    constexpr unsigned kStandstill = 5;  // seconds
    const auto is_over = [this] { return !arrived_.empty() || !has_untimed(); };
    std::unique_lock lock(mutex_);
    if (limit != kNoLimit) {
      constexpr std::uint64_t kMost = 1'000'000'000'000'000;  // a few days, so that no sum overflows
      const std::chrono::nanoseconds patience(static_cast<std::int64_t>(std::min(limit, kMost)));
      changed_.wait_for(lock, patience, is_over);
      return;
    }
    if (changed_.wait_for(lock, std::chrono::seconds(kStandstill), is_over)) return;
    lock.unlock();  // a thread that sets an event has both locks
    if (unset_.is_silent()) unset_.say(kStandstill, "");
    lock.lock();
    changed_.wait(lock, is_over);
  }

 private:
  UnsetEvents unset_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Owned> arrived_;
};

/// Never destroyed: threads may set events until the process has ended.
Events& events() {
  static Events& instance = *new Events;
  return instance;
}

void leave(SerialEvent& event) {
  if (event.end == EventEnd::abandoned) {
    leave_by_task(event.group, [file = event.file, line = event.line] {
      throw TaskError(errors::event_abandoned(file, line), "OutsideEvent", std::nullopt);
    });
  } else {
    leave_by_task(event.group, [keeps = std::move(event.keeps)] {});
  }
}

}  // namespace

bool waits_for_events() { return events().has_untimed(); }
bool has_delayed_tasks() { return events().has_timed(); }

std::uint64_t wait_for_events(std::uint64_t limit) {
  const auto begin = std::chrono::steady_clock::now();
  events().wait(limit);
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
}

bool take_set_events() {
  std::vector<Owned> taken = events().take();
  std::sort(taken.begin(), taken.end(), [](const Owned& a, const Owned& b) { return a->number < b->number; });
  for (const Owned& event : taken) leave(*event);
  return !taken.empty();
}

void drop_events() {
  // Destroyed last: what they kept may own events.
  const auto kept = events().drop();
}

UnsetEvent* begin_event(TaskGroup& group, const EventOrigin& origin, std::shared_ptr<void> keeps) {
  check_thread("OutsideEvent");
  auto event = std::make_unique<SerialEvent>(group, origin, std::move(keeps));
  ++GroupState::pending(group);
  events().add(*event);
  return event.release();
}

bool end_event(UnsetEvent* unset, EventEnd end) noexcept {
  Owned event(static_cast<SerialEvent*>(unset));
  event->end = end;
  if (end != EventEnd::withdrawn && !runs_here()) return events().hand_over(std::move(event));
  if (!events().remove(*event)) return false;
  if (end == EventEnd::withdrawn) {
    --GroupState::pending(event->group);
  } else {
    leave(*event);
  }
  return true;
}

}  // namespace rubato::inline v0::engine
