// SPDX-License-Identifier: MIT
// color: options, input, result. `color --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage or
// input.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "apps/color/color_tasks.hpp"
#include "apps/color/color_threads.hpp"
#include "apps/color/serial_coloring.hpp"
#include "apps/common/graph_options.hpp"
#include "apps/common/priority_order.hpp"
#include "apps/common/thread_options.hpp"
#include "apps/common/vertex_check.hpp"

namespace rubato::apps {
namespace {

struct Options {
  GraphOptions graph;
  ColorOrder order = ColorOrder::turns;
  TaskOptions tasks;
  ThreadOptions threads;
};

void declare(CommandLine& line, Options& o) {
  o.graph.reader.unit_lengths = true;
  add_graph(line, o.graph);
  add_seed(line, o.graph.seed, "Seed of --generate (default 1)");
  line.add_choice<ColorOrder>(
      "--order", o.order, {{"turns", ColorOrder::turns}, {"degrees", ColorOrder::degrees}},
      "Timestamp of a vertex: its turn (default), or the class of its degree, in which "
      "the last report of an earlier neighbour has it coloured");
  add_task_options(line, o.tasks,
                   {.verify = "Compare every colour with the serial greedy colouring; exit 1 if one differs",
                    .serial = "Run only the serial colouring, no tasks, for comparison"});
  add_thread_options(line, o.threads);
  line.footer(
      "Vertices take turns, the one with the most neighbours first. A vertex has a task, which takes the "
      "least\n"
      "colour that no earlier neighbour has; --order says at which timestamp, and the colours are the same. "
      "Arcs\n"
      "are edges in both directions; lengths and loops mean nothing.\n"
      "Examples:\n"
      "  color --generate rmat:10:8 --verify\n"
      "  color --graph california.gr --type nonspec\n"
      "Prints the number of edges, the largest degree, the number of colours, the vertices of the first "
      "colour\n"
      "and the sum of all colours, which count from 0.");
}

void print_summary(const Adjacency& graph, const std::vector<std::uint32_t>& colors) {
  std::size_t largest_degree = 0;
  std::uint64_t sum = 0;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    largest_degree = std::max(largest_degree, graph.of(v).size());
    sum += colors[v];
  }
  std::printf("edges: %zu\nlargest degree: %zu\ncolours: %" PRIu32
              "\nvertices of the first colour: %zu\nsum of colours: %" PRIu64 "\n",
              graph.neighbours.size() / 2, largest_degree,
              *std::max_element(colors.begin(), colors.end()) + 1,
              static_cast<std::size_t>(std::count(colors.begin(), colors.end(), 0u)), sum);
}

int run_color(const Options& o) {
  const Graph graph = load_graph(o.graph);
  const Adjacency adjacency = undirected(graph);
  const PriorityOrder priorities = largest_degree_first(adjacency);
  const auto colors = o.tasks.is_serial
                          ? serial_region([&] { return serial_coloring(adjacency, priorities); })
                      : o.threads.are_chosen() ? color_threads(adjacency, priorities, o.threads.count())
                                               : color(adjacency, priorities, o.tasks.type, o.order);
  print_summary(adjacency, colors);
  if (!o.tasks.verify) return 0;
  return check_vertices(
      graph, colors, serial_coloring(adjacency, priorities), [](std::uint32_t color, std::uint32_t expected) {
        return "colour " + std::to_string(color) + ", but " + std::to_string(expected) + " was expected";
      });
}

constexpr Application<Options> kApplication{
    .name = "color",
    .description = "Greedy vertex colouring, largest degree first, as ordered tasks.",
    .declare = declare,
    .run = run_color};

}  // namespace
}  // namespace rubato::apps

int main(int argc, char** argv) {
  return rubato::apps::run_application(rubato::apps::kApplication, argc, argv);
}
