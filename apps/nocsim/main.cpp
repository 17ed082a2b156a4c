// SPDX-License-Identifier: MIT
// nocsim: options, input, result. `nocsim --help` teaches; exit codes: 0, 1 check failed, 2 wrong usage.
#include <cinttypes>
#include <cstdio>

#include "apps/common/options.hpp"
#include "apps/nocsim/nocsim_tasks.hpp"
#include "apps/nocsim/serial_nocsim.hpp"

namespace rubato::apps::nocsim {
namespace {

struct Options {
  Network network{.width = 8, .height = 8};
  Traffic traffic = Traffic::tornado;
  std::uint32_t cycles = 200;
  std::uint32_t load = 8;
  std::uint64_t seed = 1;
  TaskOptions tasks;
};

void declare(CommandLine& line, Options& o) {
  add_number(line, "--width", o.network.width, 1, 256, "Routers in a row, 1 to 256 (default 8)");
  add_number(line, "--height", o.network.height, 1, 256, "Rows, 1 to 256 (default 8)");
  add_number(line, "--cycles", o.cycles, 1, 10'000'000,
             "Cycles in which packets are injected (default 200); then the network empties");
  line.add_option("--load", o.load, "Flits that a router injects, in percent of a flit a cycle (default 8)")
      .check(whole_number)
      .range(0, 100)
      .type_name("PERCENT");
  line.add_choice<Traffic>("--traffic", o.traffic,
                           {{"tornado", Traffic::tornado}, {"uniform", Traffic::uniform}},
                           "Where packets go: half a row further, less one (default), or anywhere");
  add_seed(line, o.seed, "Seed of the traffic (default 1)");
  add_task_options(
      line, o.tasks,
      {.verify = "Compare the arrival of every packet with a serial simulation's, cycle by cycle, and see "
                 "that the network is empty; exit 1 if anything differs",
       .serial = "Run only the serial simulation, no tasks, for comparison"});
  line.footer(
      "A mesh of wormhole routers: 5 ports, 4 virtual channels of 4 flits, X-Y routing, credits, packets of "
      "5\n"
      "flits. A task is an event of one router. The published input is --width 16 --height 16, tornado.\n"
      "Examples:\n"
      "  nocsim --width 4 --height 4 --cycles 200 --verify\n"
      "  nocsim --width 16 --height 16 --cycles 500 --type spec\n"
      "Prints the number of packets, their mean latency, and a checksum of their arrivals.");
}

/// Says the first difference.
bool check(const Schedule& schedule, const Simulation& found, const Arrivals& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (found.arrivals[i] == expected[i]) continue;
    std::printf("the packet of cycle %" PRIu64 " to router %" PRIu32 " arrived in cycle %" PRIu64
                ", but %" PRIu64 " was expected\n",
                schedule.injections[i].cycle, schedule.injections[i].destination, found.arrivals[i],
                expected[i]);
    return false;
  }
  if (!found.is_idle) std::printf("the network is not empty at the end\n");
  return found.is_idle;
}

int run_nocsim(const Options& o) {
  const Schedule schedule = random_schedule(o.network, o.traffic, o.cycles, o.load, o.seed);
  const Simulation found =
      o.tasks.is_serial
          ? Simulation{serial_region([&] { return simulate_serially(o.network, schedule); }), true}
          : simulate_by_tasks(o.network, schedule, o.tasks.type);
  const std::size_t packets = found.arrivals.size();
  const double latency = packets == 0 ? 0
                                      : static_cast<double>(total_latency(schedule, found.arrivals)) /
                                            static_cast<double>(packets);
  std::printf("routers: %" PRIu32 "\npackets: %zu\nmean latency: %.3f cycles\nchecksum: %016" PRIx64 "\n",
              o.network.routers(), packets, latency, checksum(found.arrivals));
  if (!o.tasks.verify) return 0;
  return report_check(check(schedule, found, simulate_serially(o.network, schedule)));
}

constexpr Application<Options> kApplication{
    .name = "nocsim",
    .description = "Simulation of a mesh of wormhole routers as ordered tasks, each an event of one router.",
    .declare = declare,
    .run = run_nocsim};

}  // namespace
}  // namespace rubato::apps::nocsim

int main(int argc, char** argv) {
  return rubato::apps::run_application(rubato::apps::nocsim::kApplication, argc, argv);
}
