// SPDX-License-Identifier: MIT
#include "apps/triangle/triangle_threads.hpp"

#include <atomic>
#include <cstddef>

#include "apps/common/morsels.hpp"
#include "apps/common/thread_team.hpp"
#include "apps/triangle/common_numbers.hpp"

namespace rubato::apps {

std::vector<std::uint64_t> triangles_threads(const Adjacency& graph, const PriorityOrder& priorities,
                                             std::uint32_t threads) {
  constexpr std::size_t kMorsel = 8;  // the counts of a cache line
  const Adjacency later = later_neighbours(graph, priorities);
  std::vector<std::uint64_t> counts(graph.vertices());
  alignas(64) std::atomic<std::size_t> next{0};
  ThreadTeam::run(threads, [&](ThreadTeam::Member&) {
    take_morsels(next, counts.size(), kMorsel, [&](std::size_t begin, std::size_t end) {
      for (std::size_t v = begin; v != end; ++v)
        counts[v] = triangles_at(later, static_cast<std::uint32_t>(v));
    });
  });
  return counts;
}

}  // namespace rubato::apps
