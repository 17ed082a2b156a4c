// SPDX-License-Identifier: MIT
// The thread that sets the level of a vertex, by a compare-and-swap, puts it into the next frontier.
#include "apps/bfs/bfs_threads.hpp"

#include <atomic>

#include "apps/bfs/serial_bfs.hpp"
#include "apps/common/frontier.hpp"

namespace rubato::apps {
namespace {

/// @returns whether this thread is the first to reach the vertex
bool reach(std::uint64_t& vertex, std::uint64_t level) {
  const std::atomic_ref shared(vertex);
  std::uint64_t before = shared.load(std::memory_order_relaxed);
  return before == kUnreached && shared.compare_exchange_strong(before, level, std::memory_order_relaxed);
}

}  // namespace

std::vector<std::uint64_t> bfs_threads(const Graph& graph, std::uint32_t source, std::uint32_t threads) {
  std::vector<std::uint64_t> levels(graph.vertices(), kUnreached);
  levels[source] = 0;
  Frontier frontier(threads);
  ThreadTeam::run(threads, [&](ThreadTeam::Member& me) {
    Frontier::Part part(frontier, me);
    if (me.index() == 0) part.found().push_back(source);
    for (std::uint64_t level = 1; part.advance(); ++level) {
      part.for_each([&](std::uint32_t v) {
        for (std::uint32_t a = graph.first_arc[v]; a != graph.first_arc[v + 1]; ++a) {
          const std::uint32_t head = graph.arcs[a].head;
          if (reach(levels[head], level)) part.found().push_back(head);
        }
      });
    }
  });
  return levels;
}

}  // namespace rubato::apps
