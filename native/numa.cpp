// NUMA nodes, for programs (rubato/numa.hpp). Memory on them: native/memory/placed_blocks.hpp.
// SPDX-License-Identifier: MIT
#include "rubato/numa.hpp"

#include <sched.h>

#include "native/memory/placed_blocks.hpp"
#include "native/topology/numa.hpp"
#include "native/topology/topology.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/worker.hpp"

namespace rubato::inline v0 {

void native::begin_placing() {
  [[maybe_unused]] static const bool is_done = (the_shared().pools.divide(), true);
}

std::vector<unsigned> numa_nodes() { return native::memory_nodes(); }

unsigned numa_node() {
  const engine::ThreadState* const self = engine::current_thread;
  if (self != nullptr && self->is_worker) {
    const auto& worker = static_cast<const native::Worker&>(*self);
    if (const auto node = worker.shared.node_of_worker(worker.index)) return *node;
  }
  return native::Shared::machine().node_of(static_cast<unsigned>(sched_getcpu()));
}

}  // namespace rubato::inline v0
