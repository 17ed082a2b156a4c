// SPDX-License-Identifier: MIT
// triangle: options, input, result. `triangle --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage
// or input.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "apps/common/graph_options.hpp"
#include "apps/common/priority_order.hpp"
#include "apps/common/thread_options.hpp"
#include "apps/common/vertex_check.hpp"
#include "apps/triangle/serial_triangles.hpp"
#include "apps/triangle/triangle_tasks.hpp"
#include "apps/triangle/triangle_threads.hpp"

namespace rubato::apps {
namespace {

struct Options {
  GraphOptions graph;
  TaskOptions tasks;
  ThreadOptions threads;
};

void declare(CommandLine& line, Options& o) {
  o.graph.reader.unit_lengths = true;
  add_graph(line, o.graph);
  add_seed(line, o.graph.seed, "Seed of --generate (default 1)");
  add_task_options(line, o.tasks,
                   {.verify = "Compare every vertex's count with a serial one; exit 1 if one differs",
                    .serial = "Run only the serial algorithm, no tasks, for comparison"});
  add_thread_options(line, o.threads);
  line.footer(
      "A task a vertex, without timestamps: it counts the triangles of which its vertex has the fewest\n"
      "neighbours. Arcs are edges in both directions; lengths and loops mean nothing.\n"
      "Examples:\n"
      "  triangle --generate rmat:10:8 --verify\n"
      "  triangle --graph california.gr --type spec\n"
      "Prints the number of edges and of triangles, and the most triangles that one task counted.");
}

int run_triangle(const Options& o) {
  const Graph graph = load_graph(o.graph);
  const Adjacency adjacency = undirected(graph);
  const PriorityOrder priorities = smallest_degree_first(adjacency);
  const auto counts = o.tasks.is_serial
                          ? serial_region([&] { return serial_triangles(adjacency, priorities); })
                      : o.threads.are_chosen() ? triangles_threads(adjacency, priorities, o.threads.count())
                                               : triangles(adjacency, priorities, o.tasks.type);
  const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  const std::uint64_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  std::printf("edges: %zu\ntriangles: %" PRIu64 "\nmost of one task: %" PRIu64 "\n",
              adjacency.neighbours.size() / 2, all, most);
  if (!o.tasks.verify) return 0;
  return check_vertices(graph, counts, serial_triangles(adjacency, priorities),
                        [](std::uint64_t count, std::uint64_t expected) {
                          return std::to_string(count) + " triangles, but " + std::to_string(expected) +
                                 " were expected";
                        });
}

constexpr Application<Options> kApplication{
    .name = "triangle",
    .description = "Triangles of a graph, counted by tasks without an order.",
    .declare = declare,
    .run = run_triangle};

}  // namespace
}  // namespace rubato::apps

int main(int argc, char** argv) {
  return rubato::apps::run_application(rubato::apps::kApplication, argc, argv);
}
