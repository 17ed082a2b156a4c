// How the storage of entries is grouped, and split between directory and filter (K55 to K58).
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "chip/coherence/token/token_protocol.hpp"
#include "tests/chip/coherence/token/users.hpp"

namespace rubato::chip {
namespace {

constexpr TileId kHome{2};

/// Evictions of a sparse directory of 64 entries that `lines` lines of one home make, at distances of `step`.
double evictions(std::uint32_t assoc, unsigned lines, std::uint64_t step) {
  Config config = tiles("sparse", 4, 1);
  config.coherence.directory_assoc = assoc;
  Users users(config);
  for (unsigned n = 0; n < lines; ++n) {
    users.ask(n % 4, users.line_of(kHome, n, 4096, step), AccessKind::load);
    users.performed(n);
  }
  return users.sum_of("tile.2.directory.evictions");
}

TEST(DirectoryAssoc, RegroupsTheEntries) {
  EXPECT_EQ(evictions(0, 8, 8), 0) << "as many as its ways, 8";
  EXPECT_EQ(evictions(0, 12, 8), 4);
  EXPECT_EQ(evictions(8, 12, 8), 4);
  EXPECT_EQ(evictions(16, 12, 8), 0);
  EXPECT_EQ(evictions(4, 12, 8), 4) << "two sets where there was one, of lines that fill both";
  EXPECT_EQ(evictions(1, 4, 64), 3) << "of one set of the 64";
  EXPECT_EQ(evictions(2, 4, 64), 2);
}

/// Four tiles of one core, 8 ways of 8 rows at each home, 4 of them directory.
Config moving() {
  Config config = tiles("flask", 4, 1);
  config.coherence.partition = "adaptive";
  return config;
}

class SplitMoves : public testing::Test {
 protected:
  const TokenHome& home() { return protocol().home(kHome); }
  DLeftFilter& filter() { return *home().split->filter; }
  TokenProtocol& protocol() { return dynamic_cast<TokenProtocol&>(users_.memory()); }
  /// A core writes the `n`th line of a set, and the next one reads it: an entry. @returns the line.
  LineAddr share(unsigned n, std::uint32_t core = 0) {
    const LineAddr line = users_.line_of(kHome, n, 4096, 8);
    use(core, line, AccessKind::store);
    use(core + 1, line, AccessKind::load);
    return line;
  }
  void use(std::uint32_t core, LineAddr line, AccessKind kind) {
    users_.ask(core, line, kind);
    users_.performed(asked_++);
  }
  /// The next use's number.
  std::size_t ask(std::uint32_t core, LineAddr line, AccessKind kind) {
    users_.ask(core, line, kind);
    return asked_++;
  }
  void move_to(std::uint32_t ways) {
    protocol().set_directory_ways(kHome, ways);
    while (users_.step()) {
    }
    EXPECT_EQ(home().directory.ways(), ways);
    EXPECT_EQ(filter().sub_tables(), 8 - ways);
    EXPECT_EQ(users_.memory().check_invariants(), "");
  }
  bool has_entry(LineAddr line) {
    const HomeRecord* const record = home().find(line);
    return record != nullptr && record->line.has_entry;
  }

  Users users_{moving()};
  std::size_t asked_ = 0;
};

TEST_F(SplitMoves, KeepTheEntriesOfWaysThatStayAndDropThoseOfWaysThatGo) {
  std::vector<LineAddr> lines;
  for (unsigned n = 0; n < 4; ++n) lines.push_back(share(n));  // a set
  for (const LineAddr line : lines) EXPECT_TRUE(has_entry(line));
  move_to(6);
  for (const LineAddr line : lines) EXPECT_TRUE(has_entry(line)) << "two ways have come, empty";
  EXPECT_EQ(home().entries_in_use(), 4U);
  lines.push_back(share(4, 2));
  EXPECT_TRUE(has_entry(lines[4]));
  EXPECT_EQ(home().entries.evictions, 0U);
  move_to(1);
  EXPECT_EQ(home().entries_in_use(), 1U);
  EXPECT_EQ(home().entries.evictions, 4U);
  EXPECT_EQ(users_.sum_of("tile.2.split.moves"), 0) << "nobody chose it: it was asked for";
  const double probes = users_.sum_of("tile.2.directory.probes");
  use(2, lines[3], AccessKind::store);  // of the first way
  EXPECT_EQ(users_.sum_of("tile.2.directory.probes"), probes);
  for (const unsigned n : {0U, 1U, 2U, 4U}) use(2, lines[n], AccessKind::store);
  EXPECT_EQ(users_.sum_of("tile.2.directory.probes"), probes + 4);
}

// A row a bucket and one a cell that moves (K57).
TEST_F(SplitMoves, TakeARowABucketAndOneACell) {
  for (unsigned n = 0; n < 5; ++n)
    use(n % 4, users_.line_of(kHome, n), AccessKind::load);  // one cell each, in the first sub-table
  protocol().set_directory_ways(kHome, 7);
  unsigned steps = 0;
  while (users_.step()) steps += filter().is_leaving() ? 1 : 0;
  EXPECT_EQ(steps, 3 * 8U) << "three sub-tables of 8 buckets";
  EXPECT_EQ(home().directory.ways(), 7U);
  for (unsigned n = 0; n < 5; ++n) EXPECT_TRUE(filter().may_hold(users_.line_of(kHome, n)));
}

TEST_F(SplitMoves, LetALineInATransactionKeepItsEntry) {
  std::vector<LineAddr> lines;
  for (unsigned n = 0; n < 4; ++n) lines.push_back(share(n));
  const std::size_t last = ask(2, lines[0], AccessKind::load);  // of the last way, which is filled first
  while (home().find(lines[0])->line.phase == HomeLine::Phase::idle) ASSERT_TRUE(users_.step());
  protocol().set_directory_ways(kHome, 3);
  while (home().directory.ways() != 3) ASSERT_TRUE(users_.step());
  ASSERT_NE(home().find(lines[0])->line.phase, HomeLine::Phase::idle);
  EXPECT_TRUE(has_entry(lines[0]));
  EXPECT_EQ(home().find(lines[0])->entry_slot, HomeRecord::kNoSlot);
  users_.performed(last);
  EXPECT_TRUE(has_entry(lines[0])) << "its own, where one has not been used for longer";
  EXPECT_NE(home().find(lines[0])->entry_slot, HomeRecord::kNoSlot);
  EXPECT_EQ(home().entries_in_use(), 3U);
  EXPECT_FALSE(has_entry(lines[1]));
}

// K53: seven lines of one hash fill its counter; the eighth has them taken back first.
TEST_F(SplitMoves, WaitWhileAFlushTakesLinesBack) {
  std::vector<LineAddr> same;
  for (std::uint64_t l = 4096; same.size() < 8; ++l) {
    const LineAddr line{l};
    if (protocol().home_of(line) != kHome) continue;
    if (same.empty() || filter().hash(line) == filter().hash(same[0])) same.push_back(line);
  }
  for (unsigned n = 0; n < 7; ++n) use(n % 4, same[n], AccessKind::store);
  ASSERT_TRUE(filter().is_saturated(same[7]));
  const std::size_t last = ask(3, same[7], AccessKind::load);
  while (home().flushing == 0) ASSERT_TRUE(users_.step());
  EXPECT_EQ(home().flushing, 7U);
  protocol().set_directory_ways(kHome, 5);
  while (home().flushing != 0) {
    ASSERT_TRUE(users_.step());
    if (home().flushing != 0) {
      ASSERT_FALSE(filter().is_leaving());
    }
  }
  users_.performed(last);
  EXPECT_EQ(home().directory.ways(), 5U);
  EXPECT_TRUE(filter().may_hold(same[7]));
  EXPECT_FALSE(filter().is_saturated(same[7]));
}

// All that is shared is seven lines of one set, one after another: with fewer ways no entry lasts until it is
// needed.
TEST_F(SplitMoves, AreMadeByAHomeThatMeasures) {
  std::vector<LineAddr> lines;
  for (unsigned n = 0; n < 7; ++n) lines.push_back(users_.line_of(kHome, n, 4097, 8));
  std::vector<std::uint32_t> ways;
  for (unsigned i = 0; i < 5 * PartitionPolicy::kRequests; ++i) {
    if (i % PartitionPolicy::kRequests == 0) ways.push_back(home().directory.ways());
    use(i % 4, lines[i % lines.size()], AccessKind::store);
  }
  EXPECT_EQ(ways, (std::vector<std::uint32_t>{4, 4, 6, 6, 6}));
  EXPECT_EQ(home().directory.ways(), 7U);
  EXPECT_EQ(users_.sum_of("tile.2.split.epochs"), 5);
  EXPECT_EQ(users_.sum_of("tile.2.split.moves"), 2);
  EXPECT_EQ(users_.sum_of("tile.2.split.ways_moved"), 3);
  EXPECT_EQ(users_.sum_of("tile.2.split.shadow_hits"), 5 * PartitionPolicy::kRequests - 7 - 7)
      << "but the first use of each line, by one core, and the second, which finds it shared";
  EXPECT_EQ(users_.sum_of("tile.2.split.predicted_rebuilt"), 2 * (5 * PartitionPolicy::kRequests - 14))
      << "each set here stands for two";
}

}  // namespace
}  // namespace rubato::chip
