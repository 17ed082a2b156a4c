// What is counted for energy (K77): by hand, a step at a time under each protocol; and by conservation over
// many accesses, so that what one array gives another has taken. A count that is missing breaks a law.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "tests/chip/coherence/energy/one_by_one.hpp"

namespace rubato::chip {
namespace {

constexpr auto kLoad = AccessKind::load, kStore = AccessKind::store;

/// What energy is made from.
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

INSTANTIATE_TEST_SUITE_P(
    ByHand, Counts,
    testing::Values(
        Expected{
            .protocol = "mesi", .first = "", .again = "l1d.hits 1", .another = "", .store = "", .back = ""},
        Expected{"sparse", "", "", "", "", ""}, Expected{"mosaic", "", "", "", "", ""},
        Expected{"flask", "", "", "", "", ""}, Expected{"tokenb", "", "", "", "", ""}),
    [](const auto& p) { return std::string(p.param.protocol); });

}  // namespace
}  // namespace rubato::chip
