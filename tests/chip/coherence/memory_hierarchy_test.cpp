// Promises of the hierarchy beside latencies: conflict-check hooks, warming, forgetting, reservations, wide
// chips, no allocation, and a sentence for an unknown protocol (C14, C4, C18, C20).
// SPDX-License-Identifier: MIT
#include "chip/coherence/memory_hierarchy.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "chip/stats/registry.hpp"
#include "tests/chip/coherence/rig.hpp"

namespace rubato::chip {
namespace {

constexpr auto kLoad = AccessKind::load;
constexpr auto kStore = AccessKind::store;

std::uint32_t core_of(std::uint32_t tile) { return tile * 4; }

/// Records calls; blocks while told to.
class RecordingCheck final : public ConflictCheck {
 public:
  RecordingCheck() { active_ = true; }
  bool is_speculative(CoreId) const override { return speculative; }
  void check_tile(CoreId, LineAddr, AccessKind, VirtualTime with, Cycle now, CheckResult& result) override {
    calls.push_back("tile@" + std::to_string(now.value));
    if (with == kMaxVirtualTime || with.timestamp > covered) {
      result = {.needs_global = true};
    } else {
      result = {.cycles = 5, .blocked = blocks, .disturbed = disturbs, .exclusive = exclusive};
    }
  }
  void check_global(CoreId, LineAddr, AccessKind, std::uint64_t holders, bool writable, TileId, Cycle now,
                    CheckResult& result) override {
    std::string call = "global@" + std::to_string(now.value);
    for (std::uint32_t t = 0; t < 64; ++t)
      if ((holders >> t & 1) != 0) call += " " + std::to_string(t);
    if (writable) call += " writable";
    calls.push_back(call);
    result = {
        .cycles = 6, .blocked = blocks, .disturbed = disturbs, .exclusive = exclusive, .canary = {canary, 0}};
  }
  void on_lose(TileId tile, LineAddr line, bool kept) override {
    ++evictions;
    losses.push_back({tile.value, line.value, kept});
  }
  void on_llc_evict(LineAddr) override { ++llc_evictions; }

  struct Loss {
    std::uint32_t tile;
    std::uint64_t line;
    bool kept;
    bool operator==(const Loss&) const = default;
  };
  std::vector<std::string> calls;
  std::vector<Loss> losses;
  bool blocks = false, exclusive = false, disturbs = false, speculative = false;
  Timestamp canary = 0, covered = 0;
  int evictions = 0, llc_evictions = 0;
};

TEST(ConflictHooks, OneCheckAnAccessAtTheLevelThatServesIt) {
  RecordingCheck check;
  Rig rig(Config{}, &check);
  const LineAddr line = rig.line_at(9, 32);
  // 2 + 7 + 3 + 9 = 21: at the home; 6 cycles of check.
  EXPECT_EQ(rig.access(0, line, kLoad, 0).cycle, Cycle{166});
  EXPECT_EQ(rig.access(1, line, kLoad, 1000).cycle, Cycle{1014});  // 9 + 5; no L1 has it exclusively
  EXPECT_EQ(rig.access(4, line, kLoad, 2000).parts.check, 6U);
  rig.access(0, line, kStore, 3000);  // an upgrade goes to the home
  // The L1 has it: no check while its mark covers the access, else an L2 hit's, and no copy moves.
  L1Cache& l1 = rig.mesi.l1d(CoreId{0});
  struct Recorder final : L1Recorder {
    void on_first_use(LineAddr, bool) override {}
  } recorder;
  l1.begin_marks();
  EXPECT_EQ(rig.access(0, line, kLoad, 3900).cycle, Cycle{3902});
  l1.begin_task(&recorder);
  EXPECT_TRUE(l1.hit(line, true));
  l1.clear_marks();
  EXPECT_EQ(rig.access(0, line, kLoad, 4000).cycle, Cycle{4014});
  EXPECT_EQ(rig.mesi.l1d(CoreId{0}).state(line), LineState::modified);
  EXPECT_EQ(rig.access(0, line, AccessKind::untracked_load, 5000).cycle, Cycle{5002});
  EXPECT_EQ(check.calls, (std::vector<std::string>{"global@21", "tile@1009", "global@2019", "global@3021 0 1",
                                                   "tile@4009"}));
}

TEST(ConflictHooks, ABlockedAccessChangesNothingAndMayBeRepeated) {
  RecordingCheck check;
  Rig rig(Config{}, &check);
  const LineAddr line = rig.line_at(9, 32);
  check.blocks = true;
  const AccessResult r = rig.access(0, line, kStore, 0);
  EXPECT_FALSE(r.done);
  EXPECT_EQ(r.blocked, BlockReason::conflict_pending);
  EXPECT_EQ(rig.mesi.l1d(CoreId{0}).state(line), LineState::invalid);
  EXPECT_EQ(rig.mesi.slice(TileId{9}).array.find(line), rig.mesi.slice(TileId{9}).array.kNoSlot);
  EXPECT_EQ(rig.mesi.l1d(CoreId{0}).misses(), 0U);
  check.blocks = false;
  EXPECT_TRUE(rig.access(0, line, kStore, 1000).done);
  EXPECT_EQ(rig.mesi.l1d(CoreId{0}).misses(), 1U);
}

TEST(ConflictHooks, ReadsGetNoExclusiveLineWhenTheCheckForbidsIt) {
  RecordingCheck check;
  Rig rig(Config{}, &check);
  rig.access(0, LineAddr{5000}, kLoad, 0);
  EXPECT_EQ(rig.mesi.l1d(CoreId{0}).state(LineAddr{5000}), LineState::shared);
  check.exclusive = true;
  rig.access(0, LineAddr{5001}, kLoad, 0);
  EXPECT_EQ(rig.mesi.l1d(CoreId{0}).state(LineAddr{5001}), LineState::exclusive);
}

TEST(ConflictHooks, AHitThatItsCanaryDoesNotCoverAsksTheHomeAndMovesNothing) {
  RecordingCheck check;
  Rig rig(Config{}, &check);
  const LineAddr line = rig.line_at(9, 32);
  check.canary = 7;
  rig.access(0, line, kStore, 0);
  EXPECT_EQ(rig.mesi.tile(TileId{0}).array()[rig.mesi.tile(TileId{0}).array().find(line)].canary,
            (VirtualTime{7, 0}));
  check.calls.clear();
  check.canary = 3;
  const std::uint64_t data = rig.mesh->bytes(TrafficClass::memory);
  // 2 + 7; to the home 3; slice 9; check 6; word back 3.
  const AccessResult r = rig.access(1, line, kLoad, 1000);
  EXPECT_EQ(r.cycle, Cycle{1000 + 2 + 7 + 3 + 9 + 6 + 3 + 2});  // and core 0's L1 is asked
  EXPECT_EQ(r.served_by, ServedBy::other_l1);
  EXPECT_EQ(r.parts.check, 6U);
  EXPECT_EQ(rig.mesh->bytes(TrafficClass::memory), data);
  check.covered = 3;
  EXPECT_EQ(rig.access(2, line, kLoad, 2000).cycle, Cycle{2000 + 9 + 5});
  EXPECT_EQ(check.calls, (std::vector<std::string>{"tile@1009", "global@1021 writable", "tile@2009"}));
  // Shared with another tile, a load's check need not cover writes.
  rig.access(4, line, kLoad, 3000);
  check.calls.clear();
  check.covered = 0;
  rig.access(3, line, kLoad, 4000);
  EXPECT_EQ(check.calls, (std::vector<std::string>{"tile@4009", "global@4021"}));
}

TEST(ConflictHooks, ABlockedHitKeepsItsCanary) {
  RecordingCheck check;
  Rig rig(Config{}, &check);
  const LineAddr line = rig.line_at(9, 32);
  check.canary = 7;
  rig.access(0, line, kStore, 0);
  check.blocks = true;
  check.canary = 0;
  const AccessResult r = rig.access(1, line, kLoad, 1000);
  EXPECT_FALSE(r.done);
  EXPECT_EQ(r.cycle, Cycle{1027});
  EXPECT_EQ(rig.mesi.l1d(CoreId{1}).state(line), LineState::invalid);
  EXPECT_EQ(rig.mesi.tile(TileId{0}).array()[rig.mesi.tile(TileId{0}).array().find(line)].canary,
            (VirtualTime{7, 0}));
}

TEST(ConflictHooks, WhatIsFilledUncheckedNeedsAGlobalCheckLater) {
  for (const AccessKind kind :
       {AccessKind::untracked_load, AccessKind::untracked_store, AccessKind::rollback, AccessKind::fetch}) {
    RecordingCheck check;
    Rig rig(Config{}, &check);
    const LineAddr line = rig.line_at(9, 32);
    rig.access(0, line, kind, 0);
    EXPECT_TRUE(check.calls.empty());
    rig.access(1, line, kLoad, 1000);
    ASSERT_EQ(check.calls.size(), 2U);
    EXPECT_EQ(check.calls[1].substr(0, 11), "global@1021");
    // Checked now: an unchecked use of what is here takes nothing of that away.
    rig.access(2, line, AccessKind::untracked_load, 2000);
    rig.access(3, line, kLoad, 3000);
    EXPECT_EQ(check.calls.back(), "tile@3009");
  }
}

TEST(ConflictHooks, AnUncheckedUpgradeNeedsAGlobalCheckLater) {
  RecordingCheck check;
  Rig rig(Config{}, &check);
  const LineAddr line = rig.line_at(9, 32);
  rig.access(0, line, kLoad, 0);
  rig.access(0, line, AccessKind::rollback, 1000);
  check.calls.clear();
  rig.access(1, line, kLoad, 2000);
  EXPECT_EQ(check.calls, (std::vector<std::string>{"tile@2009", "global@2021 writable"}));
}

TEST(ConflictHooks, EveryLossOfACopyOrOfTheRightToWriteIsReported) {
  using Losses = std::vector<RecordingCheck::Loss>;
  // Accesses that take the line, checked or not.
  for (const auto& [load, store] :
       {std::pair{kLoad, kStore}, std::pair{AccessKind::untracked_load, AccessKind::rollback},
        std::pair{AccessKind::fetch, AccessKind::untracked_store}}) {
    RecordingCheck check;
    Rig rig(Config{}, &check);
    const LineAddr line{5000};
    rig.access(0, line, kStore, 0);
    EXPECT_EQ(check.losses, Losses{});
    rig.access(4, line, load, 1000);
    EXPECT_EQ(check.losses, (Losses{{0, 5000, true}}));
    rig.access(8, line, load, 2000);
    EXPECT_EQ(check.losses.size(), 1U);
    rig.access(8, line, store, 3000);
    EXPECT_EQ(check.losses, (Losses{{0, 5000, true}, {0, 5000, false}, {1, 5000, false}}));
    rig.access(0, line, store, 4000);
    EXPECT_EQ(check.losses.back(), (RecordingCheck::Loss{2, 5000, false}));
    rig.mesi.forget(line, line);
    EXPECT_EQ(check.losses.back(), (RecordingCheck::Loss{0, 5000, false}));
    EXPECT_EQ(check.losses.size(), 5U);
    EXPECT_EQ(check.llc_evictions, 1);
  }
}

TEST(ConflictHooks, AccessesSayThatTheyAbortedTasks) {
  RecordingCheck check;
  Rig rig(Config{}, &check);
  EXPECT_FALSE(rig.access(0, LineAddr{5000}, kLoad, 0).disturbed);
  check.disturbs = true;
  EXPECT_TRUE(rig.access(0, LineAddr{5001}, kLoad, 0).disturbed);
  EXPECT_TRUE(rig.access(1, LineAddr{5001}, kLoad, 0).disturbed);
  EXPECT_FALSE(rig.access(1, LineAddr{5001}, AccessKind::untracked_store, 0).disturbed);
  check.blocks = true;
  EXPECT_TRUE(rig.access(0, LineAddr{5002}, kLoad, 0).disturbed);
}

TEST(ConflictHooks, RollbacksAccountAllTheirTrafficToAborts) {
  RecordingCheck check;
  Rig rig(tiny_caches(16, 4), &check);
  for (std::uint64_t i = 0; i < 200; ++i) rig.access(i % 16, LineAddr{4096 + i}, kStore, i * 300);
  const std::uint64_t memory = rig.mesh->bytes(TrafficClass::memory);
  const std::uint64_t coherence = rig.mesh->bytes(TrafficClass::coherence);
  for (std::uint64_t i = 0; i < 200; ++i)
    rig.access(i % 16, LineAddr{4096 + 7 * i % 200}, AccessKind::rollback, 100000 + i * 300);
  EXPECT_GT(rig.mesh->bytes(TrafficClass::abort), 100 * 72U);
  EXPECT_EQ(rig.mesh->bytes(TrafficClass::memory), memory);
  EXPECT_EQ(rig.mesh->bytes(TrafficClass::coherence), coherence);
  rig.access(0, LineAddr{4096 + 500}, kLoad, 1000000);
  EXPECT_GT(rig.mesh->bytes(TrafficClass::memory), memory);
}

TEST(ConflictHooks, RequestsOfSpeculativeTasksCarryTheirVirtualTime) {
  RecordingCheck check;
  Rig rig(Config{}, &check);
  const LineAddr line = rig.line_at(9, 32);
  rig.access(core_of(20), line, kLoad, 0);
  rig.access(core_of(21), line, kLoad, 1000);
  check.speculative = true;
  // Two flits to the home instead of one: a cycle more. 2 + 7 + 3 + 1 + 9 + 6 + line 6.
  EXPECT_EQ(rig.access(0, line, kLoad, 5000).cycle, Cycle{5034});
  EXPECT_EQ(rig.access(1, line, AccessKind::untracked_load, 6000).cycle, Cycle{6009});
  check.speculative = false;
  EXPECT_EQ(rig.access(core_of(18), line, kLoad, 7000).cycle, Cycle{7033});
}

TEST(MemoryHierarchy, PossibleHoldersAreASupersetOfTheHolders) {
  for (const std::uint32_t cores : {16U, 130U}) {
    Rig rig(tiny_caches(cores, 1));
    const SharerGroups groups(cores);
    Rng rng(3);
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const LineAddr line{4096 + rng.below(300)};
      rig.use(static_cast<std::uint32_t>(rng.below(cores)), line, rng.below(3) == 0 ? kStore : kLoad, i * 30);
      const LineAddr asked{4096 + rng.below(300)};
      std::uint64_t holders = 0;
      for (std::uint32_t t = 0; t < cores; ++t)
        if (rig.mesi.tile(TileId{t}).array().find(asked) != TileCaches::kNoSlot)
          holders |= groups.bit(TileId{t});
      const std::uint64_t possible = rig.mesi.possible_holders(asked);
      ASSERT_EQ(possible & holders, holders);
      if (groups.is_exact()) {
        ASSERT_EQ(possible, holders);
      }
    }
  }
}

TEST(ConflictHooks, EvictionsAreReported) {
  RecordingCheck check;
  Rig rig(tiny_caches(4, 1), &check);
  for (std::uint64_t i = 0; i < 2000; ++i) rig.access(i % 4, LineAddr{4096 + i}, kLoad, i * 300);
  EXPECT_GT(check.evictions, 1000);
  EXPECT_GT(check.llc_evictions, 1000);
}

TEST(MemoryHierarchy, WarmingLeavesWhatAccessesWouldAndCountsNothing) {
  Rig warmed(tiny_caches(16, 4)), accessed(tiny_caches(16, 4));
  Rng rng(9);
  std::set<std::uint64_t> lines;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const auto core = static_cast<std::uint32_t>(rng.below(16));
    const LineAddr line{4096 + rng.below(150)};
    const AccessKind kind = rng.below(3) == 0 ? kStore : kLoad;
    warmed.mesi.warm(CoreId{core}, line, kind);
    accessed.access(core, line, kind, i * 400);
    lines.insert(line.value);
  }
  for (const std::uint64_t l : lines)
    for (std::uint32_t c = 0; c < 16; ++c)
      ASSERT_EQ(warmed.mesi.l1d(CoreId{c}).state(LineAddr{l}),
                accessed.mesi.l1d(CoreId{c}).state(LineAddr{l}));
  EXPECT_EQ(warmed.mesi.check_invariants(), "");
  StatRegistry registry;
  warmed.mesi.register_stats(registry);
  warmed.mesh->register_stats(registry);
  for (const Stat& s : registry.stats())
    EXPECT_EQ(s.histogram != nullptr ? s.histogram->samples() : *s.counter, 0U) << s.name;
}

TEST(MemoryHierarchy, ForgettingTakesEveryCopyOfThePagesAndNothingElse) {
  for (const std::uint64_t last : {4096 + 63ULL, 1ULL << 40}) {  // a page, and more lines than the LLC has
    Rig rig(tiny_caches(16, 4));
    Rng rng(4);
    for (std::uint64_t i = 0; i < 3000; ++i)
      rig.use(static_cast<std::uint32_t>(rng.below(16)), LineAddr{4000 + rng.below(200)},
              rng.below(2) == 0 ? kLoad : kStore, i * 100);
    rig.use(3, LineAddr{4095}, kStore, 1000000);
    rig.use(3, LineAddr{4096}, kStore, 1000000);
    rig.mesi.forget(LineAddr{4096}, LineAddr{last});
    for (std::uint32_t c = 0; c < 16; ++c)
      for (std::uint64_t l = 4096; l < 4096 + 64; ++l)
        ASSERT_EQ(rig.mesi.l1d(CoreId{c}).state(LineAddr{l}), LineState::invalid);
    EXPECT_EQ(rig.mesi.l1d(CoreId{3}).state(LineAddr{4095}), LineState::modified);
    EXPECT_EQ(rig.mesi.check_invariants(), "");
    EXPECT_EQ(rig.access(3, LineAddr{4096}, kLoad, 2000000).served_by, ServedBy::memory);
  }
}

TEST(MemoryHierarchy, AReservationOutlivesEveryEvictionUntilAnotherCoreStores) {
  for (const std::uint32_t other : {1U, 4U}) {  // of this tile, of another
    SCOPED_TRACE(other);
    Rig rig(tiny_caches(16, 4));
    const LineAddr line = rig.line_at(2);
    L1Cache& l1 = rig.mesi.l1d(CoreId{0});
    rig.use(0, line, kLoad, 0);
    l1.reserve(line);
    std::uint64_t now = 1000;
    for (unsigned n = 1; n < 200; ++n) rig.use(8, rig.line_at(2, Rig::kAny, n), kStore, now += 1000);
    ASSERT_EQ(rig.mesi.possible_holders(line), 0u) << "recalled";
    EXPECT_TRUE(l1.has_reservation(line));
    // Exclusive, it would write without a message.
    rig.use(other, line, kLoad, now += 1000);
    EXPECT_EQ(rig.mesi.l1d(CoreId{other}).state(line), LineState::shared);
    EXPECT_TRUE(l1.has_reservation(line));
    rig.use(other, line, kStore, now += 1000);
    EXPECT_FALSE(l1.has_reservation(line));
  }
}

TEST(MemoryHierarchy, AnotherCoresStoreEndsAReservationAndAReadDoesNot) {
  Rig rig(Config{});
  const LineAddr line{7000};
  L1Cache& l1 = rig.mesi.l1d(CoreId{0});
  rig.access(0, line, kLoad, 0);
  l1.reserve(line);
  rig.access(1, line, kLoad, 1000);
  rig.access(100, line, kLoad, 2000);
  EXPECT_TRUE(l1.has_reservation(line));
  rig.access(0, line, kStore, 3000);  // its own upgrade
  EXPECT_TRUE(l1.has_reservation(line));
  rig.access(100, line, kStore, 4000);
  EXPECT_FALSE(l1.has_reservation(line));
}

TEST(MemoryHierarchy, CoarseSharerVectorsKeepEveryInvariant) {
  Rig rig(tiny_caches(256, 1));  // 256 tiles: four a bit
  Rng rng(8);
  for (std::uint64_t i = 0; i < 10000; ++i)
    rig.use(static_cast<std::uint32_t>(rng.below(256)), LineAddr{4096 + rng.below(800)},
            rng.below(4) == 0 ? kStore : kLoad, i * 3);
  EXPECT_EQ(rig.mesi.check_invariants(), "");
}

TEST(MemoryHierarchy, AnUnknownProtocolIsRefusedWithTheKnownOnes) {
  Config config = resolve(Config{});
  config.coherence.protocol = "mosi";
  const auto mesh = make_mesh(config);
  NoConflictCheck none;
  try {
    make_memory_system(config, *mesh, none);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("mosi"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("mesi"), std::string::npos);
  }
}

}  // namespace
}  // namespace rubato::chip
