// The first states of two and of three agents under tokenb keep K91's invariants, and each bug put in on
// purpose breaks one (K95).
// SPDX-License-Identifier: MIT
#include "tests/chip/coherence/token/broadcast_explorer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
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

TEST(BroadcastExplorerRuns, KeepThemOnWalksAtRandom) {
  for (const std::uint32_t agents : {2U, 3U, 4U})
    for (const bool has_replacing : {false, true}) {
      BroadcastExplorer explorer({.agents = agents, .tokens = agents, .has_replacing = has_replacing});
      const auto result = explorer.walk(agents, 500, 1000);
      EXPECT_EQ(result.violation, "") << agents << " agents, after " << result.states << " steps";
      EXPECT_GT(result.states, 10'000U);
    }
}

// Memory sends tokens without data for a store of all bytes; they may come when it is over, or when another's
// turn has begun.
TEST(BroadcastExplorerRuns, KeepThemWithStoresThatNeedNoData) {
  for (const std::uint32_t agents : {2U, 3U}) {
    const auto result =
        BroadcastExplorer({.agents = agents, .tokens = agents, .has_replacing = true, .most_states = 30'000})
            .explore();
    EXPECT_EQ(result.violation, "") << agents << " agents, after " << result.states << " states";
    EXPECT_GT(result.states, 10'000U);
  }
}

// K30: what is of no use is not lost.
TEST(TokensWithoutData, GoBackToMemoryFromWhoeverNeedsData) {
  using Kind = TokenMessage::Kind;
  const BroadcastRules rules(4);
  const StoreRules memory(4, true);
  AgentLine agent;
  StoreLine store{.tokens = {.count = 4, .owner = true}, .version = 7};
  PersistentEntry entry;
  const AgentOutcome asked = rules.request(agent, 1, true, true);
  const AgentOutcome first = memory.receive(store, asked.sends[0]);
  EXPECT_FALSE(first.sends[0].has_data);
  EXPECT_EQ(bytes_of(first.sends[0]), 8U);
  AgentLine late = agent;
  EXPECT_TRUE(rules.receive(agent, entry, 1, first.sends[0]).is_fulfilled);
  EXPECT_TRUE(agent.is_writable(4));

  late = {};
  (void)rules.request(late, 1, false);
  for (const bool is_active : {false, true}) {  // it wants to read by now; another has its turn
    if (is_active) entry.active = 2, late.want = AgentLine::Want::exclusive, late.is_replacing = true;
    const AgentOutcome back = rules.receive(late, entry, 1, first.sends[0]);
    EXPECT_FALSE(back.is_fulfilled);
    ASSERT_EQ(back.count, 1U);
    EXPECT_EQ(back.sends[0].kind, Kind::tokens);
    EXPECT_EQ(back.sends[0].to, TokenMessage::To::memory);
    EXPECT_EQ(late.held.count, 0U);
    StoreLine taken = store;
    (void)memory.receive(taken, back.sends[0]);
    EXPECT_EQ(taken.tokens.count, 4U);
    EXPECT_EQ(taken.version, 7U);
  }
}

TEST(BroadcastExplorerRuns, ServeAllPersistentRequestsInEveryState) {
  for (const std::uint32_t agents : {2U, 3U})
    for (std::uint32_t readers = 0; readers <= agents; ++readers) {
      const auto result =
          BroadcastExplorer({.agents = agents, .tokens = agents, .is_contended = true, .readers = readers})
              .explore();
      EXPECT_EQ(result.violation, "")
          << agents << " agents, " << readers << " of which read, after " << result.states << " states";
      EXPECT_TRUE(result.is_complete);
    }
}

struct Bug {
  BroadcastMutant mutant;
  bool is_contended = false;
  std::uint32_t readers = 0;
  bool has_replacing = false;
};

constexpr Bug kBugs[] = {
    {BroadcastMutant::token_lost},
    {BroadcastMutant::owner_twice},
    {BroadcastMutant::dirty_dropped},
    {BroadcastMutant::store_with_a_token_missing},
    {BroadcastMutant::copy_kept_after_write},
    {BroadcastMutant::late_tokens_kept},
    {BroadcastMutant::activates_before_acknowledgements, true},
    {BroadcastMutant::requester_ends_unserved, true},
    {BroadcastMutant::slice_forgets_tokens},
    {BroadcastMutant::timer_stops},
    {BroadcastMutant::answers_in_anothers_turn},
    {BroadcastMutant::turn_not_handed_over, true},
    {BroadcastMutant::write_asks_for_read_turn, true},
    {BroadcastMutant::owner_kept_in_read_turn, true, 1},
    {BroadcastMutant::token_kept_in_write_turn},
    {BroadcastMutant::nothing_taken_for_data, false, 0, true},
};

class EveryBroadcastBug : public testing::TestWithParam<Bug> {};

TEST_P(EveryBroadcastBug, IsFound) {
  const auto result = BroadcastExplorer({.agents = 2,
                                         .tokens = 2,
                                         .mutant = GetParam().mutant,
                                         .is_contended = GetParam().is_contended,
                                         .readers = GetParam().readers,
                                         .has_replacing = GetParam().has_replacing,
                                         .most_states = 100'000})
                          .explore();
  EXPECT_NE(result.violation, "") << "after " << result.states << " states";
}

INSTANTIATE_TEST_SUITE_P(TokenB, EveryBroadcastBug, testing::ValuesIn(kBugs),
                         [](const auto& of) { return fault_name(kBroadcastMutantNames, of.param.mutant); });

// Late words come to an arbiter that is free, where agents may ask at any time.
TEST(BroadcastMutants, AFreeArbiterIsToldOfNothing) {
  BroadcastExplorer explorer({.agents = 3,
                              .tokens = 3,
                              .mutant = BroadcastMutant::activates_before_acknowledgements,
                              .has_replacing = true});
  EXPECT_EQ(explorer.walk(1, 1000, 1000).violation, "the arbiter waits for no acknowledgement");
}

TEST(BroadcastMutants, EachIsLookedFor) {
  for (const BroadcastMutant mutant : all_faults<BroadcastMutant>(kBroadcastMutantNames)) {
    const auto of = [mutant](const Bug& bug) { return bug.mutant == mutant; };
    EXPECT_TRUE(std::any_of(std::begin(kBugs), std::end(kBugs), of))
        << fault_name(kBroadcastMutantNames, mutant);
  }
}

}  // namespace
}  // namespace rubato::chip
