// Homes and memory controllers (K31, K36).
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <span>
#include <utility>

#include "base/check.hpp"
#include "chip/coherence/token/token_protocol.hpp"

namespace rubato::chip {

namespace {
constexpr auto kHomePart = &AccessParts::llc, kMemoryPart = &AccessParts::memory;
constexpr std::uint32_t kNoPlace = HomeRecord::kNoSlot;
using Kind = TokenMessage::Kind;
using Phase = HomeLine::Phase;

/// Collected for memory, its data pass the slice by.
bool belongs_in_llc(const HomeLine& l) {
  return l.llc.count != 0 && l.phase != Phase::recall && l.phase != Phase::write_back;
}

/// Content of a line's directory entry.
struct EntryBits {
  explicit EntryBits(const HomeLine& l)
      : has_entry(l.has_entry), owner(l.has_entry ? l.owner : 0), sharers(l.has_entry ? l.sharers : 0) {}
  bool has_entry;
  std::uint16_t owner;
  std::uint64_t sharers;
  bool operator==(const EntryBits&) const = default;
};
}  // namespace

void TokenProtocol::deliver(Flight& flight) {
  switch (flight.message.to) {
    case TokenMessage::To::agent:
      return receive_at_agent(flight);
    case TokenMessage::To::home:
      return receive_at_home(flight);
    case TokenMessage::To::memory:
      return receive_at_memory(flight);
  }
}

void TokenProtocol::receive_at_memory(Flight& flight) {
  const bool reads = flight.message.kind == Kind::memory_read;
  if (reads) {
    flight.spend(kMemoryPart, parts_.read_memory(flight.line, flight.at));
  } else {
    parts_.write_memory(flight.line, flight.at);
  }
  std::uint64_t version = 0;
  if (checks()) {
    std::uint64_t& stored = memory_versions_[flight.line.value];
    if (!reads) stored = flight.message.version;
    version = stored;
  }
  const TileId controller_tile = controller_tile_of(flight.line);
  if (!reads) {
    return transport_.send(flight, {.kind = Kind::memory_acknowledgement, .to = TokenMessage::To::home},
                           controller_tile, home_of(flight.line));
  }
  const std::uint16_t r = flight.message.requester;
  flight.served = ServedBy::memory;
  transport_.send(flight, home_rules_.memory_answer(r, version), controller_tile, TileId{r});
}

// ---- Transactions ----

void TokenProtocol::receive_at_home(Flight& flight) {
  const TileId t = home_of(flight.line);
  TokenHome& home = homes_[t.value];
  HomeRecord& record = home.lines.get(flight.line);
  const Kind kind = flight.message.kind;
  if (kind == Kind::get_shared || kind == Kind::get_exclusive || kind == Kind::put_request) {
    const std::uint32_t index = transport_.flights.add(flight);
    transport_.flights[index].next = FlightPool::kNone;
    if (record.first == FlightPool::kNone) {
      record.first = index;
    } else {
      transport_.flights[record.last].next = index;
    }
    record.last = index;
    if (has_next(record)) home.ready.push_back(flight.line);
  } else {
    const EntryBits before(record.line);
    const HomeOutcome out = home_rules_.receive(record.line, flight.message);
    if (kind == Kind::put_data || kind == Kind::tokens) {
      flight.spend(kHomePart, parts_.book_llc(t, flight.line, flight.at));
      const bool stays = flight.message.has_data && belongs_in_llc(record.line);
      count(stays ? slice_accesses_[t.value].writes : slice_accesses_[t.value].lookups);
    }
    if (before != EntryBits(record.line)) count(home.entries.rows.written);
    apply(t, flight, record, out);
    if (!out.closes && has_next(record)) home.ready.push_back(flight.line);
  }
  go_on(t);
}

/// Begins what can begin now that transactions have closed.
void TokenProtocol::go_on(TileId t) {
  TokenHome& home = homes_[t.value];
  while (!home.ready.empty()) {
    const LineAddr line = home.ready.back();
    home.ready.pop_back();
    HomeRecord* const record = home.find(line);
    if (record == nullptr) continue;
    if (record->first != FlightPool::kNone) {
      if (has_next(*record)) try_next(t, line, *record);
    } else if (record->line.is_empty()) {
      home.lines.erase(line);
    }
  }
}

void TokenProtocol::stall(TileId t, LineAddr line) {
  auto& stalled = homes_[t.value].stalled;
  if (std::find(stalled.begin(), stalled.end(), line) == stalled.end()) stalled.push_back(line);
}

void TokenProtocol::try_next(TileId t, LineAddr line, HomeRecord& record) {
  TokenHome& home = homes_[t.value];
  const bool is_get = transport_.flights[record.first].message.kind != Kind::put_request;
  if (is_get && !make_room(t, line, record, transport_.now())) return stall(t, line);
  const std::uint32_t index = record.first;
  record.first = transport_.flights[index].next;
  Flight& flight = transport_.flights[index];

  // The slice looks up its data, directory and filter at once.
  const Cycle now = transport_.now();
  count(home.counters.busy_cycles, now - flight.at);
  transport_.spend(flight, kHomePart, look_up_llc(t, line, later(flight.at, now)));
  count(home.entries.rows.read, home.directory.ways());
  bool may_be_out = true;
  if (is_get) {
    if (home.split != nullptr && !is_warming())
      note_request(t, line, record, flight.message.kind == Kind::get_exclusive);
    if (record.llc_slot != kNoPlace) home.llc.use(record.llc_slot);
    if (record.entry_slot != kNoPlace) home.directory.use(record.entry_slot);
    const bool is_known = record.line.llc.count != 0 || record.line.has_entry;
    count(is_known ? home.counters.hits : home.counters.misses);
    parts_.uses.count(line, is_known ? &ProgramUse::llc_hits : &ProgramUse::llc_misses);
    count(record.line.has_entry ? home.entries.hits : home.entries.misses);
    if (home.filter != nullptr && !record.line.has_entry && record.line.llc.count == 0) {
      may_be_out = home.may_hold(line);
      if (!may_be_out) count(home.entries.filtered);
      if (may_be_out && home.profile != nullptr && !is_warming()) home.profile->on_maybe(home.frame.of(line));
    }
  }
  flight.served = ServedBy::llc;
  const EntryBits before(record.line);
  if (record.line.phase == Phase::idle) begin(home);
  const HomeOutcome out = home_rules_.accept(record.line, flight.message, may_be_out);
  if (before != EntryBits(record.line)) count(home.entries.rows.written);
  apply(t, flight, record, out);
  transport_.flights.release(index);
  if (has_next(record)) home.ready.push_back(line);  // another read
}

/// Makes room for a request before it begins: sparse may need a place for an entry, flask counters that can
/// count. False: the request waits until a transaction closes.
bool TokenProtocol::make_room(TileId t, LineAddr line, HomeRecord& record, Cycle at) {
  TokenHome& home = homes_[t.value];
  const bool is_counted = record.line.llc.count != 0 && (counts_chip_ || record.line.llc.count != all_);
  if (home.filter != nullptr && !record.line.has_entry && !is_counted && home.is_saturated(line)) {
    flush(t, at);
    if (home.is_saturated(line)) return false;
  }
  if (policy_ != TokenPolicy::sparse || record.line.has_entry) return true;
  const std::uint32_t slot = home.place_in(home.directory, line);
  if (slot == kNoPlace) return false;
  if (!home.directory.is_empty(slot)) {  // H13
    const LineAddr victim = home.directory.line_at(slot);
    count(home.entries.evictions);
    recall(t, victim, *home.find(victim), false, at);
  }
  home.directory.fill(slot, line);  // no other line takes it: a transaction of this one is open
  record.entry_slot = slot;
  return true;
}

/// K53. Flush of a saturated counter: each agent looks for lines of the counter and answers, then the home
/// takes their tokens back. Lines of open transactions follow when these have closed. Flush and answers
/// change nothing and make no events (K26).
void TokenProtocol::flush(TileId t, Cycle at) {
  TokenHome& home = homes_[t.value];
  count(home.entries.flushes);
  std::vector<LineAddr> out;
  const auto is_counted = [&](LineAddr other) { return home.is_saturated(other) && !home.is_busy(other); };
  for (const TokenAgent& agent : agents_)
    agent.lines.for_each([&](LineAddr other, const AgentRecord& record) {
      if (record.line.held.count != 0 && home_of(other) == t && is_counted(other)) out.push_back(other);
    });
  if (counts_chip_)
    home.lines.for_each([&](LineAddr other, const HomeRecord& record) {
      if (record.line.llc.count != 0 && is_counted(other)) out.push_back(other);
    });
  if (!is_warming()) at = tell_flush(t, at);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  for (const LineAddr other : out) {
    if (home.is_busy(other)) continue;
    HomeRecord& record = home.lines.get(other);
    record.is_flushed = true;
    ++home.flushing;
    recall(t, other, record, true, at);
  }
}

/// @returns when all agents have answered.
Cycle TokenProtocol::tell_flush(TileId t, Cycle at) {
  Flight word{.message = {.kind = Kind::flush, .to = TokenMessage::To::agent}, .at = at};
  const std::span<const Cycle> arrivals = transport_.book_multicast(word, t, everybody());
  Cycle answered = at;
  for (std::uint32_t a = 0; a < tiles(); ++a) {
    word.message = {.kind = Kind::flush_acknowledgement, .to = TokenMessage::To::home};
    word.at = parts_.book_l2(TileId{a}, later(at, a == t.value ? at : arrivals[a])) + parts_.l2_latency;
    transport_.book_way(word, TileId{a}, t);
    answered = later(answered, word.at);
  }
  return answered;
}

void TokenProtocol::recall(TileId t, LineAddr line, HomeRecord& record, bool to_memory, Cycle at) {
  const Flight cause{.line = line, .at = at};
  TokenHome& home = homes_[t.value];
  const EntryBits before(record.line);
  const HomeOutcome out = home_rules_.recall(record.line, to_memory);
  if (before != EntryBits(record.line)) count(home.entries.rows.written);
  begin(home);
  apply(t, cause, record, out);
}

/// A transaction, which ends where its outcome closes it.
void TokenProtocol::begin(TokenHome& home) {
  ++home.open;
  parts_.warming.count_most(home.entries.most_open, home.open);
}

void TokenProtocol::apply(TileId t, const Flight& cause, HomeRecord& record, const HomeOutcome& out) {
  TokenHome& home = homes_[t.value];
  const LineAddr line = cause.line;
  require(out.violation, line);
  if (out.filter == HomeOutcome::Filter::insert) home.insert(line);
  if (out.filter == HomeOutcome::Filter::erase) home.erase(line);
  if (out.is_rebuilt) count(home.entries.rebuilt);
  if (out.is_false_positive) count(home.entries.false_positives);
  if (home.split != nullptr && !is_warming()) note_outcome(home, line, record, out);
  if (out.frees_entry && record.entry_slot != kNoPlace)
    home.directory.erase(std::exchange(record.entry_slot, kNoPlace));
  if (out.wants_entry) place_entry(t, line, record);
  place_in_llc(t, line, record, cause.at);

  for (std::uint32_t i = 0; i < out.count; ++i) {
    const TokenMessage& m = out.sends[i];
    if (m.has_data) count(slice_accesses_[t.value].reads);
    transport_.send(cause, m, t,
                    m.to == TokenMessage::To::agent ? TileId{m.agent} : controller_tile_of(line));
  }
  if (out.targets) {
    const Kind kind = out.many.kind;
    if (kind == Kind::probe_shared || kind == Kind::probe_exclusive || kind == Kind::probe_count)
      count(home.entries.probes);
    const std::uint64_t agents = out.targets->count();
    if (kind == Kind::recall) count(home.counters.recalls, agents);
    if (kind == Kind::forward_exclusive) count(home.counters.invalidations, agents);
    transport_.send_to_all(cause, out.many, t, *out.targets);
  }
  for (std::uint32_t i = 0; i < out.count; ++i) {
    if (out.sends[i].kind == Kind::forward_shared) count(home.counters.forwards);
    if (out.sends[i].kind == Kind::memory_write) count(home.counters.write_backs);
  }
  if (!out.closes) return;
  --home.open;
  if (std::exchange(record.is_flushed, false)) --home.flushing;
  // The way of its entry may have gone meanwhile.
  if (record.line.has_entry && record.line.phase == Phase::idle) place_entry(t, line, record);
  // Closing may have begun the next one: a line without a place in the slice goes on to memory.
  if (record.line.phase == Phase::idle) check_line(line);
  home.ready.push_back(line);
  for (const LineAddr waiting : home.stalled) home.ready.push_back(waiting);
  home.stalled.clear();
}

void TokenProtocol::place_entry(TileId t, LineAddr line, HomeRecord& record) {
  TokenHome& home = homes_[t.value];
  if (record.entry_slot != kNoPlace) return;
  const std::uint32_t slot = home.place_in(home.directory, line);
  if (slot == kNoPlace) {  // sparse has made room before, and does not come here
    drop_entry(home, line, record);
    return;
  }
  if (!home.directory.is_empty(slot)) {
    const LineAddr victim = home.directory.line_at(slot);
    RUBATO_CHECK(policy_ != TokenPolicy::sparse, "a sparse directory drops no entry");
    count(home.entries.evictions);
    home.directory.erase(slot);
    drop_entry(home, victim, *home.find(victim));
  }
  home.directory.fill(slot, line);
  record.entry_slot = slot;
}

void TokenProtocol::drop_entry(TokenHome& home, LineAddr line, HomeRecord& record) {
  record.entry_slot = kNoPlace;
  record.line.has_entry = false;
  record.line.sharers = 0;
  record.line.owner = HomeLine::kNoAgent;
  home.ready.push_back(line);  // perhaps there is nothing left to know of it
}

/// Gives the line a place in the slice if it has tokens there, or takes it. A line for which there is none,
/// all others of its set being in transactions, goes on to memory when its own has closed.
void TokenProtocol::place_in_llc(TileId t, LineAddr line, HomeRecord& record, Cycle at) {
  TokenHome& home = homes_[t.value];
  const HomeLine& l = record.line;
  const bool belongs = belongs_in_llc(l);
  if (belongs == (record.llc_slot != kNoPlace)) return;
  if (!belongs) {
    parts_.uses.leave_llc(line);
    return home.llc.erase(std::exchange(record.llc_slot, kNoPlace));
  }
  const std::uint32_t slot = home.place_in(home.llc, line);
  if (slot == kNoPlace) {
    if (l.phase == Phase::idle) recall(t, line, record, true, at);
    return;
  }
  if (!home.llc.is_empty(slot)) {  // H11, H12
    const LineAddr victim = home.llc.line_at(slot);
    HomeRecord& other = *home.find(victim);
    count(home.counters.evictions);
    if (other.line.llc.count != all_) count(home.entries.incomplete);
    gate_.leave_llc(victim);
    parts_.uses.displace(victim, line);
    recall(t, victim, other, true, at);
  }
  if (record.llc_slot != kNoPlace) return;
  home.llc.fill(slot, line);
  parts_.uses.enter_llc(line);
  record.llc_slot = slot;
}

}  // namespace rubato::chip
