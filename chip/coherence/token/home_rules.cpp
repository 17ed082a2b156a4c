// The rows H1 to H10 of K36; H11 to H13 are in token_protocol_home.cpp.
// SPDX-License-Identifier: MIT
#include "chip/coherence/token/home_rules.hpp"

namespace rubato::chip {

namespace {
using Kind = TokenMessage::Kind;
using To = TokenMessage::To;
using Phase = HomeLine::Phase;
using Filter = HomeOutcome::Filter;
constexpr std::uint16_t kNoAgent = HomeLine::kNoAgent;
}  // namespace

bool HomeRules::admits(const HomeLine& line, const TokenMessage& request) const {
  if (line.phase == Phase::idle) return true;
  if (line.phase != Phase::get || is_write(line) || request.kind != Kind::get_shared || line.missing != 0)
    return false;
  if (line.llc.count != 0) return true;
  return line.has_entry && line.owner != kNoAgent && !line.is_owner_on_its_way;
}

HomeOutcome HomeRules::accept(HomeLine& line, const TokenMessage& request, bool may_be_out) const {
  HomeOutcome out;
  if (!admits(line, request)) out.violation = "a second transaction of a line";
  line.request = request;
  if (line.phase == Phase::get) {
    ++line.blocking;
    if (line.has_entry) {
      serve_by_entry(line, out);
    } else {
      serve_without_entry(line, may_be_out, out);
    }
    return out;
  }
  line.missing = 0;
  line.blocking = 1;
  line.is_owner_on_its_way = line.was_served = line.goes_to_memory = false;
  line.found = 0;
  line.found_owner = kNoAgent;
  if (request.kind == Kind::put_request) {  // H10
    line.phase = Phase::put;
    out.send({.kind = Kind::put_grant, .to = To::agent, .agent = request.from, .requester = request.from});
    return out;
  }
  line.phase = Phase::get;
  if (line.has_entry) {
    serve_by_entry(line, out);
  } else {
    serve_without_entry(line, may_be_out, out);
  }
  return out;
}

void HomeRules::serve_by_entry(HomeLine& line, HomeOutcome& out) const {
  const std::uint16_t r = line.request.requester;
  line.was_served = true;
  if (!is_write(line)) {
    const bool has_owner = line.llc.owner;
    if (line.llc.count >= 1) {  // H1
      give(line, 1, true, out);
      if (has_owner && !line.llc.owner) {
        line.owner = r;
        line.is_owner_on_its_way = true;
      }
    } else {  // H2
      if (line.owner == kNoAgent) out.violation = "an entry without owner, of a line that is not in the LLC";
      out.send({.kind = Kind::forward_shared, .to = To::agent, .agent = line.owner, .requester = r});
    }
    line.sharers |= bit(r);
    return;
  }
  // H6
  const bool is_exact = agents_.is_exact();
  const bool has_data = line.request.requester_has_data || (is_exact && (line.sharers & bit(r)) != 0);
  if (line.llc.count != 0) give(line, line.llc.count, line.llc.owner && !has_data, out);
  if (const TileSet sharers = others(line.sharers, r); !sharers.is_empty()) {
    out.targets = sharers;
    out.many = {
        .kind = Kind::forward_exclusive, .to = To::agent, .requester_has_data = has_data, .requester = r};
    if (!is_exact) line.missing = static_cast<std::uint16_t>(sharers.count());
  }
  line.sharers = bit(r);
  line.owner = r;
}

void HomeRules::serve_without_entry(HomeLine& line, bool may_be_out, HomeOutcome& out) const {
  const std::uint16_t r = line.request.requester;
  const TileSet all_others = others(agents_.all(), r);
  const bool write = is_write(line), in_llc = line.llc.count != 0, is_home = line.llc.count == all_;
  if (policy_ == TokenPolicy::sparse && !is_home && in_llc) out.violation = "a line is out without an entry";
  if (in_llc) {
    line.was_served = true;
    if (is_home) {  // H3
      const bool counts = policy_ == TokenPolicy::mosaic && !variant_.probes_when_needed;
      give(line, line.llc.count, true, out);
      if (!variant_.counts_chip) out.filter = Filter::insert;
      if (policy_ != TokenPolicy::flask && !counts) make_entry(line, bit(r), r, out);
      if (counts) {
        line.owner = r;
        ask(line, Kind::probe_count, all_others, out);
      }
    } else if (!write) {  // H4
      const bool has_owner = line.llc.owner;
      give(line, 1, true, out);
      line.owner = has_owner && !line.llc.owner ? r : kNoAgent;
      if (policy_ == TokenPolicy::mosaic) ask(line, Kind::probe_count, all_others, out);
    } else {  // H7
      give(line, line.llc.count, true, out);
      ask(line, Kind::probe_exclusive, all_others, out);
    }
    return;
  }
  const bool asks = !all_others.is_empty() &&
                    (policy_ == TokenPolicy::mosaic || (policy_ == TokenPolicy::flask && may_be_out));
  if (!asks) return read_memory(line, out);
  ask(line, write ? Kind::probe_exclusive : Kind::probe_shared, all_others, out);  // H5, H8
}

/// K29: with the last one the LLC gives what it has of the owner's.
void HomeRules::give(HomeLine& line, std::uint16_t tokens, bool with_data, HomeOutcome& out) const {
  Tokens given{.count = tokens};
  if (tokens == line.llc.count) {
    given = line.llc;
    line.llc = {};
  } else {
    line.llc.count = static_cast<std::uint16_t>(line.llc.count - tokens);
  }
  out.send({.kind = Kind::tokens,
            .to = To::agent,
            .has_data = with_data && !line.request.requester_has_data,
            .agent = line.request.requester,
            .requester = line.request.requester,
            .tokens = given,
            .version = line.version});
}

void HomeRules::ask(HomeLine& line, Kind kind, const TileSet& targets, HomeOutcome& out) const {
  line.missing = static_cast<std::uint16_t>(targets.count());
  if (targets.is_empty()) return end_probe(line, out);
  out.targets = targets;
  out.many = {.kind = kind,
              .to = To::agent,
              .requester_has_data = line.request.requester_has_data,
              .requester = line.request.requester};
}

/// H9. Memory sends the line and all tokens to R by itself. A request that replaces the line needs nothing of
/// memory's but the tokens.
void HomeRules::read_memory(HomeLine& line, HomeOutcome& out) const {
  const std::uint16_t r = line.request.requester;
  line.was_served = true;
  if (line.request.requester_has_data) {
    out.send({.kind = Kind::tokens,
              .to = To::agent,
              .agent = r,
              .requester = r,
              .tokens = {.count = static_cast<std::uint16_t>(all_), .owner = true}});
  } else {
    out.send({.kind = Kind::memory_read, .to = To::memory, .requester = r});
  }
  out.filter = Filter::insert;
  if (policy_ != TokenPolicy::flask) make_entry(line, bit(r), r, out);
}

void HomeRules::make_entry(HomeLine& line, std::uint64_t sharers, std::uint16_t owner,
                           HomeOutcome& out) const {
  line.has_entry = out.wants_entry = true;
  line.sharers = sharers;
  line.owner = owner;
  line.is_owner_on_its_way = owner == line.request.requester;
}

void HomeRules::end_probe(HomeLine& line, HomeOutcome& out) const {
  const std::uint16_t r = line.request.requester;
  const bool mosaic = policy_ == TokenPolicy::mosaic, found = line.found != 0;
  if (!line.was_served && !found) {
    out.is_false_positive = true;
    return read_memory(line, out);
  }
  out.is_rebuilt = found;
  if (is_write(line)) {
    if (found || mosaic) make_entry(line, bit(r), r, out);
  } else if (found || mosaic) {
    make_entry(line, line.found | bit(r), line.found_owner != kNoAgent ? line.found_owner : line.owner, out);
  }
  close_if_done(line, out);
}

HomeOutcome HomeRules::recall(HomeLine& line, bool to_memory) const {
  HomeOutcome out;
  if (line.phase != Phase::idle) out.violation = "a recall of a line in a transaction";
  line.phase = Phase::recall;
  line.goes_to_memory = to_memory;
  line.missing = 0;
  const std::uint64_t holders = line.llc.count == all_ ? 0 : line.has_entry ? line.sharers : agents_.all();
  out.frees_entry = line.has_entry;
  line.has_entry = false;
  line.sharers = 0;
  line.owner = kNoAgent;
  if (holders == 0) {
    end_recall(line, out);
    return out;
  }
  line.request = {};
  ask(line, Kind::recall, {agents_, holders}, out);
  out.filter = Filter::none;
  return out;
}

void HomeRules::end_recall(HomeLine& line, HomeOutcome& out) const {
  if (line.llc.count != all_) {
    out.violation = "a recall did not find every token";
    return;
  }
  if (!line.goes_to_memory) return close(line, out);
  if (line.llc.dirty) {
    line.phase = Phase::write_back;
    out.send({.kind = Kind::memory_write,
              .to = To::memory,
              .has_data = true,
              .tokens = line.llc,
              .version = line.version});
    return;
  }
  line.llc = {};
  if (variant_.counts_chip) out.filter = Filter::erase;
  close(line, out);
}

HomeOutcome HomeRules::receive(HomeLine& line, const TokenMessage& m) const {
  HomeOutcome out;
  const bool in_get = line.phase == Phase::get, in_recall = line.phase == Phase::recall;
  switch (m.kind) {
    case Kind::unblock:
      if (!in_get || line.blocking == 0) out.violation = "an unblock without a request";
      --line.blocking;
      close_if_done(line, out);
      break;
    case Kind::tally:
    case Kind::tokens:
      if (line.missing == 0 || !(in_get ? m.kind == Kind::tally : in_recall))
        out.violation = "an answer that nobody awaits";
      --line.missing;
      if (in_recall) {
        if (m.kind == Kind::tokens) {
          add(line.llc, m.tokens);
          if (m.has_data) line.version = m.version;
        }
        if (line.missing != 0) break;
        if (!variant_.counts_chip) out.filter = Filter::erase;
        end_recall(line, out);
        break;
      }
      if (line.has_entry) {  // a coarse vector's agents answer what was forwarded to them
        close_if_done(line, out);
        break;
      }
      if (m.tokens.count != 0) {
        line.found |= bit(m.from);
        if (m.tokens.owner) line.found_owner = m.from;
      }
      if (line.missing == 0) end_probe(line, out);
      break;
    case Kind::put_none:
      close(line, out);
      break;
    case Kind::put_data:
      if (line.phase != Phase::put) out.violation = "an eviction that was not granted";
      add(line.llc, m.tokens);
      line.version = m.version;
      if (agents_.is_alone(TileId{m.from})) line.sharers &= ~bit(m.from);
      if (m.tokens.owner) line.owner = kNoAgent;
      if (line.llc.count == all_) {
        if (!variant_.counts_chip) out.filter = Filter::erase;
        out.frees_entry = line.has_entry;
        line.has_entry = false;
        line.sharers = 0;
      }
      close(line, out);
      break;
    case Kind::memory_acknowledgement:
      if (line.phase != Phase::write_back) out.violation = "memory acknowledges nothing";
      line.llc = {};
      if (variant_.counts_chip) out.filter = Filter::erase;
      close(line, out);
      break;
    default:
      out.violation = "a home was sent what is not for it";
  }
  return out;
}

void HomeRules::close_if_done(HomeLine& line, HomeOutcome& out) const {
  if (line.phase == Phase::get && line.missing == 0 && line.blocking == 0) close(line, out);
}

/// K31: no message of the transaction is left in the network.
void HomeRules::close(HomeLine& line, HomeOutcome& out) const {
  line.phase = Phase::idle;
  line.request = {};
  line.is_owner_on_its_way = line.was_served = line.goes_to_memory = false;
  line.blocking = 0;
  line.found = 0;
  line.found_owner = kNoAgent;
  if (!line.has_entry) {
    line.sharers = 0;
    line.owner = kNoAgent;
  }
  if (line.llc.count == 0) line.version = 0;
  out.closes = true;
}

}  // namespace rubato::chip
