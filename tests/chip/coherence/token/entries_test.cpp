// Entries that a tile keeps for the lines that it asked for: at most l2.mshrs at a time (K15), and under
// tokenb the line of a load-reserved until its store-conditional has had time (K13).
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <string>

#include "tests/chip/coherence/token/users.hpp"

namespace rubato::chip {
namespace {

constexpr LineAddr kLine{4096}, kOther{4097}, kThird{4098};

class Entries : public testing::TestWithParam<const char*> {
 protected:
  /// Two cores of a tile ask for three lines at once. @returns when the last has come.
  Cycle last_of_three(std::uint32_t mshrs, double refusals) {
    Config config = tiles(GetParam(), 4, 2);
    config.l2.mshrs = mshrs;
    Users users(config);
    users.ask(0, kLine, AccessKind::load);
    users.ask(1, kOther, AccessKind::store);
    users.ask(0, kThird, AccessKind::load);
    users.ask(1, kLine, AccessKind::load);  // of a line that has an entry: it needs none of its own
    const Cycle last = users.performed(2);
    EXPECT_EQ(users.sum_of("tile.0.l2.refusals"), refusals);
    return last;
  }
};

TEST_P(Entries, AreAsManyAsTheKeySays) {
  const Cycle free = last_of_three(0, 0), three = last_of_three(3, 0);
  EXPECT_EQ(free, three) << "as many as are needed";
  const Cycle two = last_of_three(2, 1), one = last_of_three(1, 3);
  EXPECT_GT(two, three + 100) << "the third waits for one of the others";
  EXPECT_GT(one, two + 100) << "each waits for the one before";
}

TEST_P(Entries, AreFreeAgainIfNoCoreUsesWhatCame) {
  Config config = tiles(GetParam(), 4, 2);
  config.l2.mshrs = 1;
  Users users(config);
  users.ask(0, kLine, AccessKind::load);
  users.ask(1, kOther, AccessKind::load);
  users.give_up(0);
  EXPECT_GT(users.performed(1), Cycle{});
}

// A spill replaces a line: its old bytes are of no use to it, and memory is not read for them.
TEST_P(Entries, OfALineThatIsReplacedAreServedWithoutAReadOfMemory) {
  Users users(tiles(GetParam(), 4, 1));
  const auto reads = [&] {
    double sum = 0;
    for (unsigned m = 0; m < 4; ++m) sum += users.sum_of("mem." + std::to_string(m) + ".reads");
    return sum;
  };
  users.ask(0, kLine, AccessKind::untracked_line_store);
  users.performed(0);
  EXPECT_EQ(reads(), 0);
  users.ask(1, kLine, AccessKind::load);
  users.performed(1);
  EXPECT_EQ(reads(), 0) << "the tile has the line";
  users.ask(1, kOther, AccessKind::load);
  users.performed(2);
  EXPECT_EQ(reads(), 1);
}

INSTANTIATE_TEST_SUITE_P(Tokens, Entries, testing::Values("sparse", "tokenb", "mosaic", "flask"),
                         [](const auto& of) { return std::string(of.param); });

/// A load-reserved of core 0, and a store of core 1 that is made when the line is there. @returns how long
/// after the load-reserved it is performed.
Latency store_after_reserve(const char* protocol, std::uint32_t hold, AccessKind kind) {
  Config config = tiles(protocol, 2, 1);
  config.coherence.hold = hold;
  Users users(config);
  users.ask(0, kLine, kind);
  users.run_until_performed(0);
  users.ask(1, kLine, AccessKind::store);
  return users.performed(1) - users.performed(0);
}

TEST(ReservedUnderTokenB, ComesWithTheRightToWrite) {
  Users users(tiles("tokenb", 2, 1));
  users.ask(1, kLine, AccessKind::load);  // so that memory and slice have not all tokens
  users.performed(0);
  users.ask(0, kLine, AccessKind::reserve);
  users.performed(1);
  EXPECT_TRUE(users.l1d(0).hit(kLine, true)) << "the sc needs no message";
}

TEST(ReservedUnderOthers, ComesAsALoadDoes) {
  for (const char* protocol : {"sparse", "mosaic", "flask"}) {
    Users users(tiles(protocol, 2, 1));
    users.ask(1, kLine, AccessKind::load);
    users.performed(0);
    users.ask(0, kLine, AccessKind::reserve);
    users.performed(1);
    EXPECT_FALSE(users.l1d(0).hit(kLine, true)) << protocol;
    EXPECT_EQ(store_after_reserve(protocol, 0, AccessKind::reserve),
              store_after_reserve(protocol, 5000, AccessKind::reserve));
  }
}

TEST(ReservedUnderTokenB, IsKeptForAsLongAsTheKeySays) {
  const Latency without = store_after_reserve("tokenb", 0, AccessKind::reserve);
  EXPECT_LT(without, 500U);
  EXPECT_GE(store_after_reserve("tokenb", 3000, AccessKind::reserve), 3000U);
  EXPECT_LT(store_after_reserve("tokenb", 3000, AccessKind::load), 500U) << "a load's is not";
}

TEST(ReservedUnderTokenB, IsKeptOnceARequest) {
  Config config = tiles("tokenb", 2, 1);
  config.coherence.hold = 2000;
  Users users(config);
  users.ask(0, kLine, AccessKind::reserve);
  users.run_until_performed(0);
  users.ask(1, kLine, AccessKind::store);
  for (unsigned n = 2; n < 6; ++n) {  // it spins, without an sc
    users.ask(0, kLine, AccessKind::reserve);
    ASSERT_TRUE(users.is_performed(n));
  }
  EXPECT_LT(users.performed(1) - users.performed(0), 8000U);
}

}  // namespace
}  // namespace rubato::chip
