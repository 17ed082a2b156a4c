// SPDX-License-Identifier: MIT
// cf: options, input, result. `cf --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage or input.
#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "apps/cf/cf_tasks.hpp"
#include "apps/cf/cf_threads.hpp"
#include "apps/cf/movielens.hpp"
#include "apps/cf/ratings.hpp"
#include "apps/cf/serial_cf.hpp"
#include "apps/common/graph_options.hpp"
#include "apps/common/thread_options.hpp"

namespace rubato::apps {
namespace {

struct Options {
  GraphOptions graph;
  std::string ratings;
  std::uint32_t steps = 6;
  TaskOptions tasks;
  ThreadOptions threads;
};

void declare(CommandLine& line, Options& o) {
  add_graph(line, o.graph);
  line.add_option("--ratings", o.ratings,
                  "Ratings to read instead of a graph, plain or gzip: ratings.dat, u.data or ratings.csv of "
                  "MovieLens")
      .type_name("FILE");
  add_number(line, "--steps", o.steps, 1, 1000, "Steps, of users and items in turn, 1 to 1000 (default 6)");
  add_seed(line, o.graph.seed, "Seed of the features and of --generate (default 1)");
  add_task_options(line, o.tasks,
                   {.verify = "Compare every feature with a serial run's; exit 1 if one differs",
                    .serial = "Run only the serial algorithm, no tasks, for comparison"});
  add_thread_options(line, o.threads);
  line.footer(
      "Every vertex of a graph is a user and an item. An arc is the rating of its head by its tail: the "
      "length relative "
      "to\n"
      "the largest one. A task is one participant's step down the gradient of the squared error: its "
      "timestamp\n"
      "is the step, its locale the participant.\n"
      "Examples:\n"
      "  cf --generate band:500:32:200 --verify\n"
      "  cf --graph ratings.txt --format edges --steps 20\n"
      "  cf --ratings ml-1m/ratings.dat --type nonspec\n"
      "Prints the number of ratings, and the mean squared error before and after.");
}

/// Says the first difference, in the input's numbering.
bool check(const RatingSet& set, const std::vector<Features>& features,
           const std::vector<Features>& expected) {
  for (std::size_t p = 0; p < expected.size(); ++p) {
    for (unsigned i = 0; i < kFeatures; ++i) {
      if (features[p][i] == expected[p][i]) continue;
      const bool is_user = p < set.users();
      std::printf("%s %" PRIu64 ": feature %u is %" PRId32 ", but %" PRId32 " was expected\n",
                  is_user ? "user" : "item", is_user ? set.user_ids[p] : set.item_ids[p - set.users()], i,
                  features[p][i], expected[p][i]);
      return false;
    }
  }
  return true;
}

RatingSet load_ratings(const Options& o) {
  if (o.ratings.empty()) return ratings_of(load_graph(o.graph));
  if (!o.graph.file.empty() || !o.graph.generate.empty())
    throw InputError("--ratings stands in place of --graph and --generate: only one of them was expected");
  RatingSet set = read_movielens(o.ratings);
  std::printf("users: %zu\nitems: %zu\n", set.user_ids.size(), set.item_ids.size());
  return set;
}

int run_cf(const Options& o) {
  const RatingSet set = load_ratings(o);
  const std::vector<Rating>& ratings = set.ratings;
  const std::vector<Features> first = first_features(set.participants(), o.graph.seed);
  const auto features = o.tasks.is_serial ? serial_region([&] { return serial_cf(ratings, first, o.steps); })
                        : o.threads.are_chosen() ? cf_threads(set, first, o.steps, o.threads.count())
                                                 : cf(set, first, o.steps, o.tasks.type);
  std::printf("ratings: %zu\nmean squared error: %.6f before, %.6f after %" PRIu32 " steps\n", ratings.size(),
              mean_squared_error(ratings, first), mean_squared_error(ratings, features), o.steps);
  if (!o.tasks.verify) return 0;
  return report_check(check(set, features, serial_cf(ratings, first, o.steps)));
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
