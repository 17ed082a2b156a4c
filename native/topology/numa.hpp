// NUMA nodes of this machine, and memory on them: by hwloc. Without it there are none.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace rubato::inline v0::native {

/// The numbers of the nodes, ascending.
std::vector<unsigned> memory_nodes();

/// The node of each CPU of the machine that HWLOC_SYNTHETIC or HWLOC_XMLFILE describes in place of this one.
/// Empty if neither is set.
std::map<unsigned, unsigned> described_nodes();

/// Fresh pages on a node. Null: there is no such node, or the system refuses.
void* map_on_node(std::size_t bytes, unsigned node);

}  // namespace rubato::inline v0::native
