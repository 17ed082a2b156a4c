// Members of a worker that other workers touch, on cache lines of their own. R2 and R10.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "native/pool/atomics.hpp"
#include "native/pool/ready_set.hpp"
#include "native/pool/task_list.hpp"

namespace rubato::inline v0::native {

struct alignas(64) SeenByOthers {
  explicit SeenByOthers(unsigned pools) : ready(pools), pinned(1) {}

  Atomic<Task*> published{nullptr};  ///< a list that ends with null: the thread that exchanges it has it
  Atomic<bool> must_distribute{false};
  Atomic<bool> is_idle{false};
  Atomic<bool> has_kept{false};           ///< it has paused, and has tasks that no other can take
  Atomic<unsigned> prefetch_distance{0};  ///< the ring's
  Atomic<std::uint64_t> idle_ends{0};     ///< how often it was idle and went on
  /// The running task if the watch has found it long, by its number: tasks that ended before it, and 1.
  /// 0: none. Turns that it makes due are published at once.
  Atomic<std::uint64_t> long_task{0};
  ReadySet<StdAtomics> ready;   ///< shared pools
  ReadySet<StdAtomics> pinned;  ///< its own

  /// Ordered by seq_cst against a worker that announces that it is idle.
  bool has_published() const { return published.load(std::memory_order_seq_cst) != nullptr; }
  bool has_ready_pools() const { return !ready.is_empty(); }
  bool has_work_of_its_own() const {
    return !pinned.is_empty() || must_distribute.load(std::memory_order_seq_cst) ||
           has_kept.load(std::memory_order_seq_cst);
  }
};

}  // namespace rubato::inline v0::native
