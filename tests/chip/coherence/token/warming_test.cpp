// Warming a line while cores wait for it: what it closes may let their requests go on, and they are told.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "chip/coherence/token/token_protocol.hpp"
#include "chip/noc/mesh.hpp"
#include "tests/chip/coherence/rig.hpp"

namespace rubato::chip {
namespace {

/// Notes which tiles lose a line. It is active from activate() on, as if a task had speculated.
struct Losses final : ConflictCheck {
  void activate() { active_ = true; }
  void check_tile(CoreId, LineAddr, AccessKind, VirtualTime, Cycle, CheckResult& result) override {
    result = {};
  }
  void check_global(CoreId, LineAddr, AccessKind, std::uint64_t, bool, TileId, Cycle,
                    CheckResult& result) override {
    result = {};
  }
  void on_lose(TileId tile, LineAddr, bool) override { tiles.push_back(tile); }
  void on_llc_evict(LineAddr) override {}
  std::vector<TileId> tiles;
};

struct TokenWarming : testing::Test, AccessClient {
  TokenWarming()
      : config(resolve(two_tiles())),
        mesh(make_mesh(config)),
        protocol(config, TokenPolicy::sparse, {*mesh, losses, timeline, *this}) {}
  static Config two_tiles() {
    Config config = tiny_caches(2, 1);
    config.coherence.capacity = 4;
    return config;
  }
  void on_access_ready(CoreId core, LineAddr, Cycle now) override { ready[core.value] = now; }
  bool ask(std::uint32_t core, AccessKind kind) {
    return protocol.access(CoreId{core}, kLine, kind, timeline.now()).done;
  }

  static constexpr LineAddr kLine{4096};
  Config config;
  Losses losses;
  Timeline timeline;
  std::unique_ptr<Mesh> mesh;
  TokenProtocol protocol;
  std::optional<Cycle> ready[2];
};

TEST_F(TokenWarming, ARequestThatItLetsGoOnWakesTheCoresThatWait) {
  EXPECT_FALSE(ask(1, AccessKind::load));
  while (!ready[1]) ASSERT_TRUE(timeline.step());
  // Until it uses the line, another's request waits at the home.
  EXPECT_FALSE(ask(0, AccessKind::store));
  while (timeline.next() < *ready[1] + 60) timeline.step();
  EXPECT_FALSE(ready[0]);
  protocol.warm(CoreId{1}, kLine, AccessKind::load);
  while (timeline.next() < *ready[1] + 60) timeline.step();
  ASSERT_TRUE(ready[0]);
  EXPECT_TRUE(ask(0, AccessKind::store));
  while (timeline.step()) {
  }
  EXPECT_EQ(protocol.check_invariants(), "");
}

TEST_F(TokenWarming, ALineThatItTakesFromATileIsRememberedForTheTasksThatUsedIt) {
  EXPECT_FALSE(ask(0, AccessKind::load));
  while (!ready[0]) ASSERT_TRUE(timeline.step());
  EXPECT_TRUE(ask(0, AccessKind::load));
  while (timeline.step()) {
  }
  losses.activate();
  protocol.warm(CoreId{1}, kLine, AccessKind::store);
  EXPECT_EQ(losses.tiles, std::vector{TileId{0}});
}

}  // namespace
}  // namespace rubato::chip
