// SPDX-License-Identifier: MIT
#include "native/worker/shared_pools.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "native/policy.hpp"
#include "native/topology/numa.hpp"

namespace rubato::inline v0::native {

void SharedPools::make(unsigned workers, const std::vector<unsigned>& nodes) {
  const std::lock_guard lock(mutex_);
  workers_ = workers;
  of_node_.clear();
  if (std::adjacent_find(nodes.begin(), nodes.end(), std::not_equal_to<>()) != nodes.end()) {
    of_node_.resize(*std::max_element(nodes.begin(), nodes.end()) + 1);
    for (unsigned w = 0; w < workers; ++w) of_node_[nodes[w]].push_back(w);
  }
  count_ = policy::kPoolsAWorker;
  while (count_ < policy::kPoolsAWorker * workers) count_ *= 2;
  pools_ = std::make_unique<TaskPool[]>(count_ + workers);
  for (unsigned p = 0; p < count_; ++p) {
    pools_[p].index = p;
    pools_[p].home = p % workers;
  }
  for (unsigned w = 0; w < workers; ++w) {
    pinned(w).home = w;
    pinned(w).kind = TaskPool::Kind::pinned;
  }
  const std::uint16_t first = are_divided_ && !of_node_.empty() ? kNotGiven | kDivided : kNotGiven;
  for (auto& given : given_) given.store(first, std::memory_order_relaxed);
  given_count_.store(0, std::memory_order_relaxed);
  have_places_.store(false, std::memory_order_relaxed);
}

/// The worker that owns the pool sees both with the task, and an idle worker with the pool's ready bit.
void SharedPools::note_place(TaskPool& pool) {
  if (pool.has_places.load(std::memory_order_relaxed)) return;
  have_places_.store(true, std::memory_order_relaxed);
  pool.has_places.store(true, std::memory_order_relaxed);
}

void SharedPools::divide() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(are_divided_, true) || of_node_.empty()) return;
  for (auto& given : given_) given.fetch_or(kDivided, std::memory_order_relaxed);
}

/// The first time, and always when pools are divided. The address alone says which pool it is, so that it
/// never changes.
unsigned SharedPools::choose(std::uint64_t handle, std::uint64_t slot) {
  const std::uint16_t given = given_[slot].load(std::memory_order_relaxed);
  if ((given & kDivided) != 0 && (handle & engine::handle::kResource) != 0) {
    const std::uint64_t node = node_of_address(handle & engine::handle::kLocaleMask);
    if (node < of_node_.size() && !of_node_[node].empty()) {
      const std::vector<unsigned>& workers = of_node_[node];
      const std::uint64_t turn = slot / workers.size() % (count_ / workers_);
      return workers[slot % workers.size()] + workers_ * static_cast<unsigned>(turn);
    }
  }
  return (given & kNotGiven) != kNotGiven ? given & kNotGiven : give(slot);
}

unsigned SharedPools::give(std::uint64_t slot) {
  const unsigned next = given_count_.fetch_add(1, std::memory_order_relaxed) & (count_ - 1);
  std::uint16_t given = given_[slot].load(std::memory_order_relaxed);
  while ((given & kNotGiven) == kNotGiven) {
    const auto wanted = static_cast<std::uint16_t>((given & kDivided) | next);
    if (given_[slot].compare_exchange_weak(given, wanted, std::memory_order_relaxed)) return next;
  }
  return given & kNotGiven;
}

}  // namespace rubato::inline v0::native
