// nocsim: routers against latencies computed by hand, and tasks against the simulation cycle by cycle.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "apps/nocsim/nocsim_tasks.hpp"
#include "apps/nocsim/router.hpp"
#include "apps/nocsim/serial_nocsim.hpp"

namespace rubato::apps::nocsim {
namespace {

struct Wanted {
  std::uint32_t source;
  std::uint64_t cycle;
  std::uint32_t destination;
};

/// Sorted by source and cycle.
Schedule schedule_of(const Network& network, const std::vector<Wanted>& packets) {
  Schedule schedule;
  for (std::uint32_t r = 0; r < network.routers(); ++r) {
    schedule.first.push_back(static_cast<std::uint32_t>(schedule.injections.size()));
    for (const Wanted& p : packets) {
      if (p.source == r) schedule.injections.push_back({p.cycle, p.destination});
    }
  }
  schedule.first.push_back(static_cast<std::uint32_t>(schedule.injections.size()));
  return schedule;
}

// A packet alone: a cycle a hop, and four more until its last flit has left its source.
TEST(SerialNocsim, APacketAloneTakesItsHopsAndFourCyclesMore) {
  const Network network{4, 3};
  for (const auto& [destination, hops] : {std::pair{0U, 0U}, {3U, 3U}, {8U, 2U}, {11U, 5U}}) {
    const Arrivals arrivals = simulate_serially(network, schedule_of(network, {{0, 10, destination}}));
    EXPECT_EQ(arrivals, Arrivals{10 + hops + 4}) << destination;
  }
  EXPECT_EQ(simulate_serially(network, schedule_of(network, {{11, 0, 0}})), Arrivals{5 + 4});
}

TEST(SerialNocsim, TwoPacketsShareALinkFlitByFlit) {
  // 0 -> 2 and 1 -> 2 both need the link from 1 to 2, and are there at cycle 1 and 0. The one from 1 sends in
  // cycle 0. From cycle 1 on they take turns, the other one first: 1 3 5 7 9 and 2 4 6 8.
  const Network network{3, 1};
  const Arrivals arrivals = simulate_serially(network, schedule_of(network, {{0, 0, 2}, {1, 0, 2}}));
  EXPECT_EQ(std::max(arrivals[0], arrivals[1]), 10u);  // the tenth flit crosses in cycle 9
  EXPECT_EQ(std::min(arrivals[0], arrivals[1]), 9u);
}

TEST(SerialNocsim, ASourceSendsAFlitACycle) {
  const Network network{2, 1};
  const Arrivals arrivals =
      simulate_serially(network, schedule_of(network, {{0, 0, 1}, {0, 0, 1}, {0, 1, 1}}));
  EXPECT_EQ(arrivals, (Arrivals{5, 10, 15}));
}

TEST(Router, SendsOnlyWithCreditAndGivesOneBack) {
  Router router = make_routers({3, 1})[1];
  Packet packet{.number = 0, .source = 0, .destination = 2};
  Flit flits[kFlits];
  for (std::uint32_t i = 0; i < kFlits; ++i) flits[i] = {&packet, nullptr, i};
  for (std::uint32_t i = 0; i < kDepth; ++i) {
    router.receive(kWest, &flits[i], 2, kNone);
    const Sent sent = router.step();
    EXPECT_EQ(sent.links[kEast].flit, &flits[i]);
    EXPECT_EQ(sent.links[kWest].credit, 2);
  }
  router.receive(kWest, &flits[4], 2, kNone);
  EXPECT_EQ(router.step().links[kEast].flit,
            nullptr);  // four flits are on their way, the neighbour holds no more
  EXPECT_TRUE(router.has_flits());
  router.receive(kEast, nullptr, kNone, 0);
  EXPECT_EQ(router.step().links[kEast].flit, &flits[4]);
  EXPECT_FALSE(router.has_flits());
  EXPECT_FALSE(router.is_idle());  // four credits are still away
  for (std::uint32_t i = 0; i < kDepth; ++i) router.receive(kEast, nullptr, kNone, 0);
  EXPECT_TRUE(router.is_idle());
}

TEST(Traffic, TornadoGoesHalfARowFurtherLessOne) {
  const Schedule schedule = random_schedule({16, 2}, Traffic::tornado, 500, 50, 1);
  for (std::uint32_t n = schedule.first[3]; n < schedule.first[4]; ++n)
    EXPECT_EQ(schedule.injections[n].destination, 10u);
  for (std::uint32_t n = schedule.first[28]; n < schedule.first[29]; ++n)
    EXPECT_EQ(schedule.injections[n].destination, 19u);  // 12 + 7 - 16 in the second row
  // 32 routers, 500 cycles, half a flit a cycle, five flits a packet.
  EXPECT_NEAR(static_cast<double>(schedule.injections.size()), 1600, 160);
}

TEST(Nocsim, AgreesWithTheSerialSimulationForEveryTypeAndSeed) {
  struct Case {
    Network network;
    Traffic traffic;
    std::uint32_t load;
  };
  // Light, saturated, in both dimensions, one router that only talks to itself.
  for (const Case& c : {Case{{8, 1}, Traffic::tornado, 8}, Case{{8, 2}, Traffic::tornado, 60},
                        Case{{4, 4}, Traffic::uniform, 70}, Case{{1, 1}, Traffic::uniform, 50}}) {
    for (const std::uint64_t seed : {1, 2}) {
      serial::set_seed(seed);
      const Schedule schedule = random_schedule(c.network, c.traffic, 60, c.load, seed);
      const Arrivals expected = simulate_serially(c.network, schedule);
      for (const TaskType type : {spec, nonspec, mayspec}) {
        const Simulation found = simulate_by_tasks(c.network, schedule, type);
        EXPECT_EQ(found.arrivals, expected);
        EXPECT_TRUE(found.is_idle);
      }
    }
  }
}

}  // namespace
}  // namespace rubato::apps::nocsim
