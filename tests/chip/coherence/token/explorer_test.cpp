// Every state of two and of three agents, under each policy, keeps K91's invariants; and each bug put in on
// purpose breaks one (K95).
// SPDX-License-Identifier: MIT
#include "tests/chip/coherence/token/explorer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

namespace rubato::chip {
namespace {

std::string name_of_policy(TokenPolicy policy) {
  constexpr const char* names[] = {"sparse", "mosaic", "flask"};
  return names[static_cast<unsigned>(policy)];
}

class EveryPolicy : public testing::TestWithParam<TokenPolicy> {};

TEST_P(EveryPolicy, KeepsTheInvariantsInEveryStateOfTwoAgents) {
  for (const std::uint32_t tokens : {2U, 3U}) {
    const auto result = TokenExplorer({.policy = GetParam(), .agents = 2, .tokens = tokens}).explore();
    EXPECT_EQ(result.violation, "") << tokens << " tokens, after " << result.states << " states";
    EXPECT_TRUE(result.is_complete);
    EXPECT_GT(result.states, 1000U);
    RecordProperty("states", std::to_string(result.states));
  }
}

TEST_P(EveryPolicy, KeepsThemWhereThePublicationsLeaveAChoice) {
  const auto result = TokenExplorer({.policy = GetParam(),
                                     .agents = 2,
                                     .tokens = 2,
                                     .variant = {.probes_when_needed = true, .counts_chip = true}})
                          .explore();
  EXPECT_EQ(result.violation, "") << "after " << result.states << " states";
  EXPECT_TRUE(result.is_complete);
}

// K35: a bit stands for two agents, the last one perhaps for one.
TEST_P(EveryPolicy, KeepsThemWithCoarseVectors) {
  struct Size {
    std::uint32_t agents, bits;
    std::size_t most_states;
  };
  for (const Size& size : {Size{2, 1, ~std::size_t{0}}, Size{3, 2, 60'000}, Size{4, 2, 40'000}}) {
    const auto result = TokenExplorer({.policy = GetParam(),
                                       .agents = size.agents,
                                       .tokens = size.agents,
                                       .most_states = size.most_states,
                                       .variant = {.sharer_bits = size.bits}})
                            .explore();
    EXPECT_EQ(result.violation, "") << size.agents << " agents, after " << result.states << " states";
    EXPECT_EQ(result.is_complete, size.agents == 2);
    EXPECT_GT(result.states, 1000U);
  }
}

TEST(CoarseVectors, ShowThatTheLastAnswerIsAwaited) {
  const auto result = TokenExplorer({.policy = TokenPolicy::sparse,
                                     .agents = 3,
                                     .tokens = 3,
                                     .mutant = TokenMutant::close_before_last_answer,
                                     .most_states = 200'000,
                                     .variant = {.sharer_bits = 1}})
                          .explore();
  EXPECT_NE(result.violation, "") << "after " << result.states << " states";
}

TEST(CoarseVectors, HaveAWriteAskWhoHasNoneBesideWhoHas) {
  const HomeRules rules(TokenPolicy::sparse, 4, 4, {.sharer_bits = 2});
  HomeLine line;
  line.has_entry = true;
  line.sharers = 0b11;
  line.owner = 3;
  const TokenMessage write{.kind = TokenMessage::Kind::get_exclusive, .from = 1, .requester = 1};
  HomeOutcome out = rules.accept(line, write, true);
  EXPECT_EQ(out.many.kind, TokenMessage::Kind::forward_exclusive);
  EXPECT_FALSE(out.many.requester_has_data) << "its bit may be another's";
  std::vector<std::uint32_t> asked;
  out.targets->for_each([&](TileId t) { asked.push_back(t.value); });
  EXPECT_EQ(asked, (std::vector<std::uint32_t>{0, 2, 3}));

  const AgentRules agents(4, true);
  AgentLine none;
  const AgentOutcome answer = agents.receive(none, 0, out.many);
  ASSERT_EQ(answer.count, 1U);
  EXPECT_EQ(answer.violation, nullptr);
  EXPECT_EQ(answer.sends[0].kind, TokenMessage::Kind::tally);
  EXPECT_EQ(answer.sends[0].tokens.count, 0U);
  EXPECT_NE(AgentRules(4).receive(none, 0, out.many).violation, nullptr) << "an exact vector is never wrong";

  out = rules.receive(line, {.kind = TokenMessage::Kind::unblock, .from = 1});
  for (const std::uint16_t from : {std::uint16_t{0}, std::uint16_t{3}, std::uint16_t{2}}) {
    EXPECT_FALSE(out.closes) << "three have yet to answer, or some of them";
    out = rules.receive(line, {.kind = TokenMessage::Kind::tally, .from = from});
  }
  EXPECT_TRUE(out.closes);
  EXPECT_EQ(line.sharers, 0b01U);
  EXPECT_EQ(line.owner, 1U);
}

// A line of which the LLC has all tokens is in no tile.
TEST(MosaicProbe, IsNotSentWhereItIsNotNeeded) {
  for (const bool when_needed : {false, true}) {
    HomeLine line;
    line.llc = {.count = 4, .owner = true};
    const HomeRules rules(TokenPolicy::mosaic, 4, 4, {.probes_when_needed = when_needed});
    const HomeOutcome out =
        rules.accept(line, {.kind = TokenMessage::Kind::get_shared, .from = 1, .requester = 1}, true);
    EXPECT_EQ(out.targets ? out.targets->count() : 0, when_needed ? 0U : 3U);
    EXPECT_EQ(out.wants_entry, when_needed);
    EXPECT_EQ(line.sharers, when_needed ? 0b0010U : 0U);
  }
}

TEST_P(EveryPolicy, KeepsTheInvariantsInTheFirstStatesOfThreeAgents) {
  const char* const asked = std::getenv("RUBATO_EXPLORED_STATES");  // `make test-long` asks for more
  const std::size_t most = asked != nullptr ? std::stoull(asked) : 60'000;
  const auto result =
      TokenExplorer({.policy = GetParam(), .agents = 3, .tokens = 3, .most_states = most}).explore();
  EXPECT_EQ(result.violation, "") << "after " << result.states << " states";
  EXPECT_GT(result.joined, 0U) << "two read what the third has";
  RecordProperty("states", std::to_string(result.states));
}

INSTANTIATE_TEST_SUITE_P(TokenExplorer, EveryPolicy,
                         testing::Values(TokenPolicy::sparse, TokenPolicy::mosaic, TokenPolicy::flask),
                         [](const auto& of) { return name_of_policy(of.param); });

struct Bug {
  TokenMutant mutant;
  TokenPolicy policy;
};

/// All but those of two lines, which PairExplorer looks for.
constexpr Bug kBugs[] = {
    {TokenMutant::token_lost, TokenPolicy::sparse},
    {TokenMutant::token_doubled, TokenPolicy::sparse},
    {TokenMutant::dirty_dropped, TokenPolicy::flask},
    {TokenMutant::store_with_a_token_missing, TokenPolicy::sparse},
    {TokenMutant::copy_kept_after_forward, TokenPolicy::sparse},
    {TokenMutant::unblock_before_use, TokenPolicy::sparse},
    {TokenMutant::probe_skips_an_agent, TokenPolicy::flask},
    {TokenMutant::entry_without_requester, TokenPolicy::sparse},
    {TokenMutant::close_before_last_answer, TokenPolicy::mosaic},
    {TokenMutant::filter_counts_twice, TokenPolicy::flask},
    {TokenMutant::entry_dropped_in_silence, TokenPolicy::sparse},
    {TokenMutant::data_without_owner_forgotten, TokenPolicy::sparse},
    {TokenMutant::owner_twice, TokenPolicy::flask},
    {TokenMutant::slice_lets_its_tokens_go, TokenPolicy::flask},
    {TokenMutant::filter_misses_a_line, TokenPolicy::flask},
    {TokenMutant::filter_forgets_too_early, TokenPolicy::flask},
    {TokenMutant::write_back_not_awaited, TokenPolicy::flask},
    {TokenMutant::load_without_token, TokenPolicy::flask},
    {TokenMutant::read_joins_unknown_owner, TokenPolicy::sparse},
    {TokenMutant::closes_at_first_reader, TokenPolicy::flask},
    {TokenMutant::write_joins_readers, TokenPolicy::sparse},
    {TokenMutant::taken_back_line_granted, TokenPolicy::mosaic},
};
class EveryBug : public testing::TestWithParam<Bug> {};

TEST_P(EveryBug, IsFound) {
  const auto result = TokenExplorer({.policy = GetParam().policy,
                                     .agents = 3,
                                     .tokens = 3,
                                     .mutant = GetParam().mutant,
                                     .most_states = 200'000})
                          .explore();
  EXPECT_NE(result.violation, "") << "after " << result.states << " states";
}

INSTANTIATE_TEST_SUITE_P(TokenExplorer, EveryBug, testing::ValuesIn(kBugs),
                         [](const auto& of) { return fault_name(kTokenMutantNames, of.param.mutant); });

TEST(TokenMutants, EachIsLookedFor) {
  for (const TokenMutant mutant : all_faults<TokenMutant>(kTokenMutantNames)) {
    const auto of = [mutant](const Bug& bug) { return bug.mutant == mutant; };
    EXPECT_TRUE(mutant >= TokenMutant::counter_wraps || std::any_of(std::begin(kBugs), std::end(kBugs), of))
        << fault_name(kTokenMutantNames, mutant);
  }
}

}  // namespace
}  // namespace rubato::chip
