// SPDX-License-Identifier: MIT
#include "native/order/groups.hpp"

#include <thread>
#include <utility>

#include "base/perturbation.hpp"
#include "native/failure.hpp"
#include "native/sync/spin.hpp"

namespace rubato::inline v0::native {

using engine::extension_of;
using engine::GroupState;

/// Held for a few instructions.
class Groups::Lock {
 public:
  explicit Lock(Part& part) : part_(part) {
    const auto try_it = [&part] {
      return !part.is_locked.load(std::memory_order_relaxed) &&
             !part.is_locked.exchange(true, std::memory_order_acquire);
    };
    while (!spin<StdAtomics>(kSpinTries, try_it)) std::this_thread::yield();
  }
  ~Lock() { part_.is_locked.store(false, std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Part& part_;
};

void Groups::note(Part& part, Task* task) {
  extension_of(task)->blocked_before = nullptr;
  extension_of(task)->blocked_behind = part.blocked;
  if (part.blocked != nullptr) extension_of(part.blocked)->blocked_before = task;
  part.blocked = task;
}

void Groups::forget(Part& part, Task* task) {
  Task* const before = extension_of(task)->blocked_before;
  Task* const behind = extension_of(task)->blocked_behind;
  (before != nullptr ? extension_of(before)->blocked_behind : part.blocked) = behind;
  if (behind != nullptr) extension_of(behind)->blocked_before = before;
}

// The list of a group is a ring: `held` is the last task, whose next is the first.

bool Groups::block(Task* task, TaskGroup& group) {
  if (group.is_complete()) return false;
  perturb();
  Part& part = part_of(group);
  const Lock lock(part);
  std::uint64_t& word = GroupState::pending(group);
  std::uint64_t seen = __atomic_load_n(&word, __ATOMIC_ACQUIRE);
  do {
    if (seen == 0) return false;
    perturb();
  } while ((seen & kWaited) == 0 && !__atomic_compare_exchange_n(&word, &seen, seen | kWaited, true,
                                                                 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  // The task is in the list before the last member leaves, because that one needs the latch.
  void*& held = GroupState::held(group);
  if (auto* const last = static_cast<Task*>(held)) {
    link(task, next_of(last));
    link(last, task);
  } else {
    link(task, task);
  }
  held = task;
  note(part, task);
  return true;
}

Chain Groups::release(TaskGroup& group, std::uint64_t& seen) {
  perturb();
  Part& part = part_of(group);
  const Lock lock(part);
  void* const held = std::exchange(GroupState::held(group), nullptr);
  perturb();
  Chain chain;
  if (!__atomic_compare_exchange_n(&GroupState::pending(group), &seen, 0, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED)) {
    GroupState::held(group) = held;  // members came in
    return chain;
  }
  auto* const last = static_cast<Task*>(held);
  Task* const first = next_of(last);
  link(last, nullptr);
  for (Task* task = first; task != nullptr;) {
    Task* const behind = next_of(task);
    forget(part, task);
    chain.append(task);
    task = behind;
  }
  return chain;
}

template <class Each>
void Groups::each_blocked(Each each) {
  for (Part& part : parts_) {
    const Lock lock(part);
    for (Task* task = part.blocked; task != nullptr;) {
      Task* const behind = extension_of(task)->blocked_behind;
      each(task);
      task = behind;
    }
  }
}

std::uint64_t Groups::blocked() {
  std::uint64_t sum = 0;
  each_blocked([&sum](Task*) { ++sum; });
  return sum;
}

const Task* Groups::first() {
  const Task* first = nullptr;
  each_blocked([&first](Task* task) {
    if (first == nullptr || timestamp_if_any(*task) < timestamp_if_any(*first)) first = task;
  });
  return first;
}

Chain Groups::clear() {
  Chain chain;
  each_blocked([&chain](Task* task) {
    TaskGroup& group = *engine::after_of(task);
    GroupState::held(group) = nullptr;
    __atomic_fetch_and(&GroupState::pending(group), kMembers, __ATOMIC_ACQ_REL);
    chain.append(task);
  });
  for (Part& part : parts_) part.blocked = nullptr;
  return chain;
}

}  // namespace rubato::inline v0::native
