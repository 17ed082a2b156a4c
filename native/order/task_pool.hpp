// A pool of tasks that nothing runs beside each other: of locales, of a worker, of other threads. R2.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "native/order/packed_tasks.hpp"
#include "native/pool/atomics.hpp"
#include "native/pool/pool.hpp"
#include "rubato/engine/native_task.hpp"

namespace rubato::inline v0::native {

struct alignas(128) TaskPool : Pool<StdAtomics, Task> {
  enum class Kind : std::uint8_t { shared, pinned, inbox };
  unsigned index = 0;  ///< shared: in every ready set; pinned: 0, in its worker's
  /// The owner's: the worker that it becomes ready at, unless that one is idle. Shared: the last to steal it.
  unsigned home = 0;
  Kind kind = Kind::shared;
  /// Shared: a task that asks for a worker or a NUMA node has gone to it. Written before that task is pushed.
  Atomic<bool> has_places{false};
  /// The place that its first task asks for, as TaskExtension::core has it. Written before the pool becomes
  /// ready.
  Atomic<std::uint32_t> place{engine::kAnywhere};
  /// The owner's, like the pool's head: tasks that came as one (see make_carrier), and run before what is
  /// linked.
  PackedTasks packed;
};

}  // namespace rubato::inline v0::native
