// A worker's own tasks: those of normal priority without timestamp that nothing must serialize, and which of
// them runs next. R2 and R5.
//
// Few that wait run oldest first, so that each has its turn and there is something to prefetch. If there are
// many, the newest run first: a program that splits its work again and again keeps only as many tasks as its
// recursion is deep, and they are in the cache. Other workers that take some of them get the oldest, which
// stand for the most work. Tasks of one creator start in the order of their creation always, and none waits
// for ever: of many, too, the oldest have a turn now and then, and `fair` ones (Annotations) every other one.
//
// Order, from the oldest to the newest: the lists, each a batch's children; `created`, where create() links.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "base/perturbation.hpp"
#include "native/policy.hpp"
#include "native/pool/task_list.hpp"
#include "native/worker/ring.hpp"

namespace rubato::inline v0::native {

/// By the watch, see PrivateTasks::hand_over().
template <class CopyLast>
void hand_over(TaskList& list, Chain& chain, std::uint64_t most, CopyLast copy_last) {
  while (chain.size < most) {
    Task* task = list.take_settled();
    const bool is_last = task == nullptr;
    if (is_last) task = copy_last(list);
    if (task != nullptr) chain.append(task);
    if (is_last) return;
  }
}

/// A deque of lists that are never empty and end with null. Grows, and keeps its memory.
class ListDeque {
 public:
  ListDeque() : lists_(64) {}

  bool is_empty() const { return begin_ == end_; }
  Task*& newest() { return lists_[(end_ - 1) & mask()]; }
  Task*& oldest() { return lists_[begin_ & mask()]; }
  const Task* newest() const { return lists_[(end_ - 1) & mask()]; }
  const Task* oldest() const { return lists_[begin_ & mask()]; }
  void drop_newest() { --end_; }
  void drop_oldest() { ++begin_; }
  /// @throws std::bad_alloc, and nothing has changed.
  void reserve_one() {
    if (end_ - begin_ == lists_.size()) grow();
  }
  /// After reserve_one().
  void push_newest(Task* list) { lists_[end_++ & mask()] = list; }

 private:
  std::size_t mask() const { return lists_.size() - 1; }
  void grow();

  std::size_t begin_ = 0, end_ = 0;  // modulo the size, a power of two
  std::vector<Task*> lists_;
};

class OwnTasks {
 public:
  explicit OwnTasks(TaskList& created) : created_(created) {}
  OwnTasks(const OwnTasks&) = delete;
  OwnTasks& operator=(const OwnTasks&) = delete;

  bool is_empty() const { return created_.is_empty() && !has_others_; }
  /// Nothing is anywhere else.
  bool has_only_created() const { return !has_others_; }
  void append_fair(Task* task) {
    fair_.append(task);
    has_others_ = true;
  }
  /// In front of all that wait: they were to run next, or were the oldest. The last one's next is undefined.
  void put_back(const Chain& chain);
  /// The task that the worker will take first, if the size stays; null if there is none.
  const Task* next(std::uint64_t size) const;
  /// Moves up to `count` into the ring. `size`: how many there are. @returns how many were taken.
  /// @throws std::bad_alloc, and nothing has changed.
  unsigned take(Ring& ring, std::uint64_t count, std::uint64_t size) {
    if (!has_others_ && !are_many(size)) [[likely]]
      return ring.push_from(created_, count);
    const unsigned taken = take_in_turn(ring, count, size);
    look_for_others();
    return taken;
  }
  /// For others.
  Chain take_oldest(std::uint64_t count);
  /// By the watch, see PrivateTasks::hand_over().
  template <class CopyLast>
  void hand_over(Chain& chain, std::uint64_t most, CopyLast copy_last) {
    while (chain.size < most && !lists_.is_empty()) {
      Task*& list = lists_.oldest();
      Task* const task = list;
      list = next_of(task);
      if (list == nullptr) lists_.drop_oldest();
      chain.append(task);
    }
    native::hand_over(created_, chain, most, copy_last);
    native::hand_over(fair_, chain, most, copy_last);
  }
  bool has_any_seen() const {
    return created_.first_seen() != nullptr || !lists_.is_empty() || fair_.first_seen() != nullptr;
  }

 private:
  static bool are_many(std::uint64_t size) { return size > threshold(policy::kFewOwn, std::uint64_t{4}); }
  void look_for_others() { has_others_ = !lists_.is_empty() || !fair_.is_empty(); }
  unsigned take_newest(Ring& ring, std::uint64_t count);
  unsigned take_from_oldest(Ring& ring, std::uint64_t count);
  unsigned take_in_turn(Ring& ring, std::uint64_t count, std::uint64_t size);

  TaskList& created_;
  ListDeque lists_;
  TaskList fair_;
  bool has_others_ = false;  // beside `created`
  bool was_fair_ = false;    // the last take
  unsigned takes_left_ = policy::kTakesBeforeOldest;
};

}  // namespace rubato::inline v0::native
