// Random traffic over caches of a few lines, so that evictions, recalls, forwards and upgrades are common:
// every access is checked (versions, single writer, directory agreement), and everything is walked now and
// then (C21).
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <vector>

#include "base/rng.hpp"
#include "tests/chip/coherence/rig.hpp"
#include "tests/fault_list.hpp"

namespace rubato::chip {
namespace {

struct Traffic {
  std::uint32_t cores, cores_per_tile, accesses, lines, walk_every;
};

/// Loads, stores, atomics and fetches of `t.lines` lines, time advancing with small steps back (look-ahead).
std::uint64_t run_traffic(Rig& rig, const Traffic& t, std::uint64_t seed) {
  Rng rng(seed);
  std::uint64_t now = 100, sum = 0;
  for (std::uint32_t i = 0; i < t.accesses; ++i) {
    now += rng.below(8);
    const auto core = static_cast<std::uint32_t>(rng.below(t.cores));
    const LineAddr line{4096 + rng.below(t.lines)};
    constexpr AccessKind kinds[] = {AccessKind::load,  AccessKind::load,   AccessKind::load,
                                    AccessKind::load,  AccessKind::store,  AccessKind::store,
                                    AccessKind::fetch, AccessKind::atomic, AccessKind::untracked_line_store};
    const AccessKind kind = kinds[rng.below(std::size(kinds))];
    const std::uint64_t at = now - rng.below(32);
    const bool write = is_write(kind);
    L1Cache& l1 = kind == AccessKind::fetch ? rig.mesi.l1i(CoreId{core}) : rig.mesi.l1d(CoreId{core});
    if (!l1.hit(line, write)) {
      const AccessResult r = rig.access(core, line, kind, at);
      EXPECT_TRUE(r.done);
      EXPECT_EQ(r.cycle - Cycle{at}, Latency{r.parts.l1} + r.parts.l2 + r.parts.llc + r.parts.memory +
                                         r.parts.network + r.parts.check);
      EXPECT_TRUE(write ? l1.state(line) == LineState::modified : l1.state(line) != LineState::invalid);
      sum = mix64(sum ^ r.cycle.value);
    }
    if (i % t.walk_every == 0)
      if (const std::string what = rig.mesi.check_invariants(); !what.empty()) throw Violation(what);
  }
  if (const std::string what = rig.mesi.check_invariants(); !what.empty()) throw Violation(what);
  return sum;
}

class RandomTraffic : public testing::TestWithParam<Traffic> {};

TEST_P(RandomTraffic, KeepsEveryInvariantAtEveryStep) {
  const Traffic& t = GetParam();
  Rig rig(tiny_caches(t.cores, t.cores_per_tile));
  ASSERT_NO_THROW(run_traffic(rig, t, t.cores));
}

TEST_P(RandomTraffic, IsAFunctionOfItsInputsAndTheChecksDoNotChangeTime) {
  Traffic t = GetParam();
  t.accesses /= 4;
  Config config = tiny_caches(t.cores, t.cores_per_tile);
  Rig checked(config);
  config.coherence.check = false;
  Rig a(config), b(config);
  const std::uint64_t sum = run_traffic(a, t, 5);
  EXPECT_EQ(sum, run_traffic(b, t, 5));
  EXPECT_EQ(sum, run_traffic(checked, t, 5));
}

INSTANTIATE_TEST_SUITE_P(Cores, RandomTraffic,
                         testing::Values(Traffic{1, 1, 20000, 60, 4}, Traffic{2, 1, 20000, 80, 4},
                                         Traffic{4, 4, 20000, 60, 4}, Traffic{4, 1, 20000, 100, 8},
                                         Traffic{6, 3, 20000, 120, 8}, Traffic{16, 4, 20000, 200, 32},
                                         Traffic{64, 4, 30000, 400, 256}, Traffic{64, 8, 20000, 300, 256},
                                         Traffic{256, 4, 20000, 1500, 2000},
                                         Traffic{256, 2, 10000, 1500, 2000}),
                         [](const auto& i) {
                           return std::to_string(i.param.cores) + "cores" +
                                  std::to_string(i.param.cores_per_tile) + "aTile";
                         });

TEST_P(RandomTraffic, KeepsEveryInvariantWithPrefetchers) {
  const Traffic& t = GetParam();
  for (const char* prefetcher : {"stride", "next_line"}) {
    SCOPED_TRACE(prefetcher);
    Config config = tiny_caches(t.cores, t.cores_per_tile);
    config.l1d.prefetcher = prefetcher;
    config.l1d.prefetch_degree = 4;
    Rig rig(config), again(config);
    std::uint64_t sum = 0;
    ASSERT_NO_THROW(sum = run_traffic(rig, t, t.cores));
    EXPECT_EQ(sum, run_traffic(again, t, t.cores));
  }
}

class CoherenceMutant : public testing::TestWithParam<MesiFault> {};

TEST_P(CoherenceMutant, IsCaughtByTheChecks) {
  const Traffic t{16, 4, 20000, 200, 20000};
  Rig rig(tiny_caches(t.cores, t.cores_per_tile));
  rig.mesi.inject(GetParam());
  EXPECT_THROW(run_traffic(rig, t, 3), Violation);
}

/// All but one, which only speculative tasks show: ConflictOracle has it.
std::vector<MesiFault> faults_of_threads() {
  std::vector<MesiFault> faults;
  for (const MesiFault fault : all_faults<MesiFault>(kMesiFaultNames))
    if (fault != MesiFault::canary_after_unchecked_fill) faults.push_back(fault);
  return faults;
}

INSTANTIATE_TEST_SUITE_P(Faults, CoherenceMutant, testing::ValuesIn(faults_of_threads()),
                         [](const auto& i) { return fault_name(kMesiFaultNames, i.param); });

}  // namespace
}  // namespace rubato::chip
