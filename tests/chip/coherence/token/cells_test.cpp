// Explorations enter every cell of the tables of docs/coherence.md that is no violation, but those that
// cannot be, and none of these (K93).
// SPDX-License-Identifier: MIT
#include "tests/chip/coherence/token/cells.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "tests/chip/coherence/token/broadcast_explorer.hpp"
#include "tests/chip/coherence/token/explorer.hpp"

namespace rubato::chip {
namespace {

using Kind = TokenMessage::Kind;
constexpr std::uint32_t kAll = 3;  // tokens of a line
constexpr std::string_view kEntry = "home with entry", kNotOut = "home, not out", kHome = "home",
                           kAgent = "agent", kBuffer = "agent's buffer", kTurn = "agent, somebody's turn";

std::vector<Tokens> columns() { return {Cells::kNone, Cells::kSome, Cells::kOwner, Cells::every(kAll)}; }

void expect(const Cells& cells, bool can_be, std::string_view node, Kind kind, const Tokens& held) {
  EXPECT_EQ(cells.has(node, name_of(kind), held, kAll), can_be)
      << Cells::name(node, name_of(kind), held, kAll);
}

Cells entered_by(TokenPolicy policy, std::uint32_t bits) {
  Cells cells;
  for (const std::uint32_t agents : {2U, 3U}) {  // all states of two, the first ones of three
    const auto result = TokenExplorer({.policy = policy,
                                       .agents = agents,
                                       .tokens = kAll,
                                       .most_states = agents == 2 ? ~std::size_t{0} : 60'000,
                                       .variant = {.sharer_bits = bits}})
                            .explore();
    EXPECT_EQ(result.violation, "");
    cells.add(result.cells);
  }
  return cells;
}

bool is_rule_of_home(TokenPolicy policy, std::uint32_t bits, std::string_view node, Kind kind,
                     const Tokens& llc) {
  HomeLine line;
  line.llc = llc;
  if (node == kEntry) {
    line.has_entry = true;
    line.sharers = 0b10;
    line.owner = 2;
  }
  return HomeRules(policy, 3, kAll, {.sharer_bits = bits})
             .accept(line, {.kind = kind, .from = 1, .requester = 1}, node != kNotOut)
             .violation == nullptr;
}

bool is_rule_of_agent(bool is_coarse, std::string_view node, Kind kind, const Tokens& held) {
  AgentLine line;
  line.held = held;
  line.has_data = held.count != 0;
  line.is_in_buffer = node == kBuffer;
  return AgentRules(kAll, is_coarse).receive(line, 0, {.kind = kind, .from = 1, .requester = 1}).violation ==
         nullptr;
}

TEST(Cells, OfAgentsAndHomesAreAllEntered) {
  for (const std::uint32_t bits : {64U, 2U}) {
    Cells all;
    for (const TokenPolicy policy : {TokenPolicy::sparse, TokenPolicy::mosaic, TokenPolicy::flask}) {
      const Cells cells = entered_by(policy, bits);
      all.add(cells);
      for (const Kind kind : {Kind::get_shared, Kind::get_exclusive})
        for (const std::string_view node : {kEntry, kNotOut, kHome})
          for (const Tokens& llc : columns()) {
            if (!is_rule_of_home(policy, bits, node, kind, llc)) continue;
            // An entry goes when the slice has all tokens; with some of them there, others are out.
            const bool cannot_be = (node == kEntry && llc.count == kAll) ||
                                   (node == kNotOut && llc.count != 0 && llc.count != kAll);
            expect(cells, !cannot_be, node, kind, llc);
          }
    }
    for (const Kind kind : {Kind::forward_shared, Kind::forward_exclusive, Kind::probe_shared,
                            Kind::probe_exclusive, Kind::probe_count, Kind::recall, Kind::put_grant})
      for (const std::string_view node : {kAgent, kBuffer})
        for (const Tokens& held : columns()) {
          if (!is_rule_of_agent(bits == 2, node, kind, held)) continue;
          // Tokens are counted while the slice has some.
          const bool cannot_be =
              (node == kBuffer && held.count == 0) || (kind == Kind::probe_count && held.count == kAll);
          expect(all, !cannot_be, node, kind, held);
        }
  }
}

TEST(Cells, OfTokenBAreAllEntered) {
  BroadcastExplorer explorer({.agents = 3, .tokens = kAll, .has_replacing = true});
  const auto result = explorer.walk(1, 10'000, 1000);
  EXPECT_EQ(result.violation, "") << "after " << result.states << " steps";
  const Cells& cells = result.cells;
  for (const std::string_view node : {kAgent, kTurn, std::string_view("LLC"), std::string_view("memory")})
    for (const Kind kind : {Kind::get_shared, Kind::get_exclusive, Kind::activate})
      for (const Tokens& held : columns()) expect(cells, true, node, kind, held);
  for (const std::string_view node : {kAgent, kTurn})
    for (const Tokens& held : columns())
      EXPECT_TRUE(cells.has(node, "activate to read", held, kAll))
          << Cells::name(node, "read turn", held, kAll);
}

}  // namespace
}  // namespace rubato::chip
