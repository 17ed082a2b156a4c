// NUMA nodes, for programs (rubato/numa.hpp). Memory on them: native/memory/placed_blocks.hpp.
// SPDX-License-Identifier: MIT
#include "rubato/numa.hpp"

#include <sched.h>

#include "native/topology/numa.hpp"
#include "native/topology/topology.hpp"
#include "native/worker/shared.hpp"

namespace rubato::inline v0 {

std::vector<unsigned> numa_nodes() { return native::memory_nodes(); }

unsigned numa_node() { return native::Shared::machine().node_of(static_cast<unsigned>(sched_getcpu())); }

}  // namespace rubato::inline v0
