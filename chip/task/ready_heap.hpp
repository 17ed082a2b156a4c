// The tasks of a lane that are ready, the earliest first: an implicit heap of four children a node. Its
// entries hold the keys of comparison, and the locale that keeps a task from running. Taking the earliest
// task reads some host cache lines of one array, and no task record but that one. A linked heap would read a
// cold record for each task that it compares.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.hpp"
#include "base/prefetch.hpp"
#include "base/wide.hpp"
#include "chip/task/task_record.hpp"

namespace rubato::chip {

/// A task beside its place in the order, so that comparing it reads no record.
struct OrderedTask {
  Timestamp order;
  std::uint64_t tie;
  Task* task;
  bool before(const OrderedTask& other) const { return wide(order, tie) < wide(other.order, other.tie); }
};

struct ReadyTask : OrderedTask {
  Locale locale;  ///< the descriptor's, which is 0 where there is none
};

/// Invariants: no entry is before its parent; a task's is_ready says that it is in one of these heaps.
class ReadyHeap {
 public:
  void reserve(std::size_t tasks) { entries_.reserve(tasks); }
  bool empty() const { return entries_.empty(); }
  Task* top() const { return entries_.empty() ? nullptr : entries_.front().task; }
  const ReadyTask& front() const { return entries_.front(); }  ///< of top()

  void push(Task* task) {
    task->is_ready = true;
    entries_.push_back({});
    rise(entries_.size() - 1, {{task->order, task->tie, task}, task->descriptor.locale});
  }
  /// Not of an empty heap.
  Task* pop() {
    Task* const task = entries_.front().task;
    take_out(0);
    return task;
  }
  /// A task that is here. Linear in their number: most leave by pop().
  void remove(Task* task) {
    const auto entry =
        std::find_if(entries_.begin(), entries_.end(), [task](const ReadyTask& e) { return e.task == task; });
    RUBATO_CHECK(entry != entries_.end(), "a task is not in the heap of its lane");
    take_out(static_cast<std::size_t>(entry - entries_.begin()));
  }
  /// Takes out tasks none of which is before `first`, whose is_ready the caller has reset. Linear in the
  /// number of all.
  void sweep(const OrderedTask& first) {
    std::erase_if(entries_, [&](const ReadyTask& e) { return !e.before(first) && !e.task->is_ready; });
    for (std::size_t place = 1; place < entries_.size(); ++place) rise(place, ReadyTask{entries_[place]});
  }
  /// Everything from `other`.
  void take(TaskHeap& other) {
    while (!other.empty()) push(other.pop());
  }
  /// Software prefetch of the host memory that pop() will read.
  void prefetch_pop() const {
    prefetch<kPrefetched * sizeof(ReadyTask)>(entries_.data());
    if (!entries_.empty()) prefetch(&entries_.back());
  }

 private:
  static constexpr std::size_t kChildren = 4;
  static constexpr std::size_t kPrefetched = 1 + kChildren;

  void rise(std::size_t place, const ReadyTask& entry) {
    while (place != 0) {
      const std::size_t parent = (place - 1) / kChildren;
      if (!entry.before(entries_[parent])) break;
      entries_[place] = entries_[parent];
      place = parent;
    }
    entries_[place] = entry;
  }
  /// The earliest of the existing children from `first` on. Nearly every node has all four, and their places
  /// are then known in advance.
  std::size_t earliest_child(std::size_t first, std::size_t size) const {
    // Branch-free select: the comparison is unpredictable.
    const auto earlier = [this](std::size_t a, std::size_t b) {
      return a ^ ((a ^ b) & (std::size_t{0} - static_cast<std::size_t>(entries_[b].before(entries_[a]))));
    };
    if (first + kChildren <= size) return earlier(earlier(first, first + 1), earlier(first + 2, first + 3));
    std::size_t earliest = first;
    for (std::size_t child = first + 1; child < size; ++child) earliest = earlier(earliest, child);
    return earliest;
  }
  void take_out(std::size_t place) {
    entries_[place].task->is_ready = false;
    const ReadyTask last = entries_.back();
    entries_.pop_back();
    const std::size_t size = entries_.size();
    if (place == size) return;
    // The hole sinks to a leaf, which the last entry fills: it was a leaf before and seldom belongs higher
    // up.
    for (std::size_t first = place * kChildren + 1; first < size; first = place * kChildren + 1) {
      const std::size_t earliest = earliest_child(first, size);
      entries_[place] = entries_[earliest];
      place = earliest;
    }
    rise(place, last);
  }

  std::vector<ReadyTask> entries_;
};

}  // namespace rubato::chip
