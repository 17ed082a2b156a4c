// The tasks that only their worker takes from: its own by priority, and those of the current timestamp.
// R2, R5.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "native/order/packed_tasks.hpp"
#include "native/pool/task_list.hpp"
#include "native/worker/own_tasks.hpp"
#include "native/worker/rotation.hpp"

namespace rubato::inline v0::native {

class PrivateTasks {
 public:
  /// `created`: where create() links, and how many it has linked.
  PrivateTasks(TaskList& created, const std::atomic<std::uint64_t>& count)
      : created_(created), count_(count) {}

  // ---- Tasks without timestamp ----
  /// `must_wait`: behind all others, since it cannot run now.
  void append(Task* task, bool must_wait) {
    const unsigned rank = rank_of(task);
    if (rank == 0) return high_.append(task);
    if (rank != kNormalRank) return low_.append(task);
    if (is_fair(task) || must_wait) {
      own_.append_fair(task);
    } else {
      created_.append(task);
    }
    ++appended_;
  }
  /// In front of the others of its priority, where it came from.
  void put_back(Task* task) {
    const unsigned rank = rank_of(task);
    if (rank == kNormalRank) return put_back({task, task, 1});
    (rank == 0 ? high_ : low_).prepend(task, task);
  }
  void put_back(const Chain& chain) {
    own_.put_back(chain);
    appended_ += chain.size;
  }
  /// How many of normal priority wait; while a task runs, what it asked for by on_commit() is among them.
  std::uint64_t size() const { return count_.load(std::memory_order_relaxed) + appended_ - taken_; }
  /// For others: of normal priority, the oldest.
  Chain take_oldest(std::uint64_t count) {
    const Chain chain = own_.take_oldest(count);
    taken_ += chain.size;
    return chain;
  }
  /// Up to `count` of normal priority into the ring.
  void take_own(Ring& ring, std::uint64_t count) { taken_ += own_.take(ring, count, size()); }
  /// Counts linked tasks that were not taken from here: they were run, or dropped, elsewhere.
  void count_taken(std::uint64_t tasks = 1) { taken_ += tasks; }
  void count_appended() { ++appended_; }
  std::uint64_t taken() const { return taken_; }
  bool has_own() const { return !own_.is_empty(); }
  /// Tasks of high priority.
  bool has_high() const { return !high_.is_empty(); }

  // ---- The current timestamp's ----
  Lanes& now() { return now_; }
  PackedTasks& packed_now() { return packed_now_; }

  // ---- All ----
  /// Without a timestamp.
  bool has_untimed() const { return !own_.is_empty() || !high_.is_empty() || !low_.is_empty(); }
  bool is_empty() const { return !has_untimed() && now_.is_empty() && packed_now_.is_empty(); }
  /// Only tasks of normal priority, without timestamp, if any.
  bool has_only_own() const {
    return now_.is_empty() && packed_now_.is_empty() && high_.is_empty() && low_.is_empty();
  }
  /// The only task that there is, if it was created last; null: there are none or others. It is taken.
  Task* take_only() {
    if (!own_.has_only_created() || created_.is_empty() || next_of(created_.first()) != nullptr)
      return nullptr;
    ++taken_;
    return created_.take();
  }
  /// The first task that the worker will take of those that others may have; null if it does not know.
  const Task* next() { return own_.is_empty() ? now_.normal().first() : own_.next(size()); }
  /// Inlined tests: most lists are empty most of the time.
  [[gnu::always_inline]] void look(Waiting& found) const {
    if (!high_.is_empty()) found.add(0, Source::kPrivate);
    if (!own_.is_empty()) found.add(kNormalRank, Source::kPrivate);
    if (!low_.is_empty()) found.add(kPriorities - 1, Source::kPrivate);
    if (!packed_now_.is_empty()) found.add(kNormalRank, Source::kPacked);
    if (now_.is_empty()) return;
    for (unsigned rank = 0; rank < kPriorities; ++rank)
      if (!now_.is_empty(rank)) found.add(rank, Source::kCurrent);
  }
  /// Up to `limit` of one list; of kPrivate those that are not of normal priority. @returns whether it has
  /// more.
  bool take_from_list(Ring& ring, unsigned source, unsigned rank, std::uint64_t limit) {
    TaskList& list = source == Source::kCurrent ? now_.lanes[rank] : rank == 0 ? high_ : low_;
    ring.push_from(list, limit);
    return !list.is_empty();
  }
  /// All but packed ones, one by one. They may create others.
  template <class Drop>
  void drop_all(Drop drop) {
    for (Chain chain = own_.take_oldest(~std::uint64_t{0}); !chain.is_empty();) drop(chain.take());
    for (TaskList* list : {&high_, &low_, &now_.lanes[0], &now_.lanes[1], &now_.lanes[2]}) {
      while (!list->is_empty()) drop(list->take());
    }
  }
  /// By the watch, while the worker may append: up to `most` tasks, `copy_last(list)` in place of the last of
  /// a list, behind which the worker may be about to link: a copy, or null.
  template <class CopyLast>
  void hand_over(Chain& chain, std::uint64_t most, CopyLast copy_last) {
    native::hand_over(high_, chain, most, copy_last);
    const std::uint64_t others = chain.size;
    std::uint64_t copies = 0;
    own_.hand_over(chain, most, [&](TaskList& list) {
      Task* const copy = copy_last(list);
      copies += copy != nullptr ? 1 : 0;
      return copy;
    });
    taken_ += chain.size - others - copies;
    native::hand_over(low_, chain, most, copy_last);
  }
  /// The same: whether there is anything that may run now.
  bool has_any_seen() const {
    return high_.first_seen() != nullptr || own_.has_any_seen() || low_.first_seen() != nullptr ||
           !now_.is_empty();
  }
  /// None waits.
  void count_all_taken() { taken_ = count_.load(std::memory_order_relaxed) + appended_; }

 private:
  TaskList& created_;
  const std::atomic<std::uint64_t>& count_;
  OwnTasks own_{created_};
  TaskList high_, low_;                     // the same of other priorities
  Lanes now_;                               // of the current timestamp
  PackedTasks packed_now_;                  // the same, without pools
  std::uint64_t appended_ = 0, taken_ = 0;  // of own_, beyond `count_`; from it
};

}  // namespace rubato::inline v0::native
