// SPDX-License-Identifier: MIT
// sssp: options, input, result. `sssp --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage or input.
#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "apps/common/graph_options.hpp"
#include "apps/common/vertex_check.hpp"
#include "apps/sssp/dijkstra.hpp"
#include "apps/sssp/sssp_tasks.hpp"

namespace rubato::apps {
namespace {

struct Options {
  GraphOptions graph;
  SourceOption source;
  TaskOptions tasks;
};

void declare(CLI::App& app, Options& o) {
  add_graph(app, o.graph);
  add_source(app, o.source);
  add_seed(app, o.graph.seed, "Seed of --generate (default 1)");
  app.add_option("--scale", o.graph.reader.scale,
                 "Multiply the values of a real matrix by this and round them")
      ->check([](const std::string& text) {
        double factor = 0;
        const bool is_positive = CLI::detail::lexical_cast(text, factor) && factor > 0;
        return is_positive ? std::string() : "'" + text + "' is not a positive number";
      })
      ->type_name("FACTOR");
  app.add_flag("--unit-lengths", o.graph.reader.unit_lengths,
               "Every arc has length 1, whatever the file or the generator says");
  add_task_options(app, o.tasks,
                   {.verify = "Compare every distance with a serial Dijkstra; exit 1 if one differs",
                    .serial = "Run only the serial Dijkstra, no tasks, for comparison"});
  app.footer(
      "Examples:\n"
      "  sssp --generate road:300x300 --verify\n"
      "  sssp --graph california.gr --source 1 --type nonspec\n"
      "Prints vertices reached, the largest distance and the sum of all distances.");
}

void print_summary(const std::vector<std::uint64_t>& distances) {
  std::uint64_t reached = 0, largest = 0, sum = 0;
  for (const std::uint64_t d : distances) {
    if (d == kUnset) continue;
    ++reached;
    sum += d;
    if (d > largest) largest = d;
  }
  std::printf("reached: %" PRIu64 "\nlargest distance: %" PRIu64 "\nsum of distances: %" PRIu64 "\n", reached,
              largest, sum);
}

std::string difference(std::uint64_t distance, std::uint64_t expected) {
  const auto text = [](std::uint64_t value) {
    return value == kUnset ? std::string("unreached") : std::to_string(value);
  };
  return "distance " + text(distance) + ", but " + text(expected) + " was expected";
}

int run_sssp(const Options& o) {
  const Graph graph = load_graph(o.graph);
  const std::uint32_t source = source_vertex(o.source, graph);
  const auto distances = o.tasks.is_serial ? dijkstra(graph, source) : sssp(graph, source, o.tasks.type);
  print_summary(distances);
  if (!o.tasks.verify) return 0;
  return check_vertices(graph, distances, dijkstra(graph, source), difference);
}

constexpr Application<Options> kApplication{
    .name = "sssp",
    .description = "Single-source shortest paths as ordered tasks (Espresso, Listing 1).",
    .declare = declare,
    .run = run_sssp};

}  // namespace
}  // namespace rubato::apps

int main(int argc, char** argv) {
  return rubato::apps::run_application(rubato::apps::kApplication, argc, argv);
}
