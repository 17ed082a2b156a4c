// The gate to conflict checks with a check that says what it is told to: no protocol, no tasks.
// SPDX-License-Identifier: MIT
#include "chip/coherence/conflict_gate.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/chip/coherence/rig.hpp"

namespace rubato::chip {
namespace {

constexpr LineAddr kLine{4096};
constexpr VirtualTime kOld{1}, kNew{2};

struct SaidChecks final : ConflictCheck {
  void activate() { active_ = true; }
  void check_tile(CoreId, LineAddr, AccessKind, VirtualTime, Cycle, CheckResult& result) override {
    calls.push_back("tile");
    result = of_tile;
  }
  void check_global(CoreId, LineAddr, AccessKind, std::uint64_t with, bool is_writable, TileId at, Cycle now,
                    CheckResult& result) override {
    calls.push_back("global");
    holders = with, writable = is_writable, home = at, asked = now;
    result = global;
  }
  void on_lose(TileId, LineAddr, bool kept) override { calls.push_back(kept ? "lose right" : "lose line"); }
  void on_llc_evict(LineAddr) override { calls.push_back("leave"); }

  CheckResult of_tile, global;
  std::vector<std::string> calls;
  std::uint64_t holders = 0;
  bool writable = false;
  TileId home{};
  Cycle asked{};
};

struct Gate : testing::Test {
  Gate() : config(resolve(tiny_caches(4, 1))), homes(config), gate(checks, warming, homes) {
    checks.activate();
    checks.of_tile = {.cycles = 2, .needs_global = true};
    checks.global = {.cycles = 5, .canary = kNew};
    line.state = LineState::exclusive;
    line.canary = kOld;
  }
  /// Checks a hit; `there` and `back` take 10 cycles each.
  bool check_hit() {
    const auto way = [&](const char* name) {
      return [this, name](TileId) {
        checks.calls.push_back(name);
        path.spend(&AccessParts::network, 10);
      };
    };
    return gate.check_hit(access, line, path, result, way("there"), way("back"));
  }

  Config config;
  HomeMap homes;
  Warming warming;
  SaidChecks checks;
  ConflictGate gate;
  PrivateAccess access{.core = CoreId{1},
                       .line = kLine,
                       .kind = AccessKind::load,
                       .write = false,
                       .checked = true,
                       .unchecked = false,
                       .tile = TileId{1},
                       .l1 = 1};
  L2Line line;
  Path path{Cycle{100}};
  CheckResult result;
};
using Calls = std::vector<std::string>;

TEST_F(Gate, AHitThatItsCanaryCoversIsDecidedInTheTile) {
  checks.of_tile.needs_global = false;
  EXPECT_TRUE(check_hit());
  checks.of_tile.blocked = true;
  EXPECT_FALSE(check_hit());
  EXPECT_EQ(checks.calls, (Calls{"tile", "tile"}));
  EXPECT_EQ(path.parts().check, 4U);
  EXPECT_EQ(line.canary, kOld);
}

TEST_F(Gate, AHitThatItDoesNotCoverIsDecidedAtTheHome) {
  EXPECT_TRUE(check_hit());
  EXPECT_EQ(checks.calls, (Calls{"tile", "there", "global", "back"}));
  EXPECT_EQ(checks.home, homes.home_of(kLine));
  EXPECT_EQ(checks.asked, Cycle{112}) << "after the tile's check and the way there";
  EXPECT_TRUE(checks.writable);
  EXPECT_EQ(checks.holders, 0U);
  EXPECT_EQ(line.canary, kNew);
  EXPECT_EQ(path.at(), Cycle{127});
}

TEST_F(Gate, ABlockedHitGetsNoWordAndNoCanary) {
  checks.global.blocked = true;
  EXPECT_FALSE(check_hit());
  EXPECT_EQ(checks.calls, (Calls{"tile", "there", "global"}));
  EXPECT_EQ(line.canary, kOld);
}

TEST_F(Gate, AFreeCheckTakesNoWay) {
  checks.of_tile.is_free = true;
  EXPECT_TRUE(check_hit());
  EXPECT_EQ(checks.calls, (Calls{"tile", "global"}));
  EXPECT_EQ(line.canary, kNew);
}

TEST_F(Gate, AMissIsCheckedWithTheHoldersThatItContacts) {
  EXPECT_TRUE(gate.check_miss(access, 0b101, false, path, result));
  EXPECT_EQ(checks.holders, 0b101U);
  EXPECT_FALSE(checks.writable);
  EXPECT_EQ(result.canary, kNew);
  checks.global.blocked = true;
  EXPECT_FALSE(gate.check_miss(access, 0, false, path, result));
}

TEST_F(Gate, WarmingChecksNothingButRemembersWhatItDisplaces) {
  EXPECT_TRUE(gate.is_active());
  const Warming::Scope scope(warming);
  EXPECT_FALSE(gate.is_active());
  gate.lose(TileId{0}, kLine);
  gate.lose(TileId{0}, kLine, true);
  gate.leave_llc(kLine);
  EXPECT_EQ(checks.calls, (Calls{"lose line", "lose right", "leave"}));
}

TEST(ConflictGate, HearsOfNothingBeforeATaskHasSpeculated) {
  const Config config = resolve(tiny_caches(4, 1));
  const HomeMap homes(config);
  const Warming warming;
  SaidChecks checks;
  ConflictGate gate(checks, warming, homes);
  EXPECT_FALSE(gate.is_active());
  gate.lose(TileId{0}, kLine);
  gate.leave_llc(kLine);
  EXPECT_TRUE(checks.calls.empty());
}

}  // namespace
}  // namespace rubato::chip
