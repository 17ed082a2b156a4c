// Programs side by side use the same addresses and share nothing (K81), under every protocol, on caches and
// directories of few lines. Without the programs' numbers the same accesses do share: the tests would see it.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "chip/coherence/memory_hierarchy.hpp"
#include "chip/coherence/token/framed_array.hpp"
#include "chip/noc/mesh.hpp"
#include "chip/time/timeline.hpp"
#include "tests/chip/coherence/rig.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint32_t kTiles = 8, kPrograms = 4, kCoresPerTile = 2;

/// Accesses one at a time, each with all that it entails.
struct Programs final : AccessClient {
  explicit Programs(const std::string& protocol, bool are_numbered = true,
                    const std::string& interleave = "hash")
      : config(resolve(config_of(protocol, interleave))),
        mesh(make_mesh(config)),
        memory(make_memory_system(config, *mesh, none, &timeline, this)) {
    for (std::uint32_t tile = 0; are_numbered && tile < kTiles; ++tile)
      memory->set_program(TileId{tile}, tile % kPrograms);
  }
  static Config config_of(const std::string& protocol, const std::string& interleave) {
    Config c = tiny_caches(kTiles * kCoresPerTile, kCoresPerTile);
    c.l2.size = 2048;  // eight sets
    c.coherence.protocol = protocol;
    c.llc.interleave = interleave;
    c.coherence.capacity = 2;
    c.coherence.ways = 4;
    c.coherence.directory_ways = 2;
    return c;
  }
  static std::uint32_t program_of(std::uint32_t core) { return core / kCoresPerTile % kPrograms; }

  void on_access_ready(CoreId core, LineAddr line, Cycle now) override {
    if (core != asking || line != asked || result.done) return;
    result = memory->access(core, line, kind, now);
  }
  AccessResult access(std::uint32_t core, LineAddr line, AccessKind what) {
    asking = CoreId{core};
    asked = line;
    kind = what;
    const Cycle now = timeline.now();
    result.done = false;
    result = memory->access(asking, line, kind, now);
    while (timeline.step()) continue;
    EXPECT_TRUE(result.done);
    return result;
  }
  /// Random accesses of all cores to the same lines. @returns how often one changed the right of an L1 of
  /// another program to that line from modified to shared: no eviction does.
  std::uint64_t run(std::uint64_t accesses) {
    Rng rng(5);
    std::uint64_t mixed_up = 0;
    for (std::uint64_t i = 0; i < accesses; ++i) {
      const auto core = static_cast<std::uint32_t>(rng.below(kTiles * kCoresPerTile));
      const LineAddr line{4096 + rng.below(60)};
      const AccessKind what = rng.below(3) == 0 ? AccessKind::store : AccessKind::load;
      const std::vector<LineState> before = states_of_others(core, line);
      access(core, line, what);
      const std::vector<LineState> after = states_of_others(core, line);
      for (std::size_t k = 0; k < before.size(); ++k)
        mixed_up += before[k] == LineState::modified && after[k] == LineState::shared ? 1 : 0;
    }
    return mixed_up;
  }
  std::vector<LineState> states_of_others(std::uint32_t core, LineAddr line) {
    std::vector<LineState> states;
    for (std::uint32_t other = 0; other < kTiles * kCoresPerTile; ++other)
      if (program_of(other) != program_of(core)) states.push_back(memory->l1d(CoreId{other}).state(line));
    return states;
  }

  Config config;
  NoConflictCheck none;
  Timeline timeline;
  std::unique_ptr<Mesh> mesh;
  std::unique_ptr<MemoryHierarchy> memory;
  CoreId asking{};
  LineAddr asked{};
  AccessKind kind{};
  AccessResult result{};
};

class ProgramsSideBySide : public testing::TestWithParam<const char*> {};

TEST_P(ProgramsSideBySide, TakeNoLineFromEachOther) {
  Programs chip(GetParam()), unnumbered(GetParam(), false);
  EXPECT_EQ(chip.run(6000), 0U);
  EXPECT_EQ(chip.memory->check_invariants(), "");
  EXPECT_GT(unnumbered.run(6000), 100U) << "else this would see nothing";
  EXPECT_EQ(unnumbered.memory->check_invariants(), "");
}

TEST(ProgramsOnInterleavedHomes, TakeNoLineFromEachOther) {
  for (const char* protocol : {"sparse", "tokenb", "mosaic", "flask"}) {
    SCOPED_TRACE(protocol);
    Programs chip(protocol, true, "low");
    EXPECT_EQ(chip.run(3000), 0U);
    EXPECT_EQ(chip.memory->check_invariants(), "");
  }
}

TEST_P(ProgramsSideBySide, WriteTheSameLineAtTheSameTime) {
  Programs chip(GetParam());
  const LineAddr line{4096};
  for (std::uint32_t p = 0; p < kPrograms; ++p) chip.access(p * kCoresPerTile, line, AccessKind::store);
  for (std::uint32_t p = 0; p < kPrograms; ++p)
    EXPECT_EQ(chip.memory->l1d(CoreId{p * kCoresPerTile}).state(line), LineState::modified) << p;
  // Within a program the line goes from tile to tile.
  chip.access(kPrograms * kCoresPerTile, line, AccessKind::store);
  EXPECT_EQ(chip.memory->l1d(CoreId{0}).state(line), LineState::invalid);
  EXPECT_EQ(chip.memory->l1d(CoreId{kCoresPerTile}).state(line), LineState::modified);
}

TEST_P(ProgramsSideBySide, EndNoReservationOfEachOther) {
  Programs chip(GetParam());
  const LineAddr line{4096};
  L1Cache& l1 = chip.memory->l1d(CoreId{0});
  for (const bool has_left : {false, true}) {
    chip.access(0, line, AccessKind::load);
    l1.reserve(line);
    for (std::uint64_t i = 1; has_left && i < 8; ++i)  // of the L1's two ways, and its set
      chip.access(0, LineAddr{line.value + i * 2}, AccessKind::load);
    EXPECT_EQ(l1.state(line) == LineState::invalid, has_left);
    chip.access(kCoresPerTile, line, AccessKind::store);
    EXPECT_TRUE(l1.has_reservation(line)) << has_left;
    chip.access(kPrograms * kCoresPerTile, line, AccessKind::store);
    EXPECT_FALSE(l1.has_reservation(line)) << has_left;
  }
}

TEST_P(ProgramsSideBySide, ForgetOnlyTheirOwn) {
  Programs chip(GetParam());
  const LineAddr line{4096};
  for (std::uint32_t p = 0; p < 2; ++p) chip.access(p * kCoresPerTile, line, AccessKind::store);
  chip.memory->forget(line_of_program(1, line), line_of_program(1, line));
  EXPECT_EQ(chip.memory->l1d(CoreId{0}).state(line), LineState::modified);
  EXPECT_EQ(chip.memory->l1d(CoreId{kCoresPerTile}).state(line), LineState::invalid);
  EXPECT_EQ(chip.memory->check_invariants(), "");
}

TEST(ProgramsFrames, AreTheirOwn) {
  Config config = resolve(Programs::config_of("sparse", "low"));
  const LineFrame frame(config);
  constexpr std::uint64_t kSets = 1024;
  for (const std::uint64_t own : {4096U, 0x12345U, 0xffffffffU}) {
    std::set<std::uint64_t> sets;
    for (std::uint32_t program = 0; program < 16; ++program) {
      const LineAddr line = line_of_program(program, LineAddr{own});
      EXPECT_EQ(frame.line_of(frame.of(line)), line);
      sets.insert(frame.of(line).value % kSets);
    }
    EXPECT_GE(sets.size(), 14U) << "else arrays at the same address fall into the same sets";
  }
}

INSTANTIATE_TEST_SUITE_P(Protocols, ProgramsSideBySide,
                         testing::Values("mesi", "late", "sparse", "tokenb", "mosaic", "flask"),
                         [](const auto& protocol) { return std::string(protocol.param); });

}  // namespace
}  // namespace rubato::chip
