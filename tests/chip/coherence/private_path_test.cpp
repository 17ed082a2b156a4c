// The way through L1 and L2 with a hierarchy alone: lines are put into L2s by hand.
// SPDX-License-Identifier: MIT
#include "chip/coherence/private_path.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "tests/chip/coherence/rig.hpp"

namespace rubato::chip {
namespace {

constexpr LineAddr kLine{4096};

struct SpeculatedOnce final : ConflictCheck {
  void activate() { active_ = true; }
  void check_tile(CoreId, LineAddr, AccessKind, VirtualTime, Cycle, CheckResult&) override {}
  void check_global(CoreId, LineAddr, AccessKind, std::uint64_t, bool, TileId, Cycle, CheckResult&) override {
  }
  void on_lose(TileId, LineAddr, bool) override {}
  void on_llc_evict(LineAddr) override {}
};

/// Tile of two cores, whose L2 has the line.
struct PathOfAnAccess : testing::Test {
  explicit PathOfAnAccess(LineState state = LineState::exclusive)
      : parts(resolve(tiny_caches(2, 2)), 0),
        gate(checks, parts.warming, parts.homes),
        private_path(parts, gate),
        slot(parts.tiles[0].array().victim(kLine)) {
    parts.tiles[0].array().fill(slot, kLine).state = state;
  }
  /// Whether the access leaves its L1, and if so, whether the line is there with the right.
  std::optional<bool> leaves(std::uint32_t core, AccessKind kind) {
    std::optional<bool> left;
    result = private_path.access(CoreId{core}, kLine, kind, Cycle{100}, [&](std::uint32_t, bool is_in_l1) {
      left = is_in_l1;
      return AccessResult{.done = false};
    });
    return left;
  }
  void fill(std::uint32_t core, AccessKind kind, bool exclusive = true, bool is_read = true) {
    const PrivateAccess r = private_path.describe(CoreId{core}, kLine, kind);
    Path path(Cycle{100});
    private_path.ask_l1s(r, slot, path);
    private_path.fill_l1(r, l1(core).find(kLine), slot, exclusive, is_read, path);
  }
  L1Cache& l1(std::uint32_t core) { return parts.l1s[Hierarchy::l1_of(CoreId{core}, AccessKind::load)]; }
  LineState state(std::uint32_t core) { return l1(core).state(kLine); }

  SpeculatedOnce checks;
  Hierarchy parts;
  ConflictGate gate;
  PrivatePath private_path;
  std::uint32_t slot;
  AccessResult result;
};

TEST_F(PathOfAnAccess, AnL1ServesWhatItHasTheRightFor) {
  EXPECT_EQ(leaves(0, AccessKind::load), false);
  fill(0, AccessKind::load, false);
  EXPECT_EQ(leaves(0, AccessKind::store), false) << "shared";
  EXPECT_EQ(leaves(0, AccessKind::load), std::nullopt);
  EXPECT_TRUE(result.done);
  EXPECT_EQ(result.served_by, ServedBy::l1);
  EXPECT_EQ(result.cycle, Cycle{102});
  EXPECT_EQ(l1(0).hits(), 1U);
  EXPECT_EQ(leaves(1, AccessKind::load), false);
}

TEST_F(PathOfAnAccess, AHitWithoutAMarkIsCheckedAsOneOfTheL2) {
  fill(0, AccessKind::load, false);
  checks.activate();
  l1(0).begin_marks();
  EXPECT_EQ(leaves(0, AccessKind::load), std::nullopt) << "marked with all that was there";
  l1(0).invalidate(l1(0).find(kLine));
  l1(0).fill(l1(0).victim(kLine).slot, kLine, LineState::shared);
  EXPECT_EQ(leaves(0, AccessKind::load), true);
  EXPECT_EQ(leaves(0, AccessKind::untracked_load), std::nullopt);
  EXPECT_EQ(l1(0).moves.uncounted, 1U) << "neither a hit nor recorded";
}

TEST_F(PathOfAnAccess, TheFirstLoadGetsTheRightToWriteAndASecondOneTakesIt) {
  fill(0, AccessKind::load);
  EXPECT_EQ(state(0), LineState::exclusive);
  const PrivateAccess r = private_path.describe(CoreId{1}, kLine, AccessKind::load);
  Path path(Cycle{100});
  EXPECT_TRUE(private_path.ask_l1s(r, slot, path));
  EXPECT_EQ(path.parts().l1, 2U) << "the owner is asked";
  EXPECT_EQ(state(0), LineState::shared);
  private_path.fill_l1(r, L1Cache::kNoSlot, slot, true, true, path);
  EXPECT_EQ(state(1), LineState::shared);
}

TEST_F(PathOfAnAccess, ALoadThatOthersStandAgainstGetsNoRightToWrite) {
  fill(0, AccessKind::load, false);
  EXPECT_EQ(state(0), LineState::shared);
}

TEST_F(PathOfAnAccess, AStoreTakesTheLineFromTheOtherL1s) {
  fill(0, AccessKind::load);
  fill(1, AccessKind::store);
  EXPECT_EQ(state(0), LineState::invalid);
  EXPECT_EQ(state(1), LineState::modified);
  EXPECT_EQ(parts.tiles[0].array()[slot].state, LineState::modified);
}

TEST_F(PathOfAnAccess, AReservationThatHasLeftKeepsTheLineFromBeingExclusive) {
  fill(0, AccessKind::load);
  l1(0).reserve(kLine);
  parts.tiles[0].invalidate_l1s(slot);
  fill(1, AccessKind::load);
  EXPECT_EQ(state(1), LineState::shared);
  EXPECT_TRUE(l1(0).has_reservation(kLine));
  fill(1, AccessKind::store);
  EXPECT_FALSE(l1(0).has_reservation(kLine));
}

TEST_F(PathOfAnAccess, TheL2IsReadUnlessTheLineHasJustCome) {
  fill(0, AccessKind::load, false, false);
  EXPECT_EQ(parts.tiles[0].accesses.reads, 0U);
  fill(1, AccessKind::load, false);
  EXPECT_EQ(parts.tiles[0].accesses.reads, 1U);
  fill(1, AccessKind::store);
  EXPECT_EQ(parts.tiles[0].accesses.reads, 1U) << "the L1 has it, and needs the right only";
  EXPECT_EQ(l1(1).misses(), 2U);
}

TEST_F(PathOfAnAccess, WarmingFillsAndCountsNothing) {
  {
    const Warming::Scope scope(parts.warming);
    fill(0, AccessKind::load);
    EXPECT_EQ(leaves(0, AccessKind::load), std::nullopt);
  }
  EXPECT_EQ(state(0), LineState::exclusive);
  EXPECT_EQ(parts.tiles[0].accesses.reads + l1(0).misses() + l1(0).hits() + l1(0).moves.uncounted, 0U);
}

}  // namespace
}  // namespace rubato::chip
