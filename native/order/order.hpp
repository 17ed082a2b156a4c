// State of timestamp order that all workers share: the current timestamp, and the right to go on to the next.
// R9. Its use: native/worker/ordered_part.cpp.
//
//   phase     tasks of the current timestamp are run by        over when
//   inline    the owner alone; `left` counts them              left == 0
//   shared    all workers, through pools and published chunks  outstanding reaches 0; the last
//                                                              worker to finish is the owner
//
// Linked tasks of later timestamps are in the worker's radix heap; of a timestamp with very many, most are
// packed (native/order/packed_tasks.hpp), with several workers by pool. Such a timestamp's phase is always
// shared.
//
// Between two phases nothing timestamped runs, so the owner may touch every worker's heap; within a phase
// each worker touches its own. Workers collect what they add and finish in a shared phase
// (OrderedPart::phase_delta_) and settle it before another worker can see a task of theirs, and when they run
// dry. A task that is not settled was created, perhaps through others, by a settled one whose end is not
// settled either, so outstanding is 0 only at the end.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "native/pool/atomics.hpp"

namespace rubato::inline v0::native {

struct alignas(64) Order {
  static constexpr unsigned kNoOwner = ~0u;

  Atomic<std::uint64_t> current{0};
  Atomic<unsigned> owner{0};
  Atomic<bool> is_shared{false};
  /// The owner runs tasks with locales outside their pools. A worker that claims a pool looks at this: only a
  /// task without a timestamp can be in the pool then (see has_mixed).
  Atomic<bool> is_inline{false};
  /// In this run a task without a timestamp went into a pool. Set before it is pushed; is_inline is set
  /// before the owner looks here. So either the owner sees it, or the worker that claims the pool sees
  /// is_inline, and no task runs twice.
  Atomic<bool> has_mixed{false};

  alignas(64) Atomic<std::int64_t> outstanding{0};
  std::uint64_t left = 0;     ///< the owner's
  std::uint64_t blocked = 0;  ///< the owner's: tasks of the current timestamp that waited for a group
  /// The owner's: no other worker's heap has an earlier timestamp. Until the next shared phase, since only
  /// the owner pushes before.
  std::uint64_t others = 0;

  /// Outside run().
  void begin() {
    owner.store(0, std::memory_order_relaxed);
    is_shared.store(false, std::memory_order_relaxed);
    is_inline.store(false, std::memory_order_relaxed);
    has_mixed.store(false, std::memory_order_relaxed);
    outstanding.store(0, std::memory_order_relaxed);
    left = blocked = others = 0;
  }
};

}  // namespace rubato::inline v0::native
