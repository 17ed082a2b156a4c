// SPDX-License-Identifier: MIT
// sssp: options, input, result. `sssp --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage or input.
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/graph_options.hpp"
#include "apps/common/thread_options.hpp"
#include "apps/common/vertex_check.hpp"
#include "apps/sssp/dijkstra.hpp"
#include "apps/sssp/sources.hpp"
#include "apps/sssp/sssp_tasks.hpp"
#include "apps/sssp/sssp_threads.hpp"

namespace rubato::apps {
namespace {

struct Options {
  GraphOptions graph;
  SourceOption source;
  std::uint64_t searches = 1;
  TaskOptions tasks;
  ThreadOptions threads;
};

void declare(CommandLine& line, Options& o) {
  add_graph(line, o.graph);
  add_source(line, o.source);
  add_number(line, "--searches", o.searches, 1, kMaxVertices,
             "Search from so many vertices, one after another: from --source, then from others that have "
             "arcs, drawn by --seed (default 1)");
  add_seed(line, o.graph.seed, "Seed of --generate and --searches (default 1)");
  line.add_option("--scale", o.graph.reader.scale, "Multiply all lengths of the file by this and round them")
      .check(positive_number)
      .type_name("FACTOR");
  line.add_flag("--unit-lengths", o.graph.reader.unit_lengths,
                "Every arc has length 1, whatever the file or the generator says");
  add_task_options(line, o.tasks,
                   {.verify = "Compare every distance with a serial Dijkstra; exit 1 if one differs",
                    .serial = "Run only the serial Dijkstra, no tasks, for comparison"});
  add_thread_options(line, o.threads);
  line.footer(
      "Examples:\n"
      "  sssp --generate road:300x300 --verify\n"
      "  sssp --graph california.gr --source 1 --type nonspec\n"
      "Prints vertices reached, the largest distance and the sum of all distances; of several searches "
      "each.");
}

// 2^32 vertices, and distances of less than 2^64 each.
__extension__ using Sum = unsigned __int128;

std::string decimal(Sum number) {
  std::string digits;
  for (; number >= 10; number /= 10) digits.insert(digits.begin(), static_cast<char>('0' + number % 10));
  return static_cast<char>('0' + number) + digits;
}

void print_summary(const std::vector<std::uint64_t>& distances) {
  std::uint64_t reached = 0, largest = 0;
  Sum sum = 0;
  for (const std::uint64_t d : distances) {
    if (d == kUnset) continue;
    ++reached;
    sum += d;
    if (d > largest) largest = d;
  }
  std::printf("reached: %" PRIu64 "\nlargest distance: %" PRIu64 "\nsum of distances: %s\n", reached, largest,
              decimal(sum).c_str());
}

std::string difference(std::uint64_t distance, std::uint64_t expected) {
  const auto text = [](std::uint64_t value) {
    return value == kUnset ? std::string("unreached") : std::to_string(value);
  };
  return "distance " + text(distance) + ", but " + text(expected) + " was expected";
}

int run_sssp(const Options& o) {
  const Graph graph = load_graph(o.graph);
  const auto sources = search_sources(graph, source_vertex(o.source, graph), o.searches, o.graph.seed);
  const auto say_which = [&](std::uint32_t source) {
    if (sources.size() != 1) std::printf("source: %" PRIu64 "\n", std::uint64_t{graph.first_id} + source);
  };
  std::optional<ShortestPaths> paths;
  if (!o.tasks.is_serial && !o.threads.are_chosen()) paths.emplace(graph);
  std::vector<std::vector<std::uint64_t>> results;  // checked when all searches are done
  for (const std::uint32_t source : sources) {
    auto distances = o.tasks.is_serial        ? serial_region([&] { return dijkstra(graph, source); })
                     : o.threads.are_chosen() ? sssp_threads(graph, source, o.threads.count())
                                              : paths->from(source, o.tasks.type);
    say_which(source);
    print_summary(distances);
    if (o.tasks.verify) results.push_back(std::move(distances));
  }
  if (!o.tasks.verify) return 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto expected = dijkstra(graph, sources[i]);
    if (results[i] == expected) continue;
    say_which(sources[i]);
    return check_vertices(graph, results[i], expected, difference);
  }
  return report_check(true);
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
