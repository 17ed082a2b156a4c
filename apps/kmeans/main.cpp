// SPDX-License-Identifier: MIT
// kmeans: options, input, result. `kmeans --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage.
#include <cinttypes>
#include <cstdio>
#include <string>

#include "apps/common/options.hpp"
#include "apps/kmeans/kmeans_tasks.hpp"
#include "apps/kmeans/points.hpp"
#include "apps/kmeans/serial_kmeans.hpp"

namespace rubato::apps::kmeans {
namespace {

struct Options {
  std::uint32_t points = 2048;
  std::uint32_t dimensions = 24;
  std::uint32_t places = 16;
  Search search{.centres = 40, .iterations = 20, .few_percent = 5};
  std::uint64_t seed = 1;
  TaskOptions tasks;
};

void declare(CommandLine& line, Options& o) {
  add_number(line, "--points", o.points, 1, 1 << 24, "How many points (default 2048)");
  add_number(line, "--dimensions", o.dimensions, 1, 1024, "Coordinates of a point, 1 to 1024 (default 24)");
  add_number(line, "--places", o.places, 1, 1 << 16,
             "Random places that the points are scattered about (default 16)");
  add_number(line, "--centres", o.search.centres, 1, 1 << 16,
             "Centres that are sought, at most as many as points (default 40)");
  add_number(line, "--iterations", o.search.iterations, 1, 1'000'000, "Iterations at most (default 20)");
  line.add_option("--few", o.search.few_percent,
                  "End once fewer than so many percent of the points changed their centre (default 5)")
      .check(whole_number)
      .range(0, 100)
      .type_name("PERCENT");
  add_seed(line, o.seed, "Seed of the points (default 1)");
  add_task_options(line, o.tasks,
                   {.verify = "Compare centres and assignments with a serial run's; exit 1 if one differs",
                    .serial = "Run only the serial algorithm, no tasks, for comparison"});
  line.footer(
      "The first centres are the first points. A task finds the nearest centre of a point, one adds the "
      "point to\n"
      "its centre's sums, and one moves a centre. The published input is --points 16384 with the other "
      "defaults.\n"
      "Examples:\n"
      "  kmeans --points 512 --centres 8 --iterations 3 --verify\n"
      "  kmeans --points 16384 --type nonspec\n"
      "Prints the number of iterations, the mean squared distance to the centres, and a checksum.");
}

/// Says the first difference.
bool check(const Clustering& found, const Clustering& expected, std::uint32_t dimensions) {
  for (std::size_t p = 0; p < expected.centre_of.size(); ++p) {
    if (found.centre_of[p] == expected.centre_of[p]) continue;
    std::printf("point %zu belongs to centre %" PRIu32 ", but %" PRIu32 " was expected\n", p,
                found.centre_of[p], expected.centre_of[p]);
    return false;
  }
  for (std::size_t w = 0; w < expected.centres.size(); ++w) {
    if (found.centres[w] == expected.centres[w]) continue;
    std::printf("coordinate %zu of centre %zu is %" PRId32 ", but %" PRId32 " was expected\n", w % dimensions,
                w / dimensions, found.centres[w], expected.centres[w]);
    return false;
  }
  if (found.iterations != expected.iterations || found.moved != expected.moved) {
    std::printf("%" PRIu64 " iterations, %" PRIu64 " points moved in the last, but %" PRIu64 " and %" PRIu64
                " were expected\n",
                found.iterations, found.moved, expected.iterations, expected.moved);
    return false;
  }
  return true;
}

int run_kmeans(const Options& o) {
  if (o.search.centres > o.points) {
    throw InputError("--centres " + std::to_string(o.search.centres) + ": at most as many as points, " +
                     std::to_string(o.points) + ", were expected");
  }
  const Points points = scattered_points(o.points, o.dimensions, o.places, o.seed);
  const Clustering found = o.tasks.is_serial ? serial_region([&] { return serial_kmeans(points, o.search); })
                                             : kmeans_by_tasks(points, o.search, o.tasks.type);
  std::printf("points: %" PRIu32 "\niterations: %" PRIu64 "\nmoved in the last: %" PRIu64
              "\nmean squared distance: %.6f\nchecksum: %016" PRIx64 "\n",
              points.count, found.iterations, found.moved, mean_squared_distance(points, found),
              checksum(found));
  if (!o.tasks.verify) return 0;
  return report_check(check(found, serial_kmeans(points, o.search), o.dimensions));
}

constexpr Application<Options> kApplication{
    .name = "kmeans",
    .description = "K-means clustering as ordered tasks: points go to the nearest centre, centres follow.",
    .declare = declare,
    .run = run_kmeans};

}  // namespace
}  // namespace rubato::apps::kmeans

int main(int argc, char** argv) {
  return rubato::apps::run_application(rubato::apps::kmeans::kApplication, argc, argv);
}
