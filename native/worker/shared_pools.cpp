// SPDX-License-Identifier: MIT
#include "native/worker/shared_pools.hpp"

#include "native/policy.hpp"

namespace rubato::inline v0::native {

void SharedPools::make(unsigned workers) {
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
  for (auto& given : given_) given.store(kNotGiven, std::memory_order_relaxed);
  given_count_.store(0, std::memory_order_relaxed);
  have_places_.store(false, std::memory_order_relaxed);
}

/// The worker that owns the pool sees both with the task, and an idle worker with the pool's ready bit.
void SharedPools::note_place(TaskPool& pool) {
  if (pool.has_places.load(std::memory_order_relaxed)) return;
  have_places_.store(true, std::memory_order_relaxed);
  pool.has_places.store(true, std::memory_order_relaxed);
}

std::uint16_t SharedPools::give(std::uint64_t slot) {
  const unsigned given_before = given_count_.fetch_add(1, std::memory_order_relaxed);
  const auto next = static_cast<std::uint16_t>(given_before & (count_ - 1));
  std::uint16_t given = kNotGiven;
  return given_[slot].compare_exchange_strong(given, next, std::memory_order_relaxed) ? next : given;
}

}  // namespace rubato::inline v0::native
