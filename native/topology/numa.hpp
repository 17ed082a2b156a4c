// NUMA nodes of this machine, and memory on them: by hwloc. Without it there are none.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace rubato::inline v0::native {

/// The numbers of the nodes, ascending.
std::vector<unsigned> memory_nodes();

/// The node of each CPU of the machine that HWLOC_SYNTHETIC or HWLOC_XMLFILE describes in place of this one.
/// Empty if neither is set.
std::map<unsigned, unsigned> described_nodes();

/// Addresses of a node's pages: each node has a range of its own, away from where the system puts the rest of
/// a process, so that a resource's address says its node without a look at the resource.
struct NodeAddresses {
  static constexpr std::uint64_t kFirst = std::uint64_t{1} << 45;  ///< of node 0
  static constexpr std::uint64_t kBytes = std::uint64_t{1} << 38;  ///< of each: 256 GiB
  static constexpr unsigned kNodes = 128;                          ///< others have none
};

/// The node in whose range an address is; for other addresses a number that no node has.
constexpr std::uint64_t node_of_address(std::uint64_t address) {
  const std::uint64_t node = (address - NodeAddresses::kFirst) / NodeAddresses::kBytes;
  return node < NodeAddresses::kNodes ? node : ~std::uint64_t{0};
}

/// Fresh pages on a node, aligned to a huge page if they are as large as one. They lie in the addresses of
/// the node, as long as it has unused ones and the system agrees. Null: there is no such node, or the system
/// refuses.
void* map_on_node(std::size_t bytes, unsigned node);

}  // namespace rubato::inline v0::native
