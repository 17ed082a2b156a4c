// Programs side by side use the same addresses and share nothing (K81), under every protocol, on caches and
// directories of few lines. Without the programs' numbers the same accesses do share: the tests would see it.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "chip/coherence/memory_hierarchy.hpp"
#include "chip/coherence/token/framed_array.hpp"
#include "chip/noc/mesh.hpp"
#include "chip/stats/registry.hpp"
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

// Cores go to another program and back all the time, as those of one tile do with processes of their own.
TEST_P(ProgramsSideBySide, TakeACoreInTurns) {
  Programs chip(GetParam(), false);
  Rng rng(7);
  std::vector<std::uint32_t> program(kTiles * kCoresPerTile, 0);
  for (int i = 0; i < 6000; ++i) {
    const auto core = static_cast<std::uint32_t>(rng.below(kTiles * kCoresPerTile));
    if (rng.below(20) == 0) {
      program[core] = static_cast<std::uint32_t>(rng.below(kPrograms));
      chip.memory->enter_program(CoreId{core}, program[core]);
      for (std::uint64_t line = 4096; line < 4156; ++line)
        ASSERT_EQ(chip.memory->l1d(CoreId{core}).state(LineAddr{line}), LineState::invalid);
    }
    const LineAddr line{4096 + rng.below(60)};
    const bool writes = rng.below(3) == 0;
    std::vector<LineState> before;
    for (std::uint32_t other = 0; other < program.size(); ++other)
      before.push_back(chip.memory->l1d(CoreId{other}).state(line));
    chip.access(core, line, writes ? AccessKind::store : AccessKind::load);
    for (std::uint32_t other = 0; other < program.size(); ++other) {
      const LineState after = chip.memory->l1d(CoreId{other}).state(line);
      if (other == core) continue;
      if (program[other] != program[core]) {
        ASSERT_FALSE(before[other] == LineState::modified && after == LineState::shared);
      } else if (writes) {
        ASSERT_EQ(after, LineState::invalid);
      }
    }
  }
  EXPECT_EQ(chip.memory->check_invariants(), "");
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

/// The chip's statistics by name, and sums of those of tiles and controllers.
struct Statistics {
  explicit Statistics(const Programs& chip) { chip.memory->register_stats(registry); }
  std::uint64_t of(const std::string& name) const {
    const Stat* const stat = registry.find(name);
    EXPECT_NE(stat, nullptr) << name;
    if (stat == nullptr) return 0;
    return stat->counter != nullptr ? *stat->counter : static_cast<std::uint64_t>(stat->value());
  }
  std::uint64_t of(std::uint32_t program, const std::string& name) const {
    return of(fmt::format("program.{}.{}", program + 1, name));
  }
  std::uint64_t sum(const std::string& prefix, std::uint32_t count, const std::string& name) const {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < count; ++i) sum += of(fmt::format("{}.{}.{}", prefix, i, name));
    return sum;
  }

  StatRegistry registry;
};

TEST_P(ProgramsSideBySide, ShareOutWhatTilesAndMemoryCount) {
  Programs chip(GetParam());
  chip.run(6000);
  const Statistics found(chip);
  const auto of_programs = [&](const std::string& name) {
    std::uint64_t sum = 0;
    for (std::uint32_t p = 0; p < kPrograms; ++p) sum += found.of(p, name);
    return sum;
  };
  for (const char* name : {"l2.misses", "llc.hits", "llc.misses", "llc.evictions"}) {
    EXPECT_EQ(of_programs(name), found.sum("tile", kTiles, name)) << name;
    for (std::uint32_t p = 0; p < kPrograms; ++p) EXPECT_GT(found.of(p, name), 0U) << name << ' ' << p;
  }
  for (const char* name : {"reads", "writes"})
    EXPECT_EQ(of_programs(fmt::format("mem.{}", name)), found.sum("mem", chip.config.mem.controllers, name));
  EXPECT_GT(of_programs("mem.writes"), 0U);
  EXPECT_LT(0U, of_programs("llc.displaced"));
  EXPECT_LT(of_programs("llc.displaced"), of_programs("llc.evictions")) << "a program displaces its own, too";
  // A program's lines are forgotten: it has none in the LLC then, and the others have theirs.
  std::vector<std::uint64_t> before;
  for (std::uint32_t p = 0; p < kPrograms; ++p) before.push_back(found.of(p, "llc.lines"));
  EXPECT_LE(of_programs("llc.lines"), kTiles * chip.config.llc.size / kLineBytes);
  chip.memory->forget(line_of_program(2, LineAddr{0}), line_of_program(2, LineAddr{8191}));
  EXPECT_GT(before[2], 0U);
  for (std::uint32_t p = 0; p < kPrograms; ++p)
    EXPECT_EQ(found.of(p, "llc.lines"), p == 2 ? 0 : before[p]) << p;
}

TEST_P(ProgramsSideBySide, CountToTheirOwnEnds) {
  Programs chip(GetParam());
  const Statistics found(chip);
  chip.run(2000);
  const std::vector<std::string> names = {"l2.misses", "llc.hits", "llc.misses", "mem.reads", "mem.writes"};
  std::vector<std::uint64_t> first, second;
  for (const std::string& name : names) {
    first.push_back(found.of(0, name));
    second.push_back(found.of(1, name));
  }
  chip.memory->end_program(1);
  chip.run(2000);
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_GT(found.of(0, names[i]), first[i]) << names[i];
    EXPECT_EQ(found.of(1, names[i]), second[i]) << names[i];
  }
}

TEST(ProgramsUse, IsAsCountedByHand) {
  Programs chip("mesi");
  const Statistics found(chip);
  const LineAddr line{4096};
  chip.access(0, line, AccessKind::store);                         // memory
  chip.access(kPrograms * kCoresPerTile, line, AccessKind::load);  // another tile of the same program
  chip.access(1, line, AccessKind::load);                          // the other core of the first tile: its L2
  EXPECT_EQ(found.of(0, "l2.misses"), 2U);
  EXPECT_EQ(found.of(0, "llc.misses"), 1U);
  EXPECT_EQ(found.of(0, "llc.hits"), 1U);
  EXPECT_EQ(found.of(0, "mem.reads"), 1U);
  EXPECT_EQ(found.of(0, "llc.lines"), 1U);
  EXPECT_EQ(found.of(1, "l2.misses"), 0U);
  // The second program fills the LLC: 8 slices of 32 lines.
  for (std::uint64_t i = 0; i < 4096; ++i) chip.access(kCoresPerTile, LineAddr{8192 + i}, AccessKind::load);
  EXPECT_EQ(found.of(0, "llc.lines"), 0U);
  EXPECT_EQ(found.of(0, "llc.evictions"), 1U);
  EXPECT_EQ(found.of(0, "llc.displaced"), 1U);
  EXPECT_EQ(found.of(0, "mem.writes"), 1U) << "it was dirty";
  EXPECT_EQ(found.of(1, "mem.reads"), 4096U);
  EXPECT_EQ(found.of(1, "llc.lines"), kTiles * chip.config.llc.size / kLineBytes);
  EXPECT_EQ(found.of(1, "llc.displaced"), 0U);
  EXPECT_EQ(found.of(1, "llc.evictions"), 4096 - found.of(1, "llc.lines"));
}

TEST(ProgramsUse, IsNoStatisticOfAProgramAlone) {
  Programs chip("mesi", false);
  const Statistics found(chip);
  EXPECT_EQ(found.registry.find("program.1.llc.hits"), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Protocols, ProgramsSideBySide,
                         testing::Values("mesi", "late", "sparse", "tokenb", "mosaic", "flask"),
                         [](const auto& protocol) { return std::string(protocol.param); });

}  // namespace
}  // namespace rubato::chip
