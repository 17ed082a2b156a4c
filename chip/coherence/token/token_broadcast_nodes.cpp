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
      longest_miss_(2 * (config.mem.latency + kFirstWay)),
      rng_(mix64(config.chip.seed ^ 0x746f6b656e62)),
      memory_(&pool_),
      in_flight_(&pool_) {
  reserved_hold_ = config.coherence.hold;
  for (std::uint32_t t = 0; t < tiles_; ++t)
    nodes_.emplace_back(config, &pool_).mean_miss = longest_miss_ / 2;
}

void TokenBroadcast::deliver(const Flight& flight) {
  const Said kind = flight.message.kind;
  if (kind == Said::tokens) count_in_flight(flight, false);
  if (flight.message.to == TokenMessage::To::agent) {
    receive_at_agent(flight);
  } else if (flight.message.to == TokenMessage::To::memory) {
    receive_at_memory(flight);
  } else if (kind == Said::persist || kind == Said::acknowledgement || kind == Said::done) {
    arbitrate(flight);
  } else {
    receive_at_slice(flight);
  }
  if (checks_ && !warming_)
    if (const std::string what = find_violation(flight.line); !what.empty()) report_(what);
}

void TokenBroadcast::receive_at_slice(Flight flight) {
  const LineAddr line = flight.line;
  const TileId t = home_of(line);
  Node& node = nodes_[t.value];
  const Said kind = flight.message.kind;
  const bool is_get = kind == Said::get_shared || kind == Said::get_exclusive;
  if (is_get || kind == Said::tokens)
    flight.spend(kInSlice, book(llc_ports_, t, flight.at) + (is_get && !warming_ ? llc_latency_ : 0));
  const auto found = node.lines.find(line.value);
  StoreLine state = found == node.lines.end() ? StoreLine{} : found->second;
  const AgentOutcome out = slice_rules_.receive(state, flight.message);
  require(out.violation, line);
  if (is_get) count(out.count != 0 ? node.llc.hits : node.llc.misses);

  const std::uint32_t slot = node.places.find(line);
  if (state.tokens.count != 0) {
    if (slot == kNowhere) {
      make_place(t, line, flight.at);
    } else if (is_get) {
      node.places.use(slot);
    }
  } else if (slot != kNowhere) {
    node.places.erase(slot);
  }
  if (state.tokens.count == 0 && state.active == PersistentEntry::kNoAgent) {
    node.lines.erase(line.value);
  } else {
    node.lines[line.value] = state;
  }
  pass_on(out, flight, t, ServedBy::llc);
}

void TokenBroadcast::make_place(TileId t, LineAddr line, Cycle at) {
  Node& node = nodes_[t.value];
  const std::uint32_t slot = node.places.victim(line);
  if (!node.places.is_empty(slot)) {
    const LineAddr victim = node.places.line_at(slot);
    StoreLine state = node.lines.at(victim.value);
    count(node.llc.evictions);
    if (state.tokens.dirty) count(node.llc.write_backs);
    if (!warming_ && conflicts_->is_active()) conflicts_->on_llc_evict(victim);
    const AgentOutcome out = slice_rules_.evict(state);
    node.lines.erase(victim.value);
    pass_on(out, {.line = victim, .at = at}, t, ServedBy::llc);
  }
  node.places.fill(slot, line);
}

void TokenBroadcast::receive_at_memory(Flight flight) {
  const LineAddr line = flight.line;
  MemoryController& controller = controllers_[map_.controller_of(line)];
  StoreLine state = memory_line(line);
  if (flight.message.kind == Said::tokens && flight.message.tokens.dirty && !warming_)
    controller.write(flight.at);
  const AgentOutcome out = memory_rules_.receive(state, flight.message);
  require(out.violation, line);
  keep_memory_line(line, state);
  for (std::uint32_t i = 0; i < out.count; ++i)
    if (out.sends[i].has_data && !warming_) flight.spend(kInMemory, controller.read(flight.at));
  pass_on(out, flight, controller_tile_of(line), ServedBy::memory);
}

/// Word to or from the home's arbiter (K44).
void TokenBroadcast::arbitrate(const Flight& flight) {
  const TileId t = home_of(flight.line);
  PersistentArbiter& arbiter = nodes_[t.value].arbiter;
  const Said kind = flight.message.kind;
  const Order order = kind == Said::persist           ? arbiter.ask({flight.message.requester, flight.line})
                      : kind == Said::acknowledgement ? arbiter.acknowledge()
                                                      : arbiter.done();
  if (order == Order::none) return;
  const PersistentArbiter::Turn turn = arbiter.turn();
  Flight word{.line = turn.line, .at = flight.at};
  word.message = {.kind = order == Order::activate ? Said::activate : Said::deactivate,
                  .to = TokenMessage::To::agent,
                  .requester = turn.requester};
  send_to_all(word, t, everybody());
  word.message.to = TokenMessage::To::home;
  send(word, t, t);
  word.message.to = TokenMessage::To::memory;
  send(word, t, controller_tile_of(turn.line));
}

// ---- What is where ----

const StoreLine* TokenBroadcast::slice_line(LineAddr line) const {
  const auto& lines = nodes_[home_of(line).value].lines;
  const auto it = lines.find(line.value);
  return it == lines.end() ? nullptr : &it->second;
}

StoreLine TokenBroadcast::memory_line(LineAddr line) const {
  const auto it = memory_.find(line.value);
  StoreLine state{.tokens = {.count = static_cast<std::uint16_t>(all_), .owner = true}};
  if (it != memory_.end()) state = it->second;
  if (checks_)
    if (const auto version = memory_versions_.find(line.value); version != memory_versions_.end())
      state.version = version->second;
  return state;
}

void TokenBroadcast::keep_memory_line(LineAddr line, const StoreLine& state) {
  if (checks_) memory_versions_[line.value] = state.version;
  if (state.tokens.count == all_ && state.active == PersistentEntry::kNoAgent) {
    memory_.erase(line.value);
  } else {
    memory_[line.value] = state;
  }
}

void TokenBroadcast::count_in_flight(const Flight& flight, bool leaves) {
  if (!checks_) return;
  InFlight& sum = in_flight_[flight.line.value];
  const std::uint32_t tokens = flight.message.tokens.count, owners = flight.message.tokens.owner ? 1 : 0;
  sum.tokens = leaves ? sum.tokens + tokens : sum.tokens - tokens;
  sum.owners = leaves ? sum.owners + owners : sum.owners - owners;
}

void TokenBroadcast::add_to_caches(TileId t, LineAddr line, const AgentRecord& record) {
  TileCaches& tile = agents_[t.value].caches;
  const std::uint32_t slot = tile.array().find(line);
  if (slot == TileCaches::kNoSlot || !record.line.is_writable(all_)) return;
  L2Line& l2 = tile.array()[slot];
  if (is_writable(l2.state)) return;
  l2.state = record.line.held.dirty ? LineState::modified : LineState::exclusive;
  if (!warming_ && conflicts_->is_active())
    l2.canary = kMaxVirtualTime;  // as when a request brings the right
}

bool TokenBroadcast::is_at_rest(LineAddr line) const {
  const StoreLine* const slice = slice_line(line);
  const StoreLine memory = memory_line(line);
  std::uint32_t sum = memory.tokens.count + (slice != nullptr ? slice->tokens.count : 0);
  if (memory.active != PersistentEntry::kNoAgent) return false;
  for (const TokenAgent& agent : agents_) {
    const auto it = agent.lines.find(line.value);
    if (it == agent.lines.end()) continue;
    const AgentRecord& record = it->second;
    if (record.line.want != AgentLine::Want::none || record.line.is_unblock_due) return false;
    if (record.persistent != PersistentEntry{}) return false;
    sum += record.line.held.count;
  }
  return sum == all_ && (slice == nullptr || slice->active == PersistentEntry::kNoAgent);
}

void TokenBroadcast::drop_at_home(LineAddr line, bool) {
  Node& node = nodes_[home_of(line).value];
  if (const std::uint32_t slot = node.places.find(line); slot != kNowhere) node.places.erase(slot);
  node.lines.erase(line.value);
  memory_.erase(line.value);
}

void TokenBroadcast::add_known_lines(std::vector<LineAddr>& lines) const {
  for (const Node& node : nodes_)
    for (const auto& [line, state] : node.lines) lines.push_back(LineAddr{line});
  for (const auto& [line, state] : memory_) lines.push_back(LineAddr{line});
}

std::uint64_t TokenBroadcast::possible_holders(LineAddr line) const {
  const StoreLine* const slice = slice_line(line);
  if (memory_line(line).tokens.count == all_ || (slice != nullptr && slice->tokens.count == all_)) return 0;
  return groups_.all();
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
  for (std::uint32_t t = 0; t < tiles_; ++t) {
    const Counters& c = nodes_[t].counters;
    registry.counter(fmt::format("tile.{}.requests.retries", t), "broadcasts",
                     "requests that were sent again because no answer had come", &c.retries);
    registry.counter(fmt::format("tile.{}.requests.persistent", t), "requests",
                     "requests that no retry served, so that their home arbitrated them", &c.persistent);
  }
}

}  // namespace rubato::chip
