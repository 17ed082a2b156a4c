// SPDX-License-Identifier: MIT
#include "native/worker/own_tasks.hpp"

namespace rubato::inline v0::native {

void ListDeque::grow() {
  std::vector<Task*> larger(2 * lists_.size());
  const std::size_t size = end_ - begin_;
  for (std::size_t i = 0; i < size; ++i) larger[i] = lists_[(begin_ + i) & mask()];
  lists_.swap(larger);
  begin_ = 0;
  end_ = size;
}

void OwnTasks::put_back(const Chain& chain) {
  if (chain.is_empty()) return;
  if (lists_.is_empty()) return prepend(created_, chain);
  link(chain.last, lists_.oldest());
  lists_.oldest() = chain.first;
}

const Task* OwnTasks::next(std::uint64_t size) const {
  if (are_many(size) && !created_.is_empty()) return created_.first();
  if (!lists_.is_empty()) return are_many(size) ? lists_.newest() : lists_.oldest();
  return created_.is_empty() ? fair_.first() : created_.first();
}

unsigned OwnTasks::take_in_turn(Ring& ring, std::uint64_t count, std::uint64_t size) {
  was_fair_ = !fair_.is_empty() && (!was_fair_ || (created_.is_empty() && lists_.is_empty()));
  if (was_fair_) return ring.push_from(fair_, count);
  if (are_many(size)) {
    if (--takes_left_ != 0) return take_newest(ring, count);
    takes_left_ = threshold(policy::kTakesBeforeOldest, 4u);
  }
  return take_from_oldest(ring, count);
}

/// Several lists, if the newest are short. The created tasks are newer than all that stay here, and less deep
/// by one level at least. So there are never more lists than levels (twice as many, for those still in the
/// ring).
unsigned OwnTasks::take_newest(Ring& ring, std::uint64_t count) {
  if (!created_.is_empty()) {
    lists_.reserve_one();
    lists_.push_newest(created_.take_all());
    has_others_ = true;
  }
  unsigned taken = 0;
  while (taken < count && !lists_.is_empty()) {
    const unsigned some = ring.push_from(lists_.newest(), count - taken);
    if (lists_.newest() == nullptr) lists_.drop_newest();
    if (some == 0) break;  // no room
    taken += some;
  }
  return taken;
}

unsigned OwnTasks::take_from_oldest(Ring& ring, std::uint64_t count) {
  if (lists_.is_empty()) return ring.push_from(created_, count);
  const unsigned taken = ring.push_from(lists_.oldest(), count);
  if (lists_.oldest() == nullptr) lists_.drop_oldest();
  return taken;
}

Chain OwnTasks::take_oldest(std::uint64_t count) {
  Chain chain;
  while (chain.size < count && !lists_.is_empty()) {
    Task*& list = lists_.oldest();
    Task* const task = list;
    list = next_of(task);
    if (list == nullptr) lists_.drop_oldest();
    chain.append(task);
  }
  chain.append(native::take(created_, count - chain.size));
  chain.append(native::take(fair_, count - chain.size));
  look_for_others();
  return chain;
}

}  // namespace rubato::inline v0::native
