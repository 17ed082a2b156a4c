// Random attempts, non-speculative and untracked accesses on small chips whose caches evict all the time,
// against an oracle that sees every set: no access is served while a later attempt that it conflicts with
// lives, whatever the caches, canaries and sticky bits did to avoid checks; with exact sets no other attempt
// is aborted. And each mechanism left out in turn, which the oracle must notice (C14, C15).
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "base/rng.hpp"
#include "tests/chip/coherence/rig.hpp"
#include "tests/chip/conflict/conflict_rig.hpp"
#include "tests/fault_list.hpp"

namespace rubato::chip {
namespace {

struct Missed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Chip {
  std::uint32_t cores = 16, cores_per_tile = 2;
  const char* sets = "exact";
  const char* forwarding = "on";
  std::uint32_t steps = 40000;
};

Config config_of(const Chip& chip) {
  Config c = tiny_caches(chip.cores, chip.cores_per_tile);
  c.conflict.sets = chip.sets;
  c.conflict.bloom_bits = 512;  // false positives are common
  c.conflict.bloom_ways = 4;
  c.conflict.forwarding = chip.forwarding;
  c.task.unlimited_queues = true;
  return c;
}

class Play {
 public:
  Play(const Chip& chip, std::uint64_t seed) : rig_(config_of(chip)), chip_(chip), rng_(seed) {
    rig_.mesi.on_violation([](const std::string& what) { throw Violation(what); });
  }
  ConflictRig& rig() { return rig_; }

  void run() {
    // Bursts: a core makes a few steps in a row, so that the lines that it checked are still in its L1.
    for (std::uint32_t i = 0; i < chip_.steps;) {
      const CoreId core{static_cast<std::uint32_t>(rng_.below(chip_.cores))};
      for (std::uint64_t burst = 1 + rng_.below(8); burst != 0 && i < chip_.steps; --burst, ++i) {
        now_ += rng_.below(20);
        step(core);
      }
    }
    if (const std::string what = rig_.mesi.check_invariants(); !what.empty()) throw Violation(what);
  }

  std::uint64_t conflicts = 0, blocked = 0, served = 0;

 private:
  LineAddr random_line() {
    // A few hot lines, some that L2s evict, and more than the LLC holds.
    const std::uint64_t span = rng_.below(8);
    return LineAddr{4096 + rng_.below(span < 4   ? 12
                                      : span < 7 ? 100
                                                 : 60 * chip_.cores / chip_.cores_per_tile)};
  }

  void step(CoreId core) {
    Attempt* const running = rig_.detector.running(core);
    const std::uint64_t dice = rng_.below(100);
    if (running == nullptr && dice >= 60) {
      rig_.begin(core.value, {rig_.units.gvt.timestamp + rng_.below(30), ++tie_breaker_ + (1ULL << 32)});
    } else if (running != nullptr && dice < 6) {
      rig_.finish(running);
      if (rng_.below(3) == 0) rig_.units.pending.insert(running);
    } else if (running != nullptr && dice < 7) {
      running->state = Attempt::State::exceptioned;
      rig_.detector.drop_writes(*running);
      rig_.detector.stop_running(core);
    } else if (dice < 10) {
      commit();
    } else if (dice < 20) {
      constexpr AccessKind kinds[] = {AccessKind::untracked_load, AccessKind::untracked_store,
                                      AccessKind::rollback, AccessKind::fetch};
      rig_.use(core.value, random_line(), kinds[rng_.below(4)], now_);
    } else if (running != nullptr || dice < 30) {
      constexpr AccessKind kinds[] = {AccessKind::load, AccessKind::load, AccessKind::store,
                                      AccessKind::atomic};
      tracked(core, random_line(), kinds[rng_.below(4)]);
    }
  }

  /// The GVT: the lowest virtual time of attempts that still run or have excepted; those at it are promoted.
  void commit() {
    std::vector<Attempt*> sorted = rig_.units.live;
    std::sort(sorted.begin(), sorted.end(),
              [](const Attempt* a, const Attempt* b) { return a->virtual_time < b->virtual_time; });
    for (Attempt* a : sorted) {
      if (a->virtual_time > rig_.units.gvt) rig_.units.gvt = a->virtual_time;
      if (a->state == Attempt::State::running) return;
      rig_.commit(a);
    }
  }

  void tracked(CoreId core, LineAddr line, AccessKind kind) {
    const Attempt* const self = rig_.detector.running(core);
    std::vector<Attempt*> later;
    bool earlier_writer = false, pending = false;
    for (Attempt* a : rig_.units.live) {
      if (a == self) continue;
      const bool wrote = has_line(a->writes, line), read = has_line(a->reads, line);
      const bool is_later = self == nullptr || a->virtual_time > self->virtual_time;
      if (is_later && (wrote || (read && is_write(kind)))) {
        later.push_back(a);
        pending |= self == nullptr && rig_.units.pending.contains(a);
      }
      earlier_writer |= !is_later && wrote;
    }
    rig_.units.aborted.clear();
    const bool stalls = earlier_writer && chip_.forwarding != std::string("on");
    if (self == nullptr) rig_.begin_task(core.value, kMinVirtualTime, false);
    const AccessResult r = rig_.use(core.value, line, kind, now_);
    const bool exact = chip_.sets == std::string("exact");
    const std::string what =
        fmt::format("{} of line {:#x} by core {}", is_write(kind) ? "write" : "read", line.value, core.value);
    if (!r.done) {
      ++blocked;
      EXPECT_TRUE(!exact || pending || stalls) << what << " was blocked for nothing";
      return;
    }
    ++served;
    if (stalls) throw Missed(what + " met an earlier writer");
    for (const Attempt* a : later) {
      if (rig_.is_live(a)) throw Missed(what + " left a later accessor alive");
      ++conflicts;
    }
    EXPECT_EQ(r.disturbed, !rig_.units.aborted.empty());
    for (Attempt* v : rig_.units.aborted) {
      if (exact) {
        EXPECT_TRUE(std::find(later.begin(), later.end(), v) != later.end()) << what << " aborts a bystander";
      }
    }
    if (rng_.below(4) == 0) check_later_accessors(TileId{core.value / chip_.cores_per_tile}, line);
  }

  void check_later_accessors(TileId from, LineAddr line) {
    std::vector<Attempt*> found;
    const VirtualTime vt{rig_.units.gvt.timestamp + 10, 0};
    rig_.detector.later_accessors(from, line, vt, found);
    for (Attempt* a : rig_.units.live)
      if (a->virtual_time > vt && (has_line(a->reads, line) || has_line(a->writes, line)) &&
          std::find(found.begin(), found.end(), a) == found.end())
        throw Missed(fmt::format("line {:#x} has a later accessor that is not found", line.value));
    for (const Attempt* a : found) EXPECT_GT(a->virtual_time, vt);
  }

  ConflictRig rig_;
  Chip chip_;
  Rng rng_;
  std::uint64_t now_ = 100, tie_breaker_ = 0;
};

class Oracle : public testing::TestWithParam<Chip> {};

TEST_P(Oracle, SeesNoConflictMissed) {
  std::uint64_t blocked = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Play play(GetParam(), seed);
    ASSERT_NO_THROW(play.run());
    EXPECT_GT(play.conflicts, 100U);
    blocked += play.blocked;
    EXPECT_GT(play.served, GetParam().steps / 5);
    EXPECT_GT(play.rig().detector.sticky().counters().set, 100U);
    EXPECT_GT(play.rig().detector.sticky().counters().cleared, 100U);
    EXPECT_GT(play.rig().detector.sticky().counters().overflowed, 0U);
  }
  EXPECT_GT(blocked, 0U);
}

INSTANTIATE_TEST_SUITE_P(Chips, Oracle,
                         testing::Values(Chip{}, Chip{.sets = "bloom"}, Chip{.cores = 4, .cores_per_tile = 4},
                                         Chip{.cores = 8, .cores_per_tile = 1, .sets = "bloom"},
                                         Chip{.cores = 130, .cores_per_tile = 1},
                                         Chip{.cores = 130, .cores_per_tile = 1, .sets = "bloom"},
                                         Chip{.forwarding = "stall"}, Chip{.forwarding = "abort"},
                                         Chip{.sets = "bloom", .forwarding = "abort"}),
                         [](const auto& i) {
                           return std::to_string(i.param.cores) + "cores" +
                                  std::to_string(i.param.cores_per_tile) + "aTile_" + i.param.sets + "_" +
                                  i.param.forwarding;
                         });

class DetectorMutant : public testing::TestWithParam<ConflictFault> {};

TEST_P(DetectorMutant, IsCaughtByTheOracle) {
  const auto play_all = [&] {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Play play(Chip{}, seed);
      play.rig().detector.inject(GetParam());
      play.run();
    }
  };
  EXPECT_THROW(play_all(), Missed);
}

INSTANTIATE_TEST_SUITE_P(Faults, DetectorMutant,
                         testing::ValuesIn(all_faults<ConflictFault>(kConflictFaultNames)),
                         [](const auto& i) { return fault_name(kConflictFaultNames, i.param); });

TEST(MesiMutant, ThatLeavesAnUncheckedFillAGoodCanaryIsCaughtByTheOracle) {
  Play play(Chip{}, 1);
  play.rig().mesi.inject(Mesi::Fault::canary_after_unchecked_fill);
  EXPECT_THROW(play.run(), Missed);
}

}  // namespace
}  // namespace rubato::chip
