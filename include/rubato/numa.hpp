// Objects on NUMA nodes: their memory lies where the program says, as tasks run where `.numa` says
// (annotations.hpp). Not part of rubato.hpp: include it where it is used.
//
//   for (const unsigned node : rubato::numa_nodes())
//     tables.push_back(rubato::make_resource_on<Table>(node, {}));
//
// Natively hwloc places the memory. A node that there is not, or a system that refuses, gives memory of any
// node: numa_bytes() says what lies where. The other engines have no nodes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "rubato/resource.hpp"

namespace rubato::inline v0 {

#if defined(RUBATO_ENGINE_NATIVE)
namespace engine {

/// While it lives, resources that this thread makes lie on a NUMA node.
class NodeScope {
 public:
  explicit NodeScope(std::uint32_t node);
  ~NodeScope();
  NodeScope(const NodeScope&) = delete;
  NodeScope& operator=(const NodeScope&) = delete;

 private:
  const std::uint32_t before_;
};

}  // namespace engine

/// Numbers of the NUMA nodes on which resources can lie, ascending; none without hwloc.
std::vector<unsigned> numa_nodes();
/// The node for which `.numa` chooses the calling worker. For other threads, and for workers without CPUs of
/// their own, that of the CPU on which the thread runs, or has just run.
unsigned numa_node();
/// Bytes of resources that make_resource_on() has put on a node and that are not freed.
std::uint64_t numa_bytes(unsigned node);
#else
inline std::vector<unsigned> numa_nodes() { return {}; }
inline unsigned numa_node() { return 0; }
inline std::uint64_t numa_bytes(unsigned) { return 0; }
#endif

/// As make_resource(); the object's memory, and that of resources which its constructor makes, lies on the
/// NUMA node of this number.
template <class T, class... Args>
inline resource<T> make_resource_on([[maybe_unused]] unsigned node, ResourceOptions options, Args&&... args) {
#if defined(RUBATO_ENGINE_NATIVE)
  const engine::NodeScope scope(node);
#endif
  return make_resource<T>(options, std::forward<Args>(args)...);
}

}  // namespace rubato::inline v0
