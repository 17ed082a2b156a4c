// path: shortest paths on a map, in place of SPEC's astar (docs/workloads.md).
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <memory>

#include "workloads/common/workload.hpp"
#include "workloads/path/search.hpp"

namespace rubato::workloads::path {
namespace {

struct Sizes {
  unsigned side = 704;
  unsigned span = 128;
};

/// Work of a thread: searches on a map of its own.
struct Traveller {
  Traveller(const Sizes& sizes, std::uint64_t seed) : search(sizes.side, seed), rng(mix64(seed)) {}
  Search search;
  Rng rng;
  std::uint64_t found = 0, total = 0;  ///< paths, and their lengths
  std::string wrong;                   ///< what --verify found
};

void check(Traveller& traveller, const Journey& journey, std::optional<std::uint32_t> length) {
  if (!traveller.wrong.empty()) return;
  const auto text = [](std::optional<std::uint32_t> l) {
    return l ? std::to_string(*l) : std::string("none");
  };
  const std::optional<std::uint32_t> plain = plain_length(traveller.search.map(), journey);
  if (length != plain)
    traveller.wrong =
        "a path's length is " + text(length) + ", and " + text(plain) + " by Dijkstra's algorithm";
  if (!length) return;
  const std::vector<std::size_t> path = traveller.search.path(journey);
  const Map& map = traveller.search.map();
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    sum += map[path[i]].cost;
    const std::size_t apart = path[i] > path[i + 1] ? path[i] - path[i + 1] : path[i + 1] - path[i];
    if (map[path[i]].cost == 0 || (apart != 1 && apart != map.side()))
      traveller.wrong = "a path leads over a wall or between fields that are not neighbours";
  }
  if (sum != *length)
    traveller.wrong = "the fields of a path cost " + std::to_string(sum) + ", not " + text(length);
}

void run(const Sizes& sizes, const WorkloadOptions& o) {
  std::vector<std::unique_ptr<Traveller>> travellers(o.threads);
  run_in_region(o, [&](unsigned thread, std::uint64_t searches, bool is_warm) {
    if (is_warm) travellers[thread] = std::make_unique<Traveller>(sizes, o.seed + thread);
    Traveller& traveller = *travellers[thread];
    for (std::uint64_t i = 0; i < searches; ++i) {
      const Journey journey = draw_journey(traveller.search.map(), sizes.span, traveller.rng);
      const std::optional<std::uint32_t> length = traveller.search.length(journey);
      if (length) {
        ++traveller.found;
        traveller.total += *length;
      }
      if (o.verify) check(traveller, journey, length);
    }
  });
  std::uint64_t found = 0, total = 0;
  for (const auto& traveller : travellers) {
    found += traveller->found;
    total += traveller->total;
    if (!traveller->wrong.empty()) throw WrongResult(traveller->wrong);
  }
  std::printf(
      "path: %llu paths of %llu searches, total length %llu\n", static_cast<unsigned long long>(found),
      static_cast<unsigned long long>(o.threads * (o.warm + o.work)), static_cast<unsigned long long>(total));
  if (o.verify) std::puts("path: verified");
}

}  // namespace
}  // namespace rubato::workloads::path

int main(int argc, char** argv) {
  using namespace rubato::workloads;
  rubato::CommandLine line("path", "Shortest paths on a map by A*; each thread has a map of its own");
  WorkloadOptions options;
  options.threads = 1;
  options.warm = 1;
  options.work = 6;
  path::Sizes sizes;
  add_workload_options(line, options, "searches of each thread");
  line.add_option("--side", sizes.side, "Fields of a side of the map, 16 bytes each (default 704)")
      .range(4U, 16384U);
  line.add_option("--span", sizes.span, "Fields from start to goal in each direction, at most (default 128)")
      .range(1U, 16384U);
  return workload_main(
      "path", line, [&] { path::run(sizes, options); }, argc, argv);
}
