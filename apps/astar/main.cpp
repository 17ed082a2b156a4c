// SPDX-License-Identifier: MIT
// astar: options, input, checks. `astar --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage or
// input.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "apps/astar/astar_tasks.hpp"
#include "apps/astar/coordinates.hpp"
#include "apps/astar/heuristic.hpp"
#include "apps/astar/search.hpp"
#include "apps/common/graph.hpp"
#include "apps/common/graph_generator.hpp"
#include "apps/common/graph_reader.hpp"
#include "apps/common/input_error.hpp"
#include "apps/common/options.hpp"

namespace rubato::apps {
namespace {

struct Options {
  std::string graph_file;
  std::string coordinates_file;
  std::string generate;
  std::optional<std::uint64_t> source, target;
  std::uint64_t seed = 1;
  TaskOptions tasks;
};

void declare(CommandLine& line, Options& o) {
  const auto file =
      line.add_option("--graph", o.graph_file, "Graph to read: DIMACS .gr, plain or gzip").type_name("FILE");
  line.add_option("--coordinates", o.coordinates_file,
                  "Coordinates of its vertices: DIMACS .co, plain or gzip (without: the estimate is 0, "
                  "Dijkstra's algorithm)")
      .needs(file)
      .type_name("FILE");
  line.add_option("--generate", o.generate,
                  "Graph to make instead, with coordinates: road:WIDTHxHEIGHT (default road:100x100)")
      .excludes(file)
      .type_name("WHAT");
  line.add_option("--source", o.source, "Vertex to start from, counted from 1 (default: the first)")
      .check(whole_number)
      .type_name("N");
  line.add_option("--target", o.target, "Vertex to reach, counted from 1 (default: the last)")
      .check(whole_number)
      .type_name("N");
  line.add_option("--seed", o.seed, "Seed of --generate (default 1)").check(whole_number).type_name("N");
  add_task_options(
      line, o.tasks,
      {.verify =
           "Compare with a serial A* and with Dijkstra's algorithm, and check that no estimate exceeds the "
           "real distance; exit 1 if anything differs",
       .serial = "Run only the serial A*, no tasks, for comparison"});
  line.footer(
      "Examples:\n"
      "  astar --generate road:300x300 --verify\n"
      "  astar --graph germany.gr --coordinates germany.co --source 1 --target 1000\n"
      "Prints the length of the shortest path and how many vertices were settled to find it.");
}

std::uint32_t vertex_of(const char* option, const std::optional<std::uint64_t>& chosen,
                        std::uint32_t otherwise, const Graph& graph) {
  if (!chosen) return otherwise;
  if (*chosen < 1 || *chosen > graph.vertices()) {
    throw InputError(std::string(option) + " " + std::to_string(*chosen) +
                     " is no vertex of this graph: they are 1 to " + std::to_string(graph.vertices()));
  }
  return static_cast<std::uint32_t>(*chosen - 1);
}

std::string text(std::uint64_t distance) {
  return distance == kNotSettled ? std::string("none") : std::to_string(distance);
}

/// Says the first difference, in the input's numbering.
bool check(const Graph& graph, const Heuristic& estimate, std::uint32_t source, std::uint32_t target,
           const std::vector<std::uint64_t>& distances) {
  const Heuristic zero;
  const auto shortest = serial_search(graph, zero, source, kNoTarget);
  const auto rest = serial_search(reversed(graph), zero, target, kNoTarget);
  const auto expected = serial_search(graph, estimate, source, target);
  if (distances[target] != shortest[target]) {
    std::printf("path length %s, but %s was expected\n", text(distances[target]).c_str(),
                text(shortest[target]).c_str());
    return false;
  }
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    if (estimate(v) > rest[v]) {
      std::printf("vertex %u: estimate %" PRIu64 " exceeds the distance %" PRIu64 "\n", v + 1, estimate(v),
                  rest[v]);
      return false;
    }
    if (distances[v] != expected[v]) {
      std::printf("vertex %u: distance %s, but %s was expected\n", v + 1, text(distances[v]).c_str(),
                  text(expected[v]).c_str());
      return false;
    }
    if (distances[v] != kNotSettled && v != target && distances[v] < shortest[v]) {
      std::printf("vertex %u: distance %s is below the shortest\n", v + 1, text(distances[v]).c_str());
      return false;
    }
  }
  return true;
}

int run_astar(const Options& o) {
  std::vector<Point> points;
  GraphReaderOptions reader;
  reader.format = GraphFormat::gr;
  const Graph graph = o.graph_file.empty()
                          ? generate_graph(o.generate.empty() ? "road:100x100" : o.generate, o.seed, &points)
                          : read_graph(o.graph_file, reader);
  if (!o.coordinates_file.empty()) points = read_coordinates(o.coordinates_file, graph.vertices());
  const std::uint32_t source = vertex_of("--source", o.source, 0, graph);
  const std::uint32_t target = vertex_of("--target", o.target, graph.vertices() - 1, graph);
  const Heuristic estimate(graph, points, target);
  std::printf("graph: %" PRIu32 " vertices, %zu arcs, %s\n", graph.vertices(), graph.arcs.size(),
              estimate.scale() > 0 ? "with an estimate from coordinates" : "no estimate");
  const auto distances = o.tasks.is_serial
                             ? serial_region([&] { return serial_search(graph, estimate, source, target); })
                             : astar(graph, estimate, source, target, o.tasks.type);
  const auto settled = distances.size() -
                       static_cast<std::size_t>(std::count(distances.begin(), distances.end(), kNotSettled));
  std::printf("path length: %s\nsettled: %zu\n", text(distances[target]).c_str(), settled);
  if (!o.tasks.verify) return 0;
  const bool passed = check(graph, estimate, source, target, distances);
  return report_check(passed);
}

constexpr Application<Options> kApplication{
    .name = "astar",
    .description = "Route search (A*) as ordered tasks (Espresso, Table III).",
    .declare = declare,
    .run = run_astar};

}  // namespace
}  // namespace rubato::apps

int main(int argc, char** argv) {
  return rubato::apps::run_application(rubato::apps::kApplication, argc, argv);
}
