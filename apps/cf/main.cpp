// SPDX-License-Identifier: MIT
// cf: options, input, result. `cf --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage or input.
#include <cinttypes>
#include <cstdio>
#include <vector>

#include "apps/cf/cf_tasks.hpp"
#include "apps/cf/ratings.hpp"
#include "apps/cf/serial_cf.hpp"
#include "apps/common/graph_options.hpp"

namespace rubato::apps {
namespace {

struct Options {
  GraphOptions graph;
  std::uint32_t steps = 6;
  TaskOptions tasks;
};

void declare(CommandLine& line, Options& o) {
  add_graph(line, o.graph);
  line.add_option("--steps", o.steps, "Steps, of users and items in turn, 1 to 1000 (default 6)")
      .check(whole_number)
      .range(1, 1000)
      .type_name("N");
  add_seed(line, o.graph.seed, "Seed of the features and of --generate (default 1)");
  add_task_options(line, o.tasks,
                   {.verify = "Compare every feature with a serial run's; exit 1 if one differs",
                    .serial = "Run only the serial algorithm, no tasks, for comparison"});
  line.footer(
      "Every vertex is a user and an item. An arc is the rating of its head by its tail: the length relative "
      "to\n"
      "the largest one. A task is one participant's step down the gradient of the squared error: its "
      "timestamp\n"
      "is the step, its locale the participant.\n"
      "Examples:\n"
      "  cf --generate band:500:32:200 --verify\n"
      "  cf --graph ratings.txt --format edges --steps 20\n"
      "Prints the number of ratings, and the mean squared error before and after.");
}

/// Says the first difference, in the input's numbering.
bool check(const Graph& graph, const std::vector<Features>& features, const std::vector<Features>& expected) {
  for (std::size_t p = 0; p < expected.size(); ++p) {
    for (unsigned i = 0; i < kFeatures; ++i) {
      if (features[p][i] == expected[p][i]) continue;
      std::printf("%s %zu: feature %u is %" PRId32 ", but %" PRId32 " was expected\n",
                  p < graph.vertices() ? "user" : "item", p % graph.vertices() + graph.first_id, i,
                  features[p][i], expected[p][i]);
      return false;
    }
  }
  return true;
}

int run_cf(const Options& o) {
  const Graph graph = load_graph(o.graph);
  const std::vector<Rating> ratings = ratings_of(graph);
  const std::vector<Features> first = first_features(2 * graph.vertices(), o.graph.seed);
  const auto features = o.tasks.is_serial ? serial_region([&] { return serial_cf(ratings, first, o.steps); })
                                          : cf(ratings, first, o.steps, o.tasks.type);
  std::printf("ratings: %zu\nmean squared error: %.6f before, %.6f after %" PRIu32 " steps\n", ratings.size(),
              mean_squared_error(ratings, first), mean_squared_error(ratings, features), o.steps);
  if (!o.tasks.verify) return 0;
  return report_check(check(graph, features, serial_cf(ratings, first, o.steps)));
}

constexpr Application<Options> kApplication{
    .name = "cf",
    .description = "Collaborative filtering as ordered tasks: features of users and items, adapted in turn.",
    .declare = declare,
    .run = run_cf};

}  // namespace
}  // namespace rubato::apps

int main(int argc, char** argv) {
  return rubato::apps::run_application(rubato::apps::kApplication, argc, argv);
}
