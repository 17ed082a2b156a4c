// Building tokenb; LLC slices, memory and arbiters under it; checks and statistics.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "chip/coherence/token/token_broadcast.hpp"
#include "chip/stats/registry.hpp"

namespace rubato::chip {

namespace {
constexpr auto kInSlice = &AccessParts::llc, kInMemory = &AccessParts::memory;
constexpr Latency kFirstWay = 60;  ///< to memory and back, before any miss was measured (K43)
constexpr std::uint32_t kNowhere = FramedArray<TokenPlace>::kNoSlot;
using Said = TokenMessage::Kind;
using Order = PersistentArbiter::Order;
}  // namespace

TokenBroadcast::TokenBroadcast(const Config& config, Ports ports)
    : TokenTiles(config, ports),
      rules_(all_),
      slice_rules_(all_, false),
      memory_rules_(all_, true),
      retries_(config.coherence.retries),
      delivers_all_(config.coherence.deliver_all),
      longest_miss_(2 * (config.mem.latency + kFirstWay)),
      rng_(mix64(config.chip.seed ^ 0x746f6b656e62)) {
  reserved_hold_ = config.coherence.hold;
  nodes_.reserve(tiles());
  for (std::uint32_t t = 0; t < tiles(); ++t)
    nodes_.emplace_back(config, parts_.arena.resource()).mean_miss = longest_miss_ / 2;
}

void TokenBroadcast::deliver(Flight& flight) {
  const Said kind = flight.message.kind;
  if (kind == Said::tokens) count_in_flight(flight.line, flight.message.tokens, false);
  if (flight.message.to == TokenMessage::To::agent) {
    receive_at_agent(flight);
  } else if (flight.message.to == TokenMessage::To::memory) {
    receive_at_memory(flight);
  } else if (kind == Said::persist || kind == Said::acknowledgement || kind == Said::done) {
    arbitrate(flight);
  } else {
    receive_at_slice(flight);
  }
  check_line(flight.line);
}

void TokenBroadcast::receive_at_slice(Flight& flight) {
  const LineAddr line = flight.line;
  const TileId t = home_of(line);
  Node& node = nodes_[t.value];
  const Said kind = flight.message.kind;
  const bool is_get = kind == Said::get_shared || kind == Said::get_exclusive;
  if (is_get) transport_.spend(flight, kInSlice, look_up_llc(t, line, flight.at));
  if (kind == Said::tokens) flight.spend(kInSlice, parts_.book_llc(t, line, flight.at));
  StoreLine* const found = node.lines.find(line);
  StoreLine state = found == nullptr ? StoreLine{} : *found;
  const AgentOutcome out = slice_rules_.receive(state, flight.message);
  require(out.violation, line);
  ArrayAccesses& accesses = slice_accesses_[t.value];
  if (kind == Said::tokens)
    count(flight.message.has_data && state.tokens.count != 0 ? accesses.writes : accesses.lookups);
  for (std::uint32_t i = 0; i < out.count; ++i)
    if (out.sends[i].has_data && !flight.message.has_data) count(accesses.reads);
  if (is_get) {
    count(out.count != 0 ? node.llc.hits : node.llc.misses);
    parts_.uses.count(line, out.count != 0 ? &ProgramUse::llc_hits : &ProgramUse::llc_misses);
  }

  const std::uint32_t slot = node.places.find(line);
  if (state.tokens.count != 0) {
    if (slot == kNowhere) {
      make_place(t, line, flight.at);
    } else if (is_get) {
      node.places.use(slot);
    }
  } else if (slot != kNowhere) {
    node.places.erase(slot);
    parts_.uses.leave_llc(line);
  }
  if (state.tokens.count == 0 && state.active == PersistentEntry::kNoAgent) {
    if (found != nullptr) node.lines.erase(line);
  } else {
    (found != nullptr ? *found : node.lines.get(line)) = state;
  }
  pass_on(out, flight, t, ServedBy::llc);
}

void TokenBroadcast::make_place(TileId t, LineAddr line, Cycle at) {
  Node& node = nodes_[t.value];
  const std::uint32_t slot = node.places.victim(line);
  if (!node.places.is_empty(slot)) {
    const LineAddr victim = node.places.line_at(slot);
    StoreLine state = *node.lines.find(victim);
    count(node.llc.evictions);
    if (state.tokens.dirty) count(node.llc.write_backs);
    gate_.leave_llc(victim);
    parts_.uses.displace(victim, line);
    parts_.uses.leave_llc(victim);
    const AgentOutcome out = slice_rules_.evict(state);
    if (out.sends[0].has_data) count(slice_accesses_[t.value].reads);
    node.lines.erase(victim);
    node.places.erase(slot);
    Flight cause{.line = victim, .at = at};
    pass_on(out, cause, t, ServedBy::llc);
  }
  node.places.fill(slot, line);
  parts_.uses.enter_llc(line);
}

void TokenBroadcast::receive_at_memory(Flight& flight) {
  const LineAddr line = flight.line;
  StoreLine state = memory_line(line);
  if (flight.message.kind == Said::tokens && flight.message.tokens.dirty)
    parts_.write_memory(line, flight.at);
  const AgentOutcome out = memory_rules_.receive(state, flight.message);
  require(out.violation, line);
  keep_memory_line(line, state);
  for (std::uint32_t i = 0; i < out.count; ++i)
    if (out.sends[i].has_data) flight.spend(kInMemory, parts_.read_memory(line, flight.at));
  pass_on(out, flight, controller_tile_of(line), ServedBy::memory);
}

/// Word to or from the home's arbiter (K44).
void TokenBroadcast::arbitrate(const Flight& flight) {
  const TileId t = home_of(flight.line);
  PersistentArbiter& arbiter = nodes_[t.value].arbiters[parts_.banks.of(flight.line)];
  const Said kind = flight.message.kind;
  const Order order = kind == Said::persist
                          ? arbiter.ask({flight.message.requester, flight.line, flight.message.is_read})
                      : kind == Said::acknowledgement ? arbiter.acknowledge()
                                                      : arbiter.done();
  if (order == Order::none) return;
  const PersistentArbiter::Turn turn = arbiter.turn();
  const Flight cause{.line = turn.line, .at = flight.at};
  TokenMessage word{.kind = order == Order::activate ? Said::activate : Said::deactivate,
                    .to = TokenMessage::To::agent,
                    .is_read = turn.is_read,
                    .requester = turn.requester};
  transport_.send_to_all(cause, word, t, everybody());
  word.to = TokenMessage::To::home;
  transport_.send(cause, word, t, t);
  word.to = TokenMessage::To::memory;
  transport_.send(cause, word, t, controller_tile_of(turn.line));
}

// ---- What is where ----

const StoreLine* TokenBroadcast::slice_line(LineAddr line) const {
  return nodes_[home_of(line).value].lines.find(line);
}

StoreLine TokenBroadcast::memory_line(LineAddr line) const {
  StoreLine state{.tokens = {.count = static_cast<std::uint16_t>(all_), .owner = true}};
  if (const StoreLine* const kept = memory_.find(line); kept != nullptr) state = *kept;
  if (checks())
    if (const auto version = memory_versions_.find(line.value); version != memory_versions_.end())
      state.version = version->second;
  return state;
}

void TokenBroadcast::keep_memory_line(LineAddr line, const StoreLine& state) {
  if (checks()) memory_versions_[line.value] = state.version;
  if (state.tokens.count == all_ && state.active == PersistentEntry::kNoAgent) {
    memory_.erase(line);
  } else {
    memory_.get(line) = state;
  }
}

void TokenBroadcast::count_in_flight(LineAddr line, const Tokens& tokens, bool leaves) {
  if (!checks()) return;
  InFlight& sum = in_flight_[line.value];
  const std::uint32_t owners = tokens.owner ? 1 : 0;
  sum.tokens = leaves ? sum.tokens + tokens.count : sum.tokens - tokens.count;
  sum.owners = leaves ? sum.owners + owners : sum.owners - owners;
}

void TokenBroadcast::add_to_caches(TileId t, LineAddr line, const AgentRecord& record) {
  TileCaches& tile = agents_[t.value].caches;
  const std::uint32_t slot = tile.array().find(line);
  if (slot == TileCaches::kNoSlot || !record.line.is_writable(all_)) return;
  L2Line& l2 = tile.array()[slot];
  if (is_writable(l2.state)) return;
  l2.state = record.line.held.dirty ? LineState::modified : LineState::exclusive;
  if (gate_.is_active()) ConflictGate::uncover(l2);  // as when a request brings the right
}

bool TokenBroadcast::is_at_rest(LineAddr line) const {
  const StoreLine* const slice = slice_line(line);
  const StoreLine memory = memory_line(line);
  std::uint32_t sum = memory.tokens.count + (slice != nullptr ? slice->tokens.count : 0);
  if (memory.active != PersistentEntry::kNoAgent) return false;
  for (const TokenAgent& agent : agents_) {
    const AgentRecord* const record = agent.find(line);
    if (record == nullptr) continue;
    if (record->line.want != AgentLine::Want::none || record->line.is_unblock_due) return false;
    if (record->persistent != PersistentEntry{}) return false;
    sum += record->line.held.count;
  }
  return sum == all_ && (slice == nullptr || slice->active == PersistentEntry::kNoAgent);
}

void TokenBroadcast::drop_at_home(LineAddr line, bool) {
  Node& node = nodes_[home_of(line).value];
  if (const std::uint32_t slot = node.places.find(line); slot != kNowhere) {
    node.places.erase(slot);
    parts_.uses.leave_llc(line);
  }
  node.lines.erase(line);
  memory_.erase(line);
}

void TokenBroadcast::add_known_lines(std::vector<LineAddr>& lines) const {
  const auto add = [&](LineAddr line, const StoreLine&) { lines.push_back(line); };
  for (const Node& node : nodes_) node.lines.for_each(add);
  memory_.for_each(add);
}

std::uint64_t TokenBroadcast::possible_holders(LineAddr line) const {
  const StoreLine* const slice = slice_line(line);
  if (memory_line(line).tokens.count == all_ || (slice != nullptr && slice->tokens.count == all_)) return 0;
  return parts_.groups.all();
}

/// At any moment: tokens are conserved (K27).
std::string TokenBroadcast::find_violation(LineAddr line) const {
  const StoreLine* const slice = slice_line(line);
  const StoreLine memory = memory_line(line);
  const auto it = in_flight_.find(line.value);
  Sum sum{.tokens = memory.tokens.count, .owners = memory.tokens.owner ? 1U : 0U};
  if (it != in_flight_.end()) sum.tokens += it->second.tokens, sum.owners += it->second.owners;
  if (slice != nullptr) sum.tokens += slice->tokens.count, sum.owners += slice->tokens.owner ? 1 : 0;
  std::string what = find_violation_in_tiles(line, sum);
  if (what.empty() && (sum.tokens != all_ || sum.owners != 1))
    what = fmt::format("it has {} tokens, {} of them the owner's, of {}", sum.tokens, sum.owners, all_);
  return what.empty() ? what
                      : fmt::format("line {:#x}, home {}: {}", addr_of(line), home_of(line).value, what);
}

void TokenBroadcast::register_stats(StatRegistry& registry) const {
  TokenTiles::register_stats(registry);
  for (std::uint32_t t = 0; t < tiles(); ++t) {
    const Counters& c = nodes_[t].counters;
    registry.counter(fmt::format("tile.{}.requests.retries", t), "broadcasts",
                     "requests that were sent again because no answer had come", &c.retries);
    registry.counter(fmt::format("tile.{}.requests.persistent", t), "requests",
                     "requests that no retry served, so that their home arbitrated them", &c.persistent);
  }
}

}  // namespace rubato::chip
