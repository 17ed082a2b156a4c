// SPDX-License-Identifier: MIT
#include "chip/coherence/token/rule_tables.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chip/coherence/token/agent_rules.hpp"
#include "chip/coherence/token/broadcast_rules.hpp"
#include "chip/coherence/token/home_rules.hpp"

namespace rubato::chip {

namespace {

using TableKind = TokenMessage::Kind;
using Row = std::vector<std::string>;

constexpr std::uint16_t kTableAgents = 4, kAll = 4;  // agents, and tokens of a line
constexpr std::uint16_t kSelf = 0, kRequester = 1;

std::string table(const Row& head, const std::vector<Row>& rows) {
  const auto line = [](const Row& cells) {
    std::string text = "|";
    for (const std::string& cell : cells) text += " " + cell + " |";
    return text + "\n";
  };
  std::string text = line(head) + line(Row(head.size(), "---"));
  for (const Row& row : rows) text += line(row);
  return text + "\n";
}

std::string said(const TokenMessage& m) {
  const std::string to = m.to == TokenMessage::To::home     ? "home"
                         : m.to == TokenMessage::To::memory ? "memory"
                         : m.agent == kSelf                 ? "self"
                         : m.agent == kRequester            ? "R"
                                                            : "the owner";
  if (m.kind == TableKind::tally)
    return fmt::format("tally {}{}",
                       m.tokens.count == kAll - 1 ? "T-1"
                       : m.tokens.count == 0      ? "0"
                                                  : "t",
                       m.tokens.owner ? ", owner" : "");
  if (m.tokens.count == 0) return fmt::format("{} to {}", name_of(m.kind), to);
  const std::string what = m.tokens.count == kAll ? "T" : m.tokens.count == 1 ? "1" : "t";
  return fmt::format("{}{}{}{} to {}",
                     m.kind == TableKind::tokens ? "" : fmt::format("{}: ", name_of(m.kind)), what,
                     m.tokens.owner ? " with the owner's" : "", m.has_data ? " + data" : "", to);
}

void append(std::string& text, std::string_view more) {
  if (!text.empty()) text += "; ";
  text += more;
}

std::string said(const AgentOutcome& out) {
  if (out.violation != nullptr) return "never";
  std::string text;
  for (std::uint32_t i = 0; i < out.count; ++i) append(text, said(out.sends[i]));
  if (out.is_fulfilled) append(text, "**fulfilled**");
  if (out.loss == AgentOutcome::Loss::right) append(text, "the right to write is lost");
  if (out.loss == AgentOutcome::Loss::copy) append(text, "the copy is lost");
  return text.empty() ? "nothing" : text;
}

AgentLine held(std::uint16_t count, bool owner) {
  AgentLine line;
  line.held = {.count = count, .owner = owner};
  line.has_data = count != 0;
  return line;
}

struct HeldState {
  const char* name;
  AgentLine line;
};
std::vector<HeldState> held_states() {
  return {{"no token", held(0, false)},
          {"t < T, not the owner's", held(2, false)},
          {"t < T, with the owner's", held(2, true)},
          {"T", held(kAll, true)}};
}

Row head_of(const char* first) {
  Row head{first};
  for (const HeldState& s : held_states()) head.push_back(s.name);
  return head;
}

TokenMessage asked(TableKind kind) { return {.kind = kind, .from = kRequester, .requester = kRequester}; }

std::string agent_table() {
  const AgentRules rules(kAll);
  std::vector<Row> rows;
  const auto add_row = [&](std::string name, const auto& apply) {
    Row row{std::move(name)};
    for (HeldState& s : held_states()) row.push_back(said(apply(s.line)));
    rows.push_back(std::move(row));
  };
  for (const bool write : {false, true}) {
    Row row{write ? "store" : "load"};
    for (HeldState& s : held_states()) {
      const bool may = write ? s.line.is_writable(kAll) : s.line.is_readable();
      row.push_back(may ? "performs" : said(rules.request(s.line, kSelf, write)));
    }
    rows.push_back(std::move(row));
  }
  Row evicted{"is evicted"};
  for (HeldState& s : held_states())
    evicted.push_back(s.line.held.count == 0 ? "never" : said(rules.evict(s.line, kSelf)));
  rows.push_back(std::move(evicted));
  for (const TableKind kind :
       {TableKind::forward_shared, TableKind::forward_exclusive, TableKind::probe_shared,
        TableKind::probe_exclusive, TableKind::probe_count, TableKind::recall})
    add_row(fmt::format("`{}` (R)", name_of(kind)),
            [&](AgentLine& line) { return rules.receive(line, kSelf, asked(kind)); });
  const AgentRules of_coarse(kAll, true);
  add_row("`forward_exclusive` (R), coarse vector", [&](AgentLine& line) {
    return of_coarse.receive(line, kSelf, asked(TableKind::forward_exclusive));
  });
  add_row("`put_grant`, still in the buffer", [&](AgentLine& line) {
    line.is_in_buffer = line.held.count != 0;
    line.is_put_pending = true;
    return rules.receive(line, kSelf, asked(TableKind::put_grant));
  });
  return table(head_of("event"), rows);
}

std::string said(const HomeLine& after, const HomeOutcome& out) {
  if (out.violation != nullptr) return "never";
  std::string text;
  for (std::uint32_t i = 0; i < out.count; ++i) append(text, said(out.sends[i]));
  if (out.targets) {
    const bool others = out.targets->count() == kTableAgents - 1;
    append(text, fmt::format("`{}` to {}", name_of(out.many.kind), others ? "all others" : "the sharers"));
  }
  if (out.wants_entry) append(text, "an entry is made");
  if (out.filter == HomeOutcome::Filter::insert) append(text, "filter +1");
  if (after.phase == HomeLine::Phase::get && after.missing == 0) append(text, "waits for `unblock`");
  if (after.missing != 0) append(text, "waits for tallies");
  return text;
}

std::string home_table(bool write) {
  struct Known {
    const char* name;
    std::uint16_t llc;
    bool owner, entry, may_be_out;
  };
  constexpr Known known[] = {
      {"entry, some tokens in the LLC", 2, false, true, true},
      {"entry, none in the LLC", 0, false, true, true},
      {"no entry, T in the LLC", kAll, true, false, false},
      {"no entry, some in the LLC", 2, true, false, true},
      {"no entry, none in the LLC, filter: maybe", 0, false, false, true},
      {"no entry, none in the LLC, filter: no", 0, false, false, false},
  };
  std::vector<Row> rows;
  for (const Known& k : known) {
    Row row{k.name};
    for (const TokenPolicy policy : {TokenPolicy::sparse, TokenPolicy::mosaic, TokenPolicy::flask}) {
      const HomeRules rules(policy, kTableAgents, kAll);
      HomeLine line;
      line.llc = {.count = k.llc, .owner = k.owner};
      line.has_entry = k.entry;
      if (k.entry) {
        line.sharers = 0b1100;
        line.owner = 2;
      }
      const TokenMessage request = asked(write ? TableKind::get_exclusive : TableKind::get_shared);
      const HomeOutcome out = rules.accept(line, request, k.may_be_out);
      row.push_back(said(line, out));
    }
    rows.push_back(std::move(row));
  }
  return table({write ? "GetX of R" : "GetS of R", "`sparse`", "`mosaic`", "`flask`"}, rows);
}

std::string broadcast_table() {
  const BroadcastRules agents(kAll);
  std::vector<Row> rows;
  for (const bool other_is_active : {false, true}) {
    for (const TableKind kind : {TableKind::get_shared, TableKind::get_exclusive, TableKind::activate}) {
      if (other_is_active && kind == TableKind::activate) continue;
      Row row{
          fmt::format("agent: `{}` (R){}", name_of(kind), other_is_active ? ", another's is active" : "")};
      for (HeldState& s : held_states()) {
        PersistentEntry entry;
        if (other_is_active) entry.active = 3;
        row.push_back(said(agents.receive(s.line, entry, kSelf, asked(kind))));
      }
      rows.push_back(std::move(row));
    }
  }
  Row read_turn{"agent: `activate` (R), to read"};
  for (HeldState& s : held_states()) {
    PersistentEntry entry;
    TokenMessage word = asked(TableKind::activate);
    word.is_read = true;
    read_turn.push_back(said(agents.receive(s.line, entry, kSelf, word)));
  }
  rows.push_back(std::move(read_turn));
  Row evicted{"agent: is evicted"};
  for (HeldState& s : held_states())
    evicted.push_back(s.line.held.count == 0 ? "never" : said(agents.evict(s.line, {}, kSelf)));
  rows.push_back(std::move(evicted));
  for (const bool is_memory : {false, true}) {
    const StoreRules store(kAll, is_memory);
    for (const TableKind kind : {TableKind::get_shared, TableKind::get_exclusive, TableKind::activate}) {
      Row row{fmt::format("{}: `{}` (R)", is_memory ? "memory" : "LLC", name_of(kind))};
      for (const HeldState& s : held_states()) {
        StoreLine line{.tokens = s.line.held};
        row.push_back(said(store.receive(line, asked(kind))));
      }
      rows.push_back(std::move(row));
    }
  }
  return table(head_of("node and event"), rows);
}

}  // namespace

std::string coherence_rule_tables() {
  return "T: the tokens of a line; t: those that are there; R: the requester. \"never\" is a violation, with "
         "which a "
         "run ends.\n\nAn agent, under `sparse`, `mosaic` and `flask`:\n\n" +
         agent_table() + "A home, of a line that is idle there:\n\n" + home_table(false) + home_table(true) +
         "Under `tokenb`, where each node answers for itself:\n\n" + broadcast_table();
}

}  // namespace rubato::chip
