// SPDX-License-Identifier: MIT
#include "runtime/order/groups.hpp"

#include "runtime/failure.hpp"
#include "runtime/pool/perturbation.hpp"

namespace rubato::runtime {

using engine::GroupState;

bool Groups::block(Task* task, TaskGroup& group) {
  if (group.is_complete()) return false;
  perturb();
  const std::lock_guard lock(mutex_);
  const auto [waiting, is_first] = blocked_.try_emplace(&group);
  try {
    waiting->second.push_back(task);
  } catch (...) {
    if (is_first) blocked_.erase(waiting);
    throw;
  }
  std::uint64_t& pending = GroupState::pending(group);
  const std::uint64_t before = __atomic_fetch_or(&pending, kWaited, __ATOMIC_ACQ_REL);
  perturb();
  if ((before & ~kWaited) == 0 && is_first) {  // completed meanwhile, and nobody is about to release()
    blocked_.erase(waiting);
    __atomic_fetch_and(&pending, ~kWaited, __ATOMIC_ACQ_REL);
    return false;
  }
  return true;
}

Chain Groups::release(TaskGroup& group) {
  Chain chain;
  perturb();
  const std::lock_guard lock(mutex_);
  const auto found = blocked_.find(&group);
  if (found == blocked_.end()) return chain;
  std::uint64_t waited = kWaited;  // a member may have come in
  if (!__atomic_compare_exchange_n(&GroupState::pending(group), &waited, 0, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED)) {
    return chain;
  }
  for (Task* const task : found->second) chain.append(task);
  blocked_.erase(found);
  return chain;
}

std::uint64_t Groups::blocked() {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [group, tasks] : blocked_) sum += tasks.size();
  return sum;
}

const Task* Groups::first() {
  const std::lock_guard lock(mutex_);
  const Task* first = nullptr;
  for (const auto& [group, tasks] : blocked_) {
    for (const Task* const task : tasks) {
      if (first == nullptr || timestamp_if_any(*task) < timestamp_if_any(*first)) first = task;
    }
  }
  return first;
}

Chain Groups::clear() {
  const std::lock_guard lock(mutex_);
  Chain chain;
  for (auto& [group, tasks] : blocked_) {
    __atomic_fetch_and(&GroupState::pending(*group), ~kWaited, __ATOMIC_ACQ_REL);
    for (Task* const task : tasks) chain.append(task);
  }
  blocked_.clear();
  return chain;
}

}  // namespace rubato::runtime
