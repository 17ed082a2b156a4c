// SPDX-License-Identifier: MIT
// mis: options, input, result. `mis --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage or input.
#include <cstdio>
#include <string>
#include <vector>

#include "apps/common/graph_options.hpp"
#include "apps/common/priority_order.hpp"
#include "apps/common/thread_options.hpp"
#include "apps/common/vertex_check.hpp"
#include "apps/mis/mis_tasks.hpp"
#include "apps/mis/mis_threads.hpp"
#include "apps/mis/serial_mis.hpp"

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
  add_seed(line, o.graph.seed, "Seed of the priorities and of --generate (default 1)");
  add_task_options(line, o.tasks,
                   {.verify = "Compare the set with the serial greedy one; exit 1 if a vertex differs",
                    .serial = "Run only the serial greedy algorithm, no tasks, for comparison"});
  add_thread_options(line, o.threads);
  line.footer(
      "Vertices have random priorities, which are the timestamps of their tasks: a vertex joins the set "
      "unless\n"
      "a neighbour of higher priority did. Arcs are edges in both directions; lengths and loops mean "
      "nothing.\n"
      "Examples:\n"
      "  mis --generate rmat:10:8 --verify\n"
      "  mis --graph california.gr --seed 7 --type nonspec\n"
      "Prints the number of edges, the size of the set and the sum of its members' numbers.");
}

int run_mis(const Options& o) {
  const Graph graph = load_graph(o.graph);
  const Adjacency adjacency = undirected(graph);
  const PriorityOrder priorities = random_order(graph.vertices(), o.graph.seed);
  const auto is_member = o.tasks.is_serial ? serial_region([&] { return serial_mis(adjacency, priorities); })
                         : o.threads.are_chosen() ? mis_threads(adjacency, priorities, o.threads.count())
                                                  : mis(adjacency, priorities, o.tasks.type);
  std::size_t members = 0, sum = 0;
  for (std::size_t v = 0; v < is_member.size(); ++v) {
    members += is_member[v];
    sum += is_member[v] * (v + graph.first_id);
  }
  std::printf("edges: %zu\nmembers: %zu\nsum of members: %zu\n", adjacency.neighbours.size() / 2, members,
              sum);
  if (!o.tasks.verify) return 0;
  return check_vertices(
      graph, is_member, serial_mis(adjacency, priorities), [](std::uint8_t found, std::uint8_t) {
        return std::string(found != 0 ? "in" : "not in") + " the set, but the opposite was expected";
      });
}

constexpr Application<Options> kApplication{
    .name = "mis",
    .description = "Maximal independent set in random priority order, as ordered tasks.",
    .declare = declare,
    .run = run_mis};

}  // namespace
}  // namespace rubato::apps

int main(int argc, char** argv) {
  return rubato::apps::run_application(rubato::apps::kApplication, argc, argv);
}
