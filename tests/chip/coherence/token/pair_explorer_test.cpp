// Two lines that share a directory's entry and a filter's counter keep K91's invariants, and both are served.
// SPDX-License-Identifier: MIT
#include "tests/chip/coherence/token/pair_explorer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rubato::chip {
namespace {

struct Sharing {
  TokenPolicy policy;
  std::uint32_t most;
  const char* name;
  bool moves = false;
};

class LinesThatShare : public testing::TestWithParam<Sharing> {
 protected:
  static PairExplorer explorer(std::uint32_t agents, std::size_t most_states = 12'000) {
    return PairExplorer(
        {.policy = GetParam().policy, .agents = agents, .tokens = agents, .most_states = most_states},
        GetParam().most, GetParam().moves);
  }
};

TEST_P(LinesThatShare, KeepTheInvariantsInTheFirstStates) {
  const auto result = explorer(2).explore();
  EXPECT_EQ(result.violation, "") << "after " << result.states << " states";
  EXPECT_GT(result.states, 10'000U);
}

TEST_P(LinesThatShare, KeepThemFarFromTheBeginning) {
  for (const std::uint32_t agents : {2U, 3U}) {
    const auto result = explorer(agents).walk(1, 400, 400);
    EXPECT_EQ(result.violation, "") << agents << " agents, after " << result.states << " states";
    EXPECT_GT(result.states, 10'000U);
  }
}

// As under K95.
TEST(LinesThatShareACounter, ShowThatItWrapsAndThatAFlushIsAwaited) {
  for (const TokenMutant mutant : {TokenMutant::counter_wraps, TokenMutant::flush_does_not_wait}) {
    const TokenExplorer::Params params{
        .policy = TokenPolicy::flask, .agents = 2, .tokens = 2, .mutant = mutant};
    EXPECT_NE(PairExplorer(params, 1).walk(1, 400, 400).violation, "");
  }
}

TEST(LinesThatShareACounter, ShowThatAMoveIsWrong) {
  for (const TokenMutant mutant : {TokenMutant::moved_cell_kept, TokenMutant::entry_kept_without_way}) {
    const TokenExplorer::Params params{
        .policy = TokenPolicy::flask, .agents = 2, .tokens = 2, .mutant = mutant};
    EXPECT_NE(PairExplorer(params, 2, true).walk(1, 400, 400).violation, "");
  }
}

INSTANTIATE_TEST_SUITE_P(PairExplorer, LinesThatShare,
                         testing::Values(Sharing{TokenPolicy::sparse, 2, "SparseEntry"},
                                         Sharing{TokenPolicy::mosaic, 2, "MosaicEntry"},
                                         Sharing{TokenPolicy::flask, 2, "FlaskEntryAndHash"},
                                         Sharing{TokenPolicy::flask, 1, "FlaskFullCounter"},
                                         Sharing{TokenPolicy::flask, 2, "FlaskMoves", true},
                                         Sharing{TokenPolicy::flask, 1, "FlaskFullCounterMoves", true}),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace rubato::chip
