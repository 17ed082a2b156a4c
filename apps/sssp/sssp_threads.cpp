// SPDX-License-Identifier: MIT
// A bucket holds the vertices whose distances are in a range of `delta`. All threads relax the arcs of the
// first bucket that is not empty, until it stays empty. A vertex whose distance falls is put into a bucket of
// the thread that found it, and stays in the old one, which later skips it.
#include "apps/sssp/sssp_threads.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <limits>

#include "apps/common/frontier.hpp"
#include "apps/sssp/dijkstra.hpp"

namespace rubato::apps {
namespace {

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

std::uint32_t longest_arc(const Graph& graph) {
  std::uint32_t longest = 1;
  for (const Arc& arc : graph.arcs) longest = std::max(longest, arc.length);
  return longest;
}

/// A thread's vertices by distance. Used buckets lie less than longest / delta + 3 apart, so they are a ring.
class Buckets {
 public:
  Buckets(std::uint32_t longest, unsigned delta_bits)
      : delta_bits_(delta_bits), ring_(std::size_t{longest >> delta_bits} + 3) {}

  void put(std::uint32_t vertex, std::uint64_t distance) { at(distance >> delta_bits_).push_back(vertex); }
  std::vector<std::uint32_t>& at(std::uint64_t bucket) { return ring_[bucket % ring_.size()]; }
  /// The first bucket from `bucket` on that is not empty; kNone if all are.
  std::uint64_t first(std::uint64_t bucket) const {
    for (std::uint64_t b = bucket; b != bucket + ring_.size(); ++b) {
      if (!ring_[b % ring_.size()].empty()) return b;
    }
    return kNone;
  }

 private:
  unsigned delta_bits_;
  std::vector<std::vector<std::uint32_t>> ring_;
};

/// @returns whether the distance fell to `distance`
bool lower(std::uint64_t& vertex, std::uint64_t distance) {
  const std::atomic_ref shared(vertex);
  std::uint64_t before = shared.load(std::memory_order_relaxed);
  while (distance < before) {
    if (shared.compare_exchange_weak(before, distance, std::memory_order_relaxed)) return true;
  }
  return false;
}

/// As a power of two, the longest arc over the mean number of arcs of a vertex (Meyer and Sanders, Sec. 4).
unsigned delta_bits(const Graph& graph, std::uint32_t longest) {
  const std::uint64_t arcs = std::max<std::uint64_t>(graph.arcs.size(), 1);
  const std::uint64_t delta = std::uint64_t{longest} * graph.vertices() / arcs;
  return static_cast<unsigned>(std::bit_width(std::clamp<std::uint64_t>(delta, 1, longest)) - 1);
}

/// The work of a thread.
class Relaxation {
 public:
  Relaxation(const Graph& graph, std::vector<std::uint64_t>& distances, std::uint32_t longest, unsigned bits)
      : graph_(graph), distances_(distances), bits_(bits), buckets_(longest, bits) {}

  void run(std::uint32_t source, Frontier& frontier, ThreadTeam::Member& me) {
    Frontier::Part part(frontier, me);
    std::vector<std::uint32_t> own;
    if (me.index() == 0) buckets_.put(source, 0);
    std::uint64_t bucket = 0;
    while ((bucket = me.all_min(buckets_.first(bucket))) != kNone) {
      part.found().swap(buckets_.at(bucket));
      part.advance();
      part.for_each([&](std::uint32_t v) { relax(v, bucket); });
      // A few vertices are done without the others, which saves barriers (bucket fusion: Zhang et al., 2020).
      while (!buckets_.at(bucket).empty() && buckets_.at(bucket).size() < kAlone) {
        own.clear();
        own.swap(buckets_.at(bucket));
        for (const std::uint32_t v : own) relax(v, bucket);
      }
    }
  }

 private:
  static constexpr std::size_t kAlone = 64;

  void relax(std::uint32_t v, std::uint64_t bucket) {
    const std::uint64_t distance = std::atomic_ref(distances_[v]).load(std::memory_order_relaxed);
    if (distance >> bits_ < bucket) return;  // its arcs were relaxed with the bucket where it is now
    for (std::uint32_t a = graph_.first_arc[v]; a != graph_.first_arc[v + 1]; ++a) {
      const Arc& arc = graph_.arcs[a];
      if (lower(distances_[arc.head], distance + arc.length)) buckets_.put(arc.head, distance + arc.length);
    }
  }

  const Graph& graph_;
  std::vector<std::uint64_t>& distances_;
  const unsigned bits_;
  Buckets buckets_;
};

}  // namespace

std::vector<std::uint64_t> sssp_threads(const Graph& graph, std::uint32_t source, std::uint32_t threads) {
  std::vector<std::uint64_t> distances(graph.vertices(), kUnset);
  distances[source] = 0;
  const std::uint32_t longest = longest_arc(graph);
  const unsigned bits = delta_bits(graph, longest);
  Frontier frontier(threads);
  ThreadTeam::run(threads, [&](ThreadTeam::Member& me) {
    Relaxation(graph, distances, longest, bits).run(source, frontier, me);
  });
  return distances;
}

}  // namespace rubato::apps
