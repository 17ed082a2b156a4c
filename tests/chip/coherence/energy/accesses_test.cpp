// Counts for energy (K77): by hand, a step at a time under each protocol; and by conservation over many
// accesses: each array has taken what another one gave. A count that is missing breaks a law.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "tests/chip/coherence/energy/one_by_one.hpp"

namespace rubato::chip {
namespace {

constexpr auto kLoad = AccessKind::load, kStore = AccessKind::store;

/// Counters that energy is made from.
const std::set<std::string> kCounted = {"core.*.l1d.hits",
                                        "core.*.l1d.misses",
                                        "core.*.l1d.uncounted",
                                        "core.*.l1d.fills",
                                        "core.*.l1d.lines_read",
                                        "core.*.l1d.probes",
                                        "tile.*.l2.lookups",
                                        "tile.*.l2.reads",
                                        "tile.*.l2.writes",
                                        "tile.*.llc.lookups",
                                        "tile.*.llc.reads",
                                        "tile.*.llc.writes",
                                        "tile.*.directory.rows_read",
                                        "tile.*.directory.rows_written",
                                        "tile.*.filter.rows_read",
                                        "tile.*.filter.rows_written",
                                        "mem.*.reads",
                                        "mem.*.writes"};

Config chip_of(const std::string& protocol, std::uint32_t tiles) {
  Config c = tiny_caches(tiles, 1);
  c.coherence.protocol = protocol;
  c.coherence.capacity = 8;  // 128 rows of 8 ways hold 16 lines of an L2, and more
  c.coherence.check = true;
  return c;
}

/// Counts of what one step has added, "l1d.misses 1, l2.lookups 1" and so on.
class Steps {
 public:
  explicit Steps(const std::string& protocol) : chip_(chip_of(protocol, 4)) {}
  std::string use(std::uint32_t core, LineAddr line, AccessKind kind) {
    const CountsByKind before = chip_.counts();
    chip_.use(core, line, kind);
    std::string out;
    for (const auto& [kind_of_stat, count] : chip_.counts()) {
      if (!kCounted.contains(kind_of_stat)) continue;
      const auto earlier = before.find(kind_of_stat);
      const std::uint64_t more = count - (earlier == before.end() ? 0 : earlier->second);
      const std::string name =
          kind_of_stat.substr(kind_of_stat.rfind('*') == std::string::npos ? 0 : kind_of_stat.rfind('*') + 2);
      const bool is_memory = kind_of_stat.starts_with("mem.");
      if (more != 0)
        out += (out.empty() ? "" : ", ") + ((is_memory ? "mem." : "") + name) + " " + std::to_string(more);
    }
    return out;
  }
  /// A line whose home is tile 3.
  LineAddr line() const {
    LineAddr line{4096};
    while (chip_.home_of(line) != TileId{3}) line = LineAddr{line.value + 1};
    return line;
  }

 private:
  OneAtATime chip_;
};

struct Expected {
  const char *protocol, *first, *again, *another, *store, *back;
};
class Counts : public testing::TestWithParam<Expected> {};

TEST_P(Counts, AreThoseOfAStepAtATime) {
  const Expected& e = GetParam();
  Steps steps(e.protocol);
  const LineAddr line = steps.line();
  EXPECT_EQ(steps.use(0, line, kLoad), e.first) << "from memory";
  EXPECT_EQ(steps.use(0, line, kLoad), e.again) << "in the L1";
  EXPECT_EQ(steps.use(1, line, kLoad), e.another) << "from the tile that has it alone";
  EXPECT_EQ(steps.use(2, line, kStore), e.store) << "two tiles have a copy";
  EXPECT_EQ(steps.use(0, line, kLoad), e.back) << "from the tile that has written it";
}

// Four tiles of one core; the line's home is tile 3. A miss looks its line up in the L2 and at the home, and
// what comes is written to L2 and L1 at once.
INSTANTIATE_TEST_SUITE_P(
    ByHand, Counts,
    testing::Values(
        // Memory's data go by the slice, which keeps them; its entries say which tiles have a line. A
        // modified line that is read by another is written there, too.
        Expected{.protocol = "mesi",
                 .first = "l1d.fills 1, l1d.misses 1, mem.reads 1, directory.rows_written 1, l2.lookups 1, "
                          "l2.writes 1, llc.lookups 1, llc.writes 1",
                 .again = "l1d.hits 1",
                 .another = "l1d.fills 1, l1d.misses 1, l1d.probes 1, directory.rows_read 1, "
                            "directory.rows_written 1, l2.lookups 2, l2.reads 1, l2.writes 1, llc.lookups 1",
                 .store = "l1d.fills 1, l1d.misses 1, l1d.probes 2, directory.rows_read 1, "
                          "directory.rows_written 1, l2.lookups 3, l2.writes 1, llc.lookups 1, llc.reads 1",
                 .back = "l1d.fills 1, l1d.lines_read 1, l1d.misses 1, l1d.probes 1, directory.rows_read 1, "
                         "directory.rows_written 1, l2.lookups 2, l2.reads 1, l2.writes 2, llc.lookups 1, "
                         "llc.writes 1"},
        // Memory's data go to the tile. Eight ways of entries are compared; each request changes one.
        Expected{.protocol = "sparse",
                 .first = "l1d.fills 1, l1d.misses 1, mem.reads 1, directory.rows_read 8, "
                          "directory.rows_written 1, l2.lookups 1, l2.writes 1, llc.lookups 1",
                 .again = "l1d.hits 1",
                 .another = "l1d.fills 1, l1d.misses 1, l1d.probes 1, directory.rows_read 8, "
                            "directory.rows_written 1, l2.lookups 2, l2.reads 1, l2.writes 1, llc.lookups 1",
                 .store = "l1d.fills 1, l1d.misses 1, l1d.probes 2, directory.rows_read 8, "
                          "directory.rows_written 1, l2.lookups 3, l2.reads 1, l2.writes 1, llc.lookups 1",
                 .back = "l1d.fills 1, l1d.lines_read 1, l1d.misses 1, l1d.probes 1, directory.rows_read 8, "
                         "directory.rows_written 1, l2.lookups 2, l2.reads 1, l2.writes 2, llc.lookups 1"},
        // The same, but that the first miss asks all three other tiles.
        Expected{.protocol = "mosaic",
                 .first = "l1d.fills 1, l1d.misses 1, mem.reads 1, directory.rows_read 8, "
                          "directory.rows_written 1, l2.lookups 4, l2.writes 1, llc.lookups 1",
                 .again = "l1d.hits 1",
                 .another = "l1d.fills 1, l1d.misses 1, l1d.probes 1, directory.rows_read 8, "
                            "directory.rows_written 1, l2.lookups 2, l2.reads 1, l2.writes 1, llc.lookups 1",
                 .store = "l1d.fills 1, l1d.misses 1, l1d.probes 2, directory.rows_read 8, "
                          "directory.rows_written 1, l2.lookups 3, l2.reads 1, l2.writes 1, llc.lookups 1",
                 .back = "l1d.fills 1, l1d.lines_read 1, l1d.misses 1, l1d.probes 1, directory.rows_read 8, "
                         "directory.rows_written 1, l2.lookups 2, l2.reads 1, l2.writes 2, llc.lookups 1"},
        // Four ways of entries and four sub-tables. The first miss asks the filter and then counts the line,
        // the second asks it and then all tiles, whose answers make an entry.
        Expected{.protocol = "flask",
                 .first = "l1d.fills 1, l1d.misses 1, mem.reads 1, directory.rows_read 4, "
                          "filter.rows_read 8, filter.rows_written 1, l2.lookups 1, l2.writes 1, "
                          "llc.lookups 1",
                 .again = "l1d.hits 1",
                 .another = "l1d.fills 1, l1d.misses 1, l1d.probes 1, directory.rows_read 4, "
                            "directory.rows_written 1, filter.rows_read 4, l2.lookups 4, l2.reads 1, "
                            "l2.writes 1, llc.lookups 1",
                 .store = "l1d.fills 1, l1d.misses 1, l1d.probes 2, directory.rows_read 4, "
                          "directory.rows_written 1, l2.lookups 3, l2.reads 1, l2.writes 1, llc.lookups 1",
                 .back = "l1d.fills 1, l1d.lines_read 1, l1d.misses 1, l1d.probes 1, directory.rows_read 4, "
                         "directory.rows_written 1, l2.lookups 2, l2.reads 1, l2.writes 2, llc.lookups 1"},
        // Every miss is looked up in every tile and in the slice.
        Expected{.protocol = "tokenb",
                 .first = "l1d.fills 1, l1d.misses 1, mem.reads 1, l2.lookups 4, l2.writes 1, llc.lookups 1",
                 .again = "l1d.hits 1",
                 .another = "l1d.fills 1, l1d.misses 1, l1d.probes 1, l2.lookups 4, l2.reads 1, l2.writes 1, "
                            "llc.lookups 1",
                 .store = "l1d.fills 1, l1d.misses 1, l1d.probes 2, l2.lookups 4, l2.reads 1, l2.writes 1, "
                          "llc.lookups 1",
                 .back = "l1d.fills 1, l1d.lines_read 1, l1d.misses 1, l1d.probes 1, l2.lookups 4, "
                         "l2.reads 1, l2.writes 2, llc.lookups 1"}),
    [](const auto& p) { return std::string(p.param.protocol); });

// ---- Conservation ----

/// Many accesses of a chip whose slices and directories are large enough for all lines, and its L2s are not.
struct Crowd {
  static constexpr std::uint32_t kTiles = 16;
  static constexpr std::uint64_t kAccesses = 4000;

  static Config config(const std::string& protocol) {
    Config c = chip_of(protocol, kTiles);
    c.llc.size = 64 << 10;
    return c;
  }
  static Config exclusive(Config c) {
    c.l2.inclusion = "exclusive";
    return c;
  }
  explicit Crowd(const std::string& name) : Crowd(name, config(name)) {}
  Crowd(const std::string& name, const Config& made)
      : protocol(name), is_exclusive(made.l2.inclusion == "exclusive"), chip(made) {
    Rng rng(7);
    for (std::uint64_t i = 0; i < kAccesses; ++i) {
      const auto core = static_cast<std::uint32_t>(rng.below(kTiles));
      const LineAddr line{4096 + rng.below(300)};
      if (!chip.has_in_l1(core, line)) ++absent;
      chip.use(core, line, rng.below(3) == 0 ? kStore : kLoad);
    }
    EXPECT_EQ(chip.check_invariants(), "");
    counts = chip.counts();
  }
  std::uint64_t of(const std::string& kind) const {
    const auto found = counts.find(kind);
    return found == counts.end() ? 0 : found->second;
  }
  std::uint64_t l1(const char* what) const { return of(std::string("core.*.l1d.") + what); }
  std::uint64_t tile(const char* what) const { return of(std::string("tile.*.") + what); }
  std::uint64_t latencies(const char* what) const {
    return chip.latencies(std::string("tile.*.") + what).samples();
  }
  std::uint64_t sent(const char* kind) const { return of(std::string("coherence.messages.") + kind); }

  std::string protocol;
  bool is_exclusive;
  OneAtATime chip;
  std::uint64_t absent = 0;  ///< lines that the core's L1 did not have
  CountsByKind counts;
};

/// The laws below that do not hold.
std::vector<std::string> broken_laws(const Crowd& c) {
  std::vector<std::string> broken;
  const auto law = [&](const char* what, std::uint64_t left, std::uint64_t right) {
    if (left != right)
      broken.push_back(std::string(what) + ": " + std::to_string(left) + " and " + std::to_string(right));
  };
  const bool is_mesi = c.protocol == "mesi", is_broadcast = c.protocol == "tokenb";
  const std::uint64_t gets = c.sent("get_shared") + c.sent("get_exclusive");

  law("an access is a hit or a miss of an L1", c.l1("hits") + c.l1("misses") + c.l1("uncounted"),
      Crowd::kAccesses);
  law("an L1 is filled where it had no line", c.l1("fills"), c.absent);
  law("a hit of an L2 found its line in one state", c.tile("l2.hits"),
      c.tile("l2.hits_shared") + c.tile("l2.hits_exclusive") + c.tile("l2.hits_modified"));
  law("a hit of an L2 has a latency", c.tile("l2.hits"),
      c.latencies("l2.latency") + c.latencies("l2.latency_other_l1"));
  law("a request has a latency", c.tile("l2.misses") + c.tile("l2.upgrades"),
      c.latencies("llc.latency") + c.latencies("llc.latency_other_tile") + c.latencies("llc.latency_memory"));
  if (is_mesi) {
    law("memory serves what the slices lack", c.latencies("llc.latency_memory"), c.tile("llc.misses"));
    law("a tile serves what a slice sends on", c.latencies("llc.latency_other_tile"), c.tile("llc.forwards"));
  }
  const std::uint64_t asked = c.tile("llc.forwards") + c.tile("llc.invalidations") + c.tile("llc.recalls");
  const std::uint64_t others = Crowd::kTiles - 1;
  law("an L2 looks up L1 misses and what others ask it", c.tile("l2.lookups"),
      c.l1("misses") +
          (is_broadcast ? gets * others + c.sent("persist") * Crowd::kTiles  // whose turn each tile hears of
                        : asked + c.tile("directory.probes") * others + c.sent("put_grant")));
  law("an L2 is written by its misses and by its L1s", c.tile("l2.writes"),
      (c.is_exclusive ? 0 : c.tile("l2.misses")) + c.l1("lines_read"));
  if (is_mesi) {
    law("a slice is written by memory and by L2s", c.tile("llc.writes"),
        c.of("mem.*.reads") + c.tile("l2.write_backs"));
    law("a slice is read for hits that no tile owns and that are no upgrades", c.tile("llc.reads"),
        c.tile("llc.hits") - c.tile("llc.forwards") - c.tile("l2.upgrades"));
    law("an evicted line is looked up at its home, or read and sent there",
        c.tile("llc.lookups") + c.tile("l2.reads"),
        c.tile("llc.hits") + c.tile("llc.misses") + c.tile("l2.evictions") + c.l1("fills") -
            c.tile("l2.misses") + c.tile("l2.forwards"));
    law("an entry is read where the line is", c.tile("directory.rows_read"), c.tile("llc.hits"));
    law("an entry is written by each request and each eviction", c.tile("directory.rows_written"),
        c.tile("llc.hits") + c.tile("llc.misses") + c.tile("l2.evictions"));
    return broken;
  }
  // Under tokenb the holder of the owner token sends data with it, even to a tile that has a copy.
  const std::uint64_t read = c.tile("l2.reads") + c.tile("llc.reads") + c.of("mem.*.reads"),
                      moved = c.l1("fills") + c.tile("l2.evictions");
  const std::uint64_t most_twice = is_broadcast ? c.tile("l2.upgrades") : 0;
  law("each datum was read once", std::clamp(read, moved, moved + most_twice), read);
  const std::uint64_t leave =
      is_broadcast ? c.tile("l2.evictions") : c.sent("put_request") + c.sent("put_data");
  law("a slice hears of each request and each eviction", c.tile("llc.lookups") + c.tile("llc.writes"),
      gets + leave);
  if (is_broadcast) return broken;
  const std::uint64_t ways = c.protocol == "flask" ? 4 : 8;
  law("entries are read for each request", c.tile("directory.rows_read"),
      ways * (gets + c.sent("put_request")));
  if (c.protocol == "sparse") {
    // But by an upgrade of the only tile that its entry names, whose other tokens were in the slice.
    const std::uint64_t written = c.tile("directory.rows_written"), requests = gets + c.sent("put_request");
    const std::uint64_t unchanged = c.is_exclusive ? c.tile("l2.upgrades") : 0;
    law("an entry is written by each request", std::clamp(written, requests - unchanged, requests), written);
  }
  return broken;
}

class Conservation : public testing::TestWithParam<const char*> {};

TEST_P(Conservation, HoldsForWhatIsCounted) {
  const Crowd crowd(GetParam());
  EXPECT_EQ(broken_laws(crowd), std::vector<std::string>{});
  EXPECT_GT(crowd.tile("l2.evictions"), 100U) << "or else there is little to see";
  EXPECT_GT(crowd.l1("lines_read"), 100U);
}

TEST_P(Conservation, HoldsWhereL2sHaveOnlyWhatL1sEvicted) {
  if (GetParam() == std::string("mesi")) return;  // it has no such L2s
  const Crowd crowd(GetParam(), Crowd::exclusive(Crowd::config(GetParam())));
  EXPECT_EQ(broken_laws(crowd), std::vector<std::string>{});
  EXPECT_GT(crowd.l1("lines_read"), crowd.tile("l2.misses") / 2) << "clean lines move down, too";
}

TEST_P(Conservation, IsBrokenByAnAccessThatIsNotCounted) {
  Crowd crowd(GetParam());
  for (auto& [kind, count] : crowd.counts) {
    if (!kCounted.contains(kind) || kind.ends_with(".probes") || kind.starts_with("tile.*.filter")) continue;
    if (kind.ends_with(".reads") && crowd.protocol == "tokenb") continue;
    if (kind == "tile.*.directory.rows_written" && (crowd.protocol == "mosaic" || crowd.protocol == "flask"))
      continue;
    --count;
    EXPECT_FALSE(broken_laws(crowd).empty()) << kind;
    ++count;
  }
}

TEST_P(Conservation, IsNotOfWarming) {
  OneAtATime chip(chip_of(GetParam(), 4));
  Rng rng(7);
  for (int i = 0; i < 500; ++i)
    chip.warm(static_cast<std::uint32_t>(rng.below(4)), LineAddr{4096 + rng.below(300)},
              rng.below(3) == 0 ? kStore : kLoad);
  // But of the filter, which is told of no warming.
  for (const auto& [kind, count] : chip.counts())
    EXPECT_TRUE(!kCounted.contains(kind) || kind.starts_with("tile.*.filter")) << kind << " " << count;
}

INSTANTIATE_TEST_SUITE_P(Protocols, Conservation,
                         testing::Values("mesi", "sparse", "mosaic", "flask", "tokenb"),
                         [](const auto& p) { return std::string(p.param); });

}  // namespace
}  // namespace rubato::chip
