// The arbiter's rounds against hand-computed cycles: when a GVT is known where, and what it costs on the
// network.
// SPDX-License-Identifier: MIT
#include "chip/task/arbiter.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "chip/noc/mesh.hpp"

namespace rubato::chip {
namespace {

struct Tile final : RoundParticipant {
  Timestamp earliest = 0;
  bool stalls = true;                                        // always told
  std::vector<std::pair<Timestamp, std::uint64_t>> applied;  // GVT, cycle
  TileReport report(Cycle) override {
    return {.earliest = {earliest, 0}, .waits = false, .empty = false, .stalls = stalls};
  }
  const VirtualTime* gvt = nullptr;
  bool awaits_gvt() const override { return false; }
  bool awaits_timestamp() const override { return false; }
  bool runs_attempts() const override { return false; }
  void collect_decided(VirtualTime, std::vector<Attempt*>&) const override {}
  void on_gvt(Cycle now) override { applied.emplace_back(gvt->timestamp, now.value); }
};

struct Host final : TaskHost {
  void wake(CoreId, Cycle) override {}
  void end_region(Cycle) override {}
  bool abort_running(CoreId, Cycle) override { return false; }
  void become_nonspeculative(CoreId) override {}
  void become_nonspeculative_suspended(std::uint64_t) override {}
  bool is_in_capsule(CoreId) const override { return false; }
  void free_record(LineAddr) override {}
  void retire(Attempt&, bool) override {}
  void no_progress(const std::string&, const std::string&) override {}
  bool awaits_time() const override { return false; }
};

/// A chip of width x height tiles of one core, whose tile t reports timestamp 100 + t.
struct Rig {
  Rig(std::uint32_t width, std::uint32_t height) {
    config.chip.cores = width * height;
    config.chip.cores_per_tile = 1;
    config.chip.mesh_width = width;
    config.chip.mesh_height = height;
    mesh = make_mesh(config);
    arbiter = std::make_unique<Arbiter>(config, timeline, *mesh, host);
    tiles.resize(config.chip.cores);
    for (std::uint32_t t = 0; t < tiles.size(); ++t) {
      tiles[t].earliest = 100 + t;
      tiles[t].gvt = &arbiter->gvt_at(TileId{t});
      participants.push_back(&tiles[t]);
    }
    arbiter->attach(participants);
  }
  void run_one_round() {
    arbiter->begin_region(Cycle{0});
    while (timeline.step()) {
    }
  }
  Config config;
  Timeline timeline;
  Host host;
  std::unique_ptr<Mesh> mesh;
  std::unique_ptr<Arbiter> arbiter;
  std::vector<Tile> tiles;
  std::vector<RoundParticipant*> participants;
};

TEST(Arbiter, CombinesReportsOnTheWayAndBroadcastsAlongTheSameTree) {
  Rig rig(3, 3);
  rig.run_one_round();
  ASSERT_EQ(rig.arbiter->tile(), TileId{4});
  // All sample at 200. A report is 24 B, 2 flits: a hop takes 1 + 1 cycles. The corners' reports reach the
  // middles of the rows at 202; those of the outer rows go on to the centre and are there at 204, the last.
  // The GVT is 16 B, 1 flit: 1 cycle a hop, so 205 at the centre's neighbours and 206 at the corners.
  const std::vector<std::uint64_t> expected = {206, 205, 206, 205, 204, 205, 206, 205, 206};
  for (std::uint32_t t = 0; t < 9; ++t) {
    ASSERT_EQ(rig.tiles[t].applied.size(), 1u) << t;
    EXPECT_EQ(rig.tiles[t].applied[0].second, expected[t]) << t;
    EXPECT_EQ(rig.tiles[t].applied[0].first, 100u);
  }
  // Eight reports and eight GVTs, one hop each.
  EXPECT_EQ(rig.mesh->bytes(TrafficClass::virtual_time), 8u * 24 + 8u * 16);
}

TEST(TileReport, PrecedesWhatIsStillToBeDispatchedInItsCycle) {
  const Cycle now{400};
  const auto at = [&](Cycle dispatched, std::uint32_t core) {
    return TileReport{.earliest = {7, tie_breaker(dispatched, CoreId{core})}}.at(now);
  };
  EXPECT_EQ(at(Cycle{399}, 1), (VirtualTime{7, tie_breaker(Cycle{399}, CoreId{1})}));
  EXPECT_LE(at(now, 1), (VirtualTime{7, tie_breaker(now, CoreId{0})}));
}

TEST(Arbiter, TellsOnlyTilesForWhichTheGvtMayChangeSomething) {
  Rig rig(3, 3);
  for (Tile& tile : rig.tiles) tile.stalls = false;
  rig.run_one_round();
  // Tile 0 holds the earliest task; the others' are later, and nothing happened there since the sample.
  for (std::uint32_t t = 0; t < 9; ++t) {
    EXPECT_EQ(rig.tiles[t].applied.size(), t == 0 ? 1u : 0u) << t;
    EXPECT_EQ(rig.arbiter->gvt_at(TileId{t}).timestamp, 100u) << t;
  }
  // A touched tile is asked again: its task left, so tile 1's is the earliest now.
  rig.tiles[0].earliest = 500;
  rig.arbiter->touch(TileId{0});
  rig.arbiter->left(100, rig.timeline.now());
  while (rig.timeline.step()) {
  }
  EXPECT_EQ(rig.arbiter->gvt().timestamp, 101u);
  EXPECT_EQ(rig.tiles[1].applied.size(), 1u);
  EXPECT_EQ(rig.tiles[0].applied.size(), 1u);
}

TEST(Arbiter, TakesNoTimeAndNoTrafficWithoutDelay) {
  Rig rig(3, 3);
  rig.config.arbiter.delay = false;
  rig.run_one_round();
  for (const Tile& tile : rig.tiles) {
    ASSERT_EQ(tile.applied.size(), 1u);
    EXPECT_EQ(tile.applied[0].second, 200u);
  }
  EXPECT_EQ(rig.mesh->bytes(TrafficClass::virtual_time), 0u);
}

TEST(Arbiter, ReachesEveryTileOfUnevenMeshes) {
  for (const auto& [width, height] :
       std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 1}, {2, 1}, {1, 5}, {8, 3}, {16, 16}}) {
    Rig rig(width, height);
    rig.run_one_round();
    for (const Tile& tile : rig.tiles) EXPECT_EQ(tile.applied.size(), 1u) << width << 'x' << height;
    EXPECT_EQ(rig.mesh->bytes(TrafficClass::virtual_time), (rig.tiles.size() - 1) * (24 + 16));
  }
}

}  // namespace
}  // namespace rubato::chip
