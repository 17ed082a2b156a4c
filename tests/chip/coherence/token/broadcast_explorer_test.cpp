// The first states of two and of three agents under tokenb keep K91's invariants, and each bug put in on
// purpose breaks one (K95).
// SPDX-License-Identifier: MIT
#include "tests/chip/coherence/token/broadcast_explorer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rubato::chip {
namespace {

TEST(BroadcastExplorerRuns, KeepTheInvariantsInTheFirstStates) {
  for (const auto& [agents, tokens] : {std::pair{2U, 2U}, std::pair{2U, 3U}, std::pair{3U, 3U}}) {
    const auto result =
        BroadcastExplorer({.agents = agents, .tokens = tokens, .most_states = 30'000}).explore();
    EXPECT_EQ(result.violation, "") << agents << " agents, after " << result.states << " states";
    EXPECT_GT(result.states, 10'000U);
  }
}

TEST(BroadcastExplorerRuns, ServeAllPersistentRequestsInEveryState) {
  for (const std::uint32_t agents : {2U, 3U}) {
    const auto result =
        BroadcastExplorer({.agents = agents, .tokens = agents, .is_contended = true}).explore();
    EXPECT_EQ(result.violation, "") << agents << " agents, after " << result.states << " states";
    EXPECT_TRUE(result.is_complete);
    RecordProperty("states", std::to_string(result.states));
  }
}

struct Bug {
  BroadcastMutant mutant;
  const char* name;
  bool is_contended = false;
};

class EveryBroadcastBug : public testing::TestWithParam<Bug> {};

TEST_P(EveryBroadcastBug, IsFound) {
  const auto result = BroadcastExplorer({.agents = 2,
                                         .tokens = 2,
                                         .mutant = GetParam().mutant,
                                         .is_contended = GetParam().is_contended,
                                         .most_states = 100'000})
                          .explore();
  EXPECT_NE(result.violation, "") << "after " << result.states << " states";
}

INSTANTIATE_TEST_SUITE_P(
    TokenB, EveryBroadcastBug,
    testing::Values(Bug{BroadcastMutant::token_lost, "TokenLost"},
                    Bug{BroadcastMutant::owner_twice, "OwnerTwice"},
                    Bug{BroadcastMutant::dirty_dropped, "DirtyDropped"},
                    Bug{BroadcastMutant::store_with_a_token_missing, "StoreWithATokenMissing"},
                    Bug{BroadcastMutant::copy_kept_after_write, "CopyKeptAfterWrite"},
                    Bug{BroadcastMutant::late_tokens_kept, "LateTokensKept"},
                    Bug{BroadcastMutant::activates_before_acknowledgements, "ActivatesBeforeAcknowledgements",
                        true},
                    Bug{BroadcastMutant::requester_ends_unserved, "RequesterEndsUnserved", true},
                    Bug{BroadcastMutant::slice_forgets_tokens, "SliceForgetsTokens"},
                    Bug{BroadcastMutant::timer_stops, "TimerStops"}),
    [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace rubato::chip
