// SPDX-License-Identifier: MIT
// bfs: options, input, result. `bfs --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage or input.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "apps/bfs/bfs_tasks.hpp"
#include "apps/bfs/bfs_threads.hpp"
#include "apps/bfs/serial_bfs.hpp"
#include "apps/common/graph_options.hpp"
#include "apps/common/thread_options.hpp"
#include "apps/common/vertex_check.hpp"

namespace rubato::apps {
namespace {

struct Options {
  GraphOptions graph;
  SourceOption source;
  TaskOptions tasks;
  ThreadOptions threads;
};

void declare(CommandLine& line, Options& o) {
  o.graph.reader.unit_lengths = true;
  add_graph(line, o.graph);
  add_source(line, o.source);
  add_seed(line, o.graph.seed, "Seed of --generate (default 1)");
  add_task_options(line, o.tasks,
                   {.verify = "Compare every level with a serial search; exit 1 if one differs",
                    .serial = "Run only the serial search, no tasks, for comparison"});
  add_thread_options(line, o.threads);
  line.footer(
      "A task visits one vertex; its timestamp is the level, its locale the vertex. Lengths mean nothing.\n"
      "Examples:\n"
      "  bfs --generate rmat:12:8 --verify\n"
      "  bfs --graph california.gr --source 1 --type nonspec\n"
      "Prints vertices reached, the deepest level, the vertices of the widest one and the sum of all "
      "levels.");
}

void print_summary(const std::vector<std::uint64_t>& levels) {
  std::uint64_t reached = 0, deepest = 0, sum = 0;
  std::vector<std::uint64_t> width(levels.size(), 0);  // a level is less than the number of vertices
  for (const std::uint64_t level : levels) {
    if (level == kUnreached) continue;
    ++reached;
    sum += level;
    deepest = std::max(deepest, level);
    if (level < width.size()) ++width[level];
  }
  std::printf("reached: %" PRIu64 "\ndeepest level: %" PRIu64 "\nwidest level: %" PRIu64
              " vertices\nsum of levels: %" PRIu64 "\n",
              reached, deepest, *std::max_element(width.begin(), width.end()), sum);
}

std::string difference(std::uint64_t level, std::uint64_t expected) {
  const auto text = [](std::uint64_t value) {
    return value == kUnreached ? std::string("unreached") : std::to_string(value);
  };
  return "level " + text(level) + ", but " + text(expected) + " was expected";
}

int run_bfs(const Options& o) {
  const Graph graph = load_graph(o.graph);
  const std::uint32_t source = source_vertex(o.source, graph);
  const auto levels = o.tasks.is_serial        ? serial_region([&] { return serial_bfs(graph, source); })
                      : o.threads.are_chosen() ? bfs_threads(graph, source, o.threads.count())
                                               : bfs(graph, source, o.tasks.type);
  print_summary(levels);
  if (!o.tasks.verify) return 0;
  return check_vertices(graph, levels, serial_bfs(graph, source), difference);
}

constexpr Application<Options> kApplication{
    .name = "bfs",
    .description = "Breadth-first search as ordered tasks: a task visits a vertex at its level.",
    .declare = declare,
    .run = run_bfs};

}  // namespace
}  // namespace rubato::apps

int main(int argc, char** argv) {
  return rubato::apps::run_application(rubato::apps::kApplication, argc, argv);
}
