// Hardware prefetchers: the lines that they name, by hand; schedules of an L1D with one; what they count
// under every protocol; and that conflict checks see no prefetch.
// SPDX-License-Identifier: MIT
#include "chip/coherence/prefetcher.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "chip/coherence/memory_hierarchy.hpp"
#include "chip/noc/mesh.hpp"
#include "chip/stats/registry.hpp"
#include "chip/time/timeline.hpp"
#include "tests/chip/coherence/rig.hpp"

namespace rubato::chip {
namespace {

using Lines = std::vector<std::uint64_t>;
constexpr std::uint64_t kPage = 64 * 1000;  // the first line of a page

CacheSection l1d_with(const std::string& prefetcher, std::uint32_t degree, std::uint32_t distance = 4) {
  CacheSection l1d{16U << 10, 8, 2};
  l1d.prefetcher = prefetcher;
  l1d.prefetch_degree = degree;
  l1d.prefetch_distance = distance;
  return l1d;
}

/// The lines that a use of the line at this place of the page makes it name, as places of the page.
Lines named(Prefetcher& prefetcher, std::uint64_t place) {
  Lines found;
  for (const LineAddr line : prefetcher.observe(LineAddr{kPage + place})) found.push_back(line.value - kPage);
  return found;
}

// ---- The lines that are named ----

TEST(NextLinePrefetcher, NamesTheLinesBehindInThePage) {
  Prefetcher one(l1d_with("next_line", 1)), three(l1d_with("next_line", 3));
  EXPECT_EQ(named(one, 5), (Lines{6}));
  EXPECT_EQ(named(three, 5), (Lines{6, 7, 8}));
  EXPECT_EQ(named(three, 62), (Lines{63}));
  EXPECT_EQ(named(three, 63), (Lines{}));
}

TEST(StridePrefetcher, FollowsAStrideThatItSawTwice) {
  Prefetcher p(l1d_with("stride", 2, 4));
  EXPECT_EQ(named(p, 10), (Lines{}));
  EXPECT_EQ(named(p, 12), (Lines{}));
  EXPECT_EQ(named(p, 14), (Lines{16, 18}));
  EXPECT_EQ(named(p, 16), (Lines{20, 22}));  // 18 was named before
  EXPECT_EQ(named(p, 18), (Lines{24, 26}));
  EXPECT_EQ(named(p, 20), (Lines{28})) << "four strides ahead at most";
  EXPECT_EQ(named(p, 20), (Lines{})) << "the same line again";
  EXPECT_EQ(named(p, 22), (Lines{30}));
  EXPECT_EQ(named(p, 28), (Lines{32, 34})) << "three strides on: 30 was named before";
  EXPECT_EQ(named(p, 26), (Lines{})) << "out of order";
  EXPECT_EQ(named(p, 30), (Lines{36, 38}));
}

TEST(StridePrefetcher, GoesDownAndStopsAtThePage) {
  Prefetcher p(l1d_with("stride", 4, 8));
  EXPECT_EQ(named(p, 9), (Lines{}));
  EXPECT_EQ(named(p, 6), (Lines{}));
  EXPECT_EQ(named(p, 3), (Lines{0}));
  Prefetcher up(l1d_with("stride", 4, 8));
  for (const std::uint64_t place : {59U, 60U}) EXPECT_EQ(named(up, place), (Lines{}));
  EXPECT_EQ(named(up, 61), (Lines{62, 63}));
  EXPECT_EQ(named(up, 62), (Lines{}));
  EXPECT_EQ(named(up, 63), (Lines{}));
  EXPECT_EQ(named(up, 64), (Lines{65, 66, 67, 68})) << "the stream goes on in the next page";
}

TEST(StridePrefetcher, TellsStreamsApartByAddress) {
  Prefetcher p(l1d_with("stride", 1, 4));
  constexpr std::uint64_t kOther = 64 * 100;
  for (std::uint64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(named(p, i), (Lines{}));
    EXPECT_EQ(named(p, kOther + 3 * i), (Lines{}));
  }
  EXPECT_EQ(named(p, 2), (Lines{3}));
  EXPECT_EQ(named(p, kOther + 6), (Lines{kOther + 9}));
}

TEST(StridePrefetcher, ForgetsTheStreamThatWasUsedLongestAgo) {
  CacheSection l1d = l1d_with("stride", 1, 4);
  l1d.prefetch_streams = 2;
  Prefetcher p(l1d);
  for (const std::uint64_t place : {0U, 1U, 6400U, 12800U}) EXPECT_EQ(named(p, place), (Lines{}));
  EXPECT_EQ(named(p, 2), (Lines{})) << "its stream was forgotten";
}

TEST(StridePrefetcher, FollowsNoRandomLines) {
  Prefetcher p(l1d_with("stride", 4, 8));
  Rng rng(1);
  std::uint64_t count = 0;
  for (int i = 0; i < 10000; ++i) count += named(p, rng.below(1 << 20)).size();
  EXPECT_LT(count, 100U);
}

TEST(Prefetcher, HasSoManyRequestsUnderWay) {
  CacheSection l1d = l1d_with("next_line", 1);
  l1d.prefetch_entries = 2;
  Prefetcher p(l1d);
  p.add(LineAddr{1}, Cycle{100});
  EXPECT_FALSE(p.is_full(Cycle{0}));
  p.add(LineAddr{2}, kNever);
  EXPECT_TRUE(p.is_full(Cycle{99}));
  EXPECT_FALSE(p.is_full(Cycle{100}));
  EXPECT_EQ(p.take(LineAddr{2}), kNever);
  EXPECT_EQ(p.take(LineAddr{2}), Cycle{0});
  // The line of an earlier request has left the L1 unused, and is asked for again.
  p.add(LineAddr{1}, kNever);
  EXPECT_EQ(p.take(LineAddr{1}), kNever);
  EXPECT_EQ(p.take(LineAddr{1}), Cycle{0});
}

// ---- Schedules ----

/// A chip of one core, without a network. L1 2, L2 7, LLC 9, memory 120 and five cycles of its controller a
/// line.
struct OneCore {
  explicit OneCore(const std::string& prefetcher, ConflictCheck* check = nullptr)
      : rig(config_of(prefetcher), check) {}
  static Config config_of(const std::string& prefetcher) {
    Config c;
    c.chip.cores = c.chip.cores_per_tile = 1;
    c.mem.controllers = 1;
    c.coherence.check = true;
    c.l1d.prefetcher = prefetcher;
    c.l1d.prefetch_degree = 1;
    return c;
  }
  AccessResult load(std::uint64_t place, std::uint64_t now) {
    return rig.access(0, LineAddr{kPage + place}, AccessKind::load, now);
  }
  Rig rig;
};

TEST(PrefetchedLines, ComeWhileTheCoreGoesOn) {
  OneCore without("none"), with("next_line");
  // The miss itself: 2 + 7 + 9 + 120, from 100. The prefetch follows: a cycle later at the L2, and behind the
  // five cycles of the controller, from 118 on; so its line is there at 123 + 120 = 243.
  EXPECT_EQ(without.load(0, 100).cycle, Cycle{238});
  EXPECT_EQ(with.load(0, 100).cycle, Cycle{238});
  EXPECT_EQ(without.load(1, 200).cycle, Cycle{338});
  const AccessResult late = with.load(1, 200);
  EXPECT_EQ(late.cycle, Cycle{243});
  EXPECT_EQ(late.parts.l1, 2U);
  EXPECT_EQ(late.parts.l2, 41U);
  // The late use has prefetched the third line, which is there long before 1000.
  EXPECT_FALSE(with.rig.mesi.l1d(CoreId{0}).hit(LineAddr{kPage + 2}, false)) << "its first use is a call";
  EXPECT_EQ(with.load(2, 1000).cycle, Cycle{1002});
  EXPECT_TRUE(with.rig.mesi.l1d(CoreId{0}).hit(LineAddr{kPage + 2}, false));
}

TEST(PrefetchedLines, AreWrittenWithoutAnotherRequestWhereNoTileHasThem) {
  OneCore chip("next_line");
  chip.load(0, 100);
  const AccessResult store = chip.rig.access(0, LineAddr{kPage + 1}, AccessKind::store, 1000);
  EXPECT_EQ(store.cycle, Cycle{1002});
  EXPECT_EQ(chip.rig.mesi.l1d(CoreId{0}).state(LineAddr{kPage + 1}), LineState::modified);
}

/// Conflict checks of accesses, all of which pass.
struct SeenChecks final : ConflictCheck {
  SeenChecks() { active_ = true; }
  void check_tile(CoreId, LineAddr line, AccessKind, VirtualTime canary, Cycle,
                  CheckResult& result) override {
    result = {.needs_global = canary == kMaxVirtualTime};
    tile.push_back(line.value - kPage);
  }
  void check_global(CoreId, LineAddr line, AccessKind, std::uint64_t, bool, TileId, Cycle,
                    CheckResult& result) override {
    result = {};
    global.push_back(line.value - kPage);
  }
  void on_lose(TileId, LineAddr, bool) override {}
  void on_llc_evict(LineAddr) override {}
  Lines tile, global;
};

TEST(PrefetchedLines, AreNoAccessesOfATask) {
  SeenChecks checks;
  OneCore chip("next_line", &checks);
  L1Cache& l1 = chip.rig.mesi.l1d(CoreId{0});
  l1.begin_marks();
  chip.load(0, 100);
  EXPECT_EQ(checks.global, (Lines{0})) << "the prefetch of the next line is not checked";
  EXPECT_NE(l1.find_any(LineAddr{kPage + 1}), L1Cache::kNoSlot);
  EXPECT_FALSE(l1.covers(LineAddr{kPage + 1}, false)) << "nor does a mark cover it";
  // The line's first use is: no check so far covers it.
  chip.load(1, 1000);
  EXPECT_EQ(checks.tile, (Lines{1}));
  EXPECT_EQ(checks.global, (Lines{0, 1}));
}

// ---- Under every protocol ----

struct Chip final : AccessClient {
  explicit Chip(Config c)
      : config(resolve(std::move(c))),
        mesh(make_mesh(config)),
        memory(make_memory_system(config, *mesh, none, &timeline, this)) {
    memory->register_stats(registry);
  }
  void on_access_ready(CoreId core, LineAddr line, Cycle now) override {
    if (core != asking || line != asked || result.done) return;
    result = memory->access(core, line, kind, now);
  }
  /// An access at `now` or when messages before have come, with all that it entails but prefetches that it
  /// need not wait for.
  AccessResult access(std::uint32_t core, LineAddr line, AccessKind what, std::uint64_t now) {
    asking = CoreId{core};
    asked = line;
    kind = what;
    while (timeline.next() < Cycle{now} && timeline.step()) continue;
    L1Cache& l1 = memory->l1d(asking);
    if (l1.hit(line, is_write(what))) return {.cycle = Cycle{now} + config.l1d.latency};
    result = memory->access(asking, line, kind, later(Cycle{now}, timeline.now()));
    while (!result.done && timeline.step()) continue;
    EXPECT_TRUE(result.done);
    return result;
  }
  std::uint64_t of(const std::string& name) const {
    std::uint64_t sum = 0;
    for (std::uint32_t core = 0; core < config.chip.cores; ++core)
      sum += *registry.find(fmt::format("core.{}.l1d.{}", core, name))->counter;
    return sum;
  }

  Config config;
  NoConflictCheck none;
  Timeline timeline;
  std::unique_ptr<Mesh> mesh;
  std::unique_ptr<MemoryHierarchy> memory;
  StatRegistry registry;
  CoreId asking{};
  LineAddr asked{};
  AccessKind kind{};
  AccessResult result{};
};

Config four_cores(const std::string& protocol, const std::string& prefetcher) {
  Config c;
  c.chip.cores = 4;
  c.chip.cores_per_tile = 1;
  c.coherence.protocol = protocol;
  c.coherence.check = true;
  c.l1d.prefetcher = prefetcher;
  return c;
}

/// The end of a walk over lines, one after the other.
std::uint64_t walk(Chip& chip, std::uint64_t lines, std::uint64_t stride) {
  std::uint64_t now = 1000;
  for (std::uint64_t i = 0; i < lines; ++i)
    now = chip.access(0, LineAddr{kPage + i * stride}, AccessKind::load, now).cycle.value + 10;
  return now;
}

class PrefetchersOf : public testing::TestWithParam<const char*> {};

TEST_P(PrefetchersOf, MakeAStreamFaster) {
  for (const std::uint64_t stride : {1, 3}) {
    Chip without(four_cores(GetParam(), "none")), with(four_cores(GetParam(), "stride"));
    const std::uint64_t before = walk(without, 512, stride), after = walk(with, 512, stride);
    EXPECT_LT(after * 2, before) << stride;
    const std::uint64_t issued = with.of("prefetch.issued"), useful = with.of("prefetch.useful");
    EXPECT_GT(useful, 400U) << stride;
    EXPECT_LE(useful, issued);
    EXPECT_LE(issued - useful, 8U) << "what lies ahead at the end";
    EXPECT_EQ(useful + with.of("prefetch.uncovered"), 512U) << "every line is used first once";
    EXPECT_EQ(with.of("prefetch.useless"), 0U);
    EXPECT_EQ(with.memory->check_invariants(), "");
    EXPECT_EQ(without.registry.find("core.0.l1d.prefetch.issued"), nullptr);
  }
}

TEST_P(PrefetchersOf, WaitForALineThatIsOnItsWay) {
  Config config = four_cores(GetParam(), "next_line");
  config.l1d.prefetch_degree = 1;
  Chip chip(config);
  const Cycle first = chip.access(0, LineAddr{kPage}, AccessKind::load, 1000).cycle;
  // At once behind it: its line was asked for a moment later than that of the first.
  const AccessResult second = chip.access(0, LineAddr{kPage + 1}, AccessKind::load, 1010);
  EXPECT_EQ(chip.of("prefetch.late"), second.cycle > Cycle{1012} ? 1U : 0U);
  EXPECT_LT(second.cycle, first + 120) << "one way to memory, not two";
  EXPECT_EQ(chip.of("prefetch.useful"), 1U);
}

TEST_P(PrefetchersOf, CountLinesThatNoCoreUsed) {
  Config config = four_cores(GetParam(), "next_line");
  config.l1d = {.size = 512, .ways = 2, .latency = 2, .prefetcher = "next_line", .prefetch_degree = 1};
  Chip chip(config);
  std::uint64_t now = 1000;
  for (std::uint64_t i = 0; i < 200; ++i)
    now = chip.access(0, LineAddr{kPage + 64 * i + 2 * (i % 8)}, AccessKind::load, now).cycle.value + 500;
  EXPECT_EQ(chip.of("prefetch.useful"), 0U);
  EXPECT_EQ(chip.of("prefetch.issued"), 200U);
  EXPECT_GT(chip.of("prefetch.useless"), 190U) << "all but those that the L1 still has";
  EXPECT_LE(chip.of("prefetch.useless"), 200U);
}

TEST_P(PrefetchersOf, DropRequestsWithoutRoom) {
  Config config = four_cores(GetParam(), "next_line");
  config.l1d.prefetch_degree = 4;
  config.l1d.prefetch_entries = 1;
  Chip chip(config);
  chip.access(0, LineAddr{kPage}, AccessKind::load, 1000);
  EXPECT_EQ(chip.of("prefetch.issued"), 1U);
  EXPECT_EQ(chip.of("prefetch.dropped"), 3U);
}

TEST_P(PrefetchersOf, DoNothingWhileWarming) {
  Chip chip(four_cores(GetParam(), "stride"));
  for (std::uint64_t i = 0; i < 64; ++i) chip.memory->warm(CoreId{0}, LineAddr{kPage + i}, AccessKind::load);
  EXPECT_EQ(chip.of("prefetch.issued"), 0U);
  EXPECT_EQ(chip.memory->l1d(CoreId{0}).find_any(LineAddr{kPage + 65}), L1Cache::kNoSlot);
  // A prefetched line that warming uses is an ordinary one from then on, and no useful prefetch.
  chip.access(0, LineAddr{kPage + 640}, AccessKind::load, 1000);
  chip.access(0, LineAddr{kPage + 641}, AccessKind::load, 2000);
  chip.access(0, LineAddr{kPage + 642}, AccessKind::load, 3000);
  while (chip.timeline.step()) continue;
  ASSERT_NE(chip.memory->l1d(CoreId{0}).find_untouched(LineAddr{kPage + 643}), L1Cache::kNoSlot);
  chip.memory->warm(CoreId{0}, LineAddr{kPage + 643}, AccessKind::store);
  EXPECT_EQ(chip.memory->l1d(CoreId{0}).state(LineAddr{kPage + 643}), LineState::modified);
  EXPECT_EQ(chip.of("prefetch.useful"), 0U);
}

TEST_P(PrefetchersOf, TakeNoLineFromAnotherCoreOfTheTile) {
  Config config = four_cores(GetParam(), "next_line");
  config.chip.cores_per_tile = 2;
  Chip chip(config);
  chip.access(1, LineAddr{kPage + 1}, AccessKind::store, 1000);
  chip.access(0, LineAddr{kPage}, AccessKind::load, 2000);
  while (chip.timeline.step()) continue;
  EXPECT_EQ(chip.memory->l1d(CoreId{1}).state(LineAddr{kPage + 1}), LineState::modified);
  EXPECT_EQ(chip.memory->l1d(CoreId{0}).find_any(LineAddr{kPage + 1}), L1Cache::kNoSlot);
}

TEST_P(PrefetchersOf, BringACoreNoLineOfItsFormerProgram) {
  Config config = four_cores(GetParam(), "next_line");
  config.l1d.prefetch_degree = 2;
  config.l1d.prefetch_entries = 2;
  Chip chip(config);
  L1Cache& l1d = chip.memory->l1d(CoreId{0});
  chip.access(0, LineAddr{kPage}, AccessKind::load, 1000);
  EXPECT_EQ(chip.of("prefetch.issued"), 2U);
  chip.memory->enter_program(CoreId{0}, 5);  // with both under way
  while (chip.timeline.step()) continue;
  for (std::uint32_t slot = 0; slot < l1d.slots(); ++slot)
    ASSERT_EQ(l1d.state_at(slot), LineState::invalid) << l1d.line_at(slot).value;
  EXPECT_EQ(chip.memory->check_invariants(), "");
  const std::uint64_t now = chip.timeline.now().value;
  chip.access(0, LineAddr{kPage + 8}, AccessKind::load, now + 1000);
  EXPECT_EQ(chip.of("prefetch.issued"), 4U) << "the former requests take no room";
  chip.access(0, LineAddr{kPage + 1}, AccessKind::load, now + 5000);
  EXPECT_EQ(chip.of("prefetch.useful"), 0U) << "the line of that address is another one";
  EXPECT_EQ(chip.memory->check_invariants(), "");
}

INSTANTIATE_TEST_SUITE_P(Protocols, PrefetchersOf,
                         testing::Values("mesi", "sparse", "tokenb", "mosaic", "flask"),
                         [](const auto& protocol) { return std::string(protocol.param); });

}  // namespace
}  // namespace rubato::chip
