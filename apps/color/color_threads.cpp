// SPDX-License-Identifier: MIT
// A vertex counts its earlier neighbours without a colour. The thread that colours the last of them colours
// the vertex, too, or puts it into the next frontier if it has many.
#include "apps/color/color_threads.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <utility>

#include "apps/common/frontier.hpp"

namespace rubato::apps {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// The vertices, as all threads see them. A thread writes a colour before it lowers the counts of later
/// neighbours; so the thread that lowers a count to zero sees all earlier colours.
struct Vertices {
  const Adjacency& graph;
  const std::vector<std::uint32_t>& turn;
  std::vector<std::uint32_t> colors;
  std::vector<std::uint32_t> missing;  // earlier neighbours without a colour
};

/// The work of a thread.
class Coloring {
 public:
  explicit Coloring(Vertices& vertices)
      : all_(vertices), taken_for_(std::size_t{vertices.graph.vertices()} + 1, kNone) {}

  void run(Frontier& frontier, ThreadTeam::Member& me) {
    Frontier::Part part(frontier, me);
    const std::size_t count = all_.colors.size();
    for (std::size_t i = me.part_begin(count); i != me.part_end(count); ++i) {
      const auto v = static_cast<std::uint32_t>(i);
      if (all_.missing[v] == 0) part.found().push_back(v);
    }
    while (part.advance()) {
      part.for_each([&](std::uint32_t v) {
        own_.push_back(v);
        while (!own_.empty()) {
          const std::uint32_t next = own_.back();
          own_.pop_back();
          color(next, part.found());
        }
      });
    }
  }

 private:
  static constexpr std::size_t kAlone = 16;  // vertices that a thread keeps for itself

  void color(std::uint32_t v, std::vector<std::uint32_t>& for_all) {
    const auto neighbours = all_.graph.of(v);
    for (const std::uint32_t other : neighbours) {
      if (all_.turn[other] < all_.turn[v]) taken_for_[all_.colors[other]] = v;
    }
    std::uint32_t least = 0;
    while (taken_for_[least] == v) ++least;
    all_.colors[v] = least;
    for (const std::uint32_t other : neighbours) {
      if (all_.turn[other] < all_.turn[v]) continue;
      if (std::atomic_ref(all_.missing[other]).fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
      (own_.size() < kAlone ? own_ : for_all).push_back(other);
    }
  }

  Vertices& all_;
  std::vector<std::uint32_t> own_;
  std::vector<std::uint32_t> taken_for_;  // by colour: the last vertex that could not have it
};

}  // namespace

std::vector<std::uint32_t> color_threads(const Adjacency& graph, const PriorityOrder& priorities,
                                         std::uint32_t threads) {
  Vertices vertices{graph, priorities.turn, std::vector<std::uint32_t>(graph.vertices()),
                    std::vector<std::uint32_t>(graph.vertices())};
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    const auto neighbours = graph.of(v);
    vertices.missing[v] = static_cast<std::uint32_t>(
        std::count_if(neighbours.begin(), neighbours.end(),
                      [&](std::uint32_t other) { return priorities.turn[other] < priorities.turn[v]; }));
  }
  Frontier frontier(threads);
  ThreadTeam::run(threads, [&](ThreadTeam::Member& me) { Coloring(vertices).run(frontier, me); });
  return std::move(vertices.colors);
}

}  // namespace rubato::apps
