// SPDX-License-Identifier: MIT
#include "chip/core/line_contention.hpp"

#include <algorithm>

namespace rubato::chip {
namespace {

std::uint64_t writes_of(const PipelineCounters& counters) { return counters.stores + counters.atomics; }

}  // namespace

LineContention::Wait LineContention::Word::waits_for() const {
  if (2 * acquired >= spins) return Wait::lock;
  return 2 * ended_beside >= 3 * ended && ended != 0 ? Wait::barrier : Wait::flag;
}

LineContention::LineContention(MemorySystem& memory, const Timeline& timeline, std::uint32_t cores)
    : memory_(memory), timeline_(timeline), cores_(cores), of_cores_(cores), quiet_(kQuiet) {}

// ---- Transfers ----

AccessResult LineContention::access(CoreId core, LineAddr line, AccessKind kind, Cycle now) {
  const AccessResult result = memory_.access(core, line, kind, now);
  if (!is_tracked(kind) || of_cores_[core.value].is_left_out) return result;
  auto& pending = of_cores_[core.value].pending;
  const auto asked =
      std::find_if(pending.begin(), pending.end(), [line](const Pending& p) { return p.line == line; });
  if (!result.done) {
    if (asked == pending.end()) pending.push_back({line, now});
    return result;
  }
  const Cycle since = asked != pending.end() ? asked->since : now;
  if (asked != pending.end()) pending.erase(asked);
  const bool is_atomic = kind == AccessKind::atomic || kind == AccessKind::reserve;
  const std::uint64_t cycles = result.cycle.value - std::min(since, result.cycle).value;
  miss_cycles_ += cycles;
  on_miss(core, line, is_write(kind), is_atomic, cycles);
  return result;
}

void LineContention::leave_out(CoreId core, bool is_left_out) {
  OfCore& of = of_cores_[core.value];
  of.is_left_out = is_left_out;
  of.pending.clear();
  end_spin(of, false);
}

void LineContention::on_miss(CoreId core, LineAddr line, bool writes, bool is_atomic, std::uint64_t cycles) {
  const std::uint32_t c = core.value;
  Line* found = find(line);
  if (found == nullptr) {
    Quiet& quiet = quiet_[line.value % kQuiet];
    if (quiet.line != line) quiet = {line, c, false, false};
    if (quiet.core == c && !quiet.is_shared) {
      quiet.is_written |= writes;
      return;
    }
    if (!writes && !quiet.is_written) {
      quiet.is_shared = true;
      return;
    }
    if (lines_.size() >= kMostLines) forget_cheap_lines();
    found = &make_line(line, quiet);
    quiet = {};
  }
  Line& l = *found;
  std::uint32_t from = kNobody;
  if (writes) {
    l.holders.remove(c);
    if (l.last_writer != kNobody && l.last_writer != c && l.holders.has(l.last_writer)) {
      from = l.last_writer;
    } else if (l.last_holder != kNobody && l.last_holder != c && l.holders.has(l.last_holder)) {
      from = l.last_holder;
    } else {
      from = l.holders.first();
    }
    l.holders.clear();
    l.last_writer = c;
  } else if (!l.holders.has(c) && l.last_writer != kNobody && l.last_writer != c) {
    from = l.last_writer;
  }
  l.holders.add(c);
  l.last_holder = c;
  if (from == kNobody) return;
  const bool is_shown = !l.words.empty() || l.transfers / kSpan % kSpans == 0;
  if (!is_shown || l.transfers / kSpan != l.window / kSpan)
    l.window = static_cast<std::uint32_t>(l.transfers);
  transfer(l, c, from, is_atomic, cycles);
  if (is_shown) {
    watch(line, l);
  } else {
    unwatch(line, l);
  }
}

// A line that cores only read so far is the first one's: others have been forgotten.
LineContention::Line& LineContention::make_line(LineAddr line, const Quiet& before) {
  std::unique_ptr<Line>& slot = lines_[line];
  slot = std::make_unique<Line>();
  slot->holders = CoreSet(cores_, before.is_shared);
  slot->holders.add(before.core);
  slot->last_holder = before.core;
  if (before.is_written) slot->last_writer = before.core;
  auto& entry = filter_[line.value % kFilter];
  if (entry.second != nullptr) is_hidden_[line.value % kFilter] = true;
  entry = {line, slot.get()};
  return *slot;
}

LineContention::Line* LineContention::find_hidden(LineAddr line) {
  const auto found = lines_.find(line);
  if (found == lines_.end()) return nullptr;
  filter_[line.value % kFilter] = {line, found->second.get()};
  return found->second.get();
}

void LineContention::watch(LineAddr at, Line& line) {
  line.uses = 0;
  if (line.is_watched) return;
  line.is_watched = true;
  watch_.add(at);
}

void LineContention::unwatch(LineAddr at, Line& line) {
  if (!line.is_watched) return;
  line.is_watched = false;
  watch_.remove(at);
  for (OfCore& core : of_cores_)
    if (core.spin.line == &line) core.spin.is_hidden = true;
}

void LineContention::transfer(Line& line, std::uint32_t core, std::uint32_t from, bool is_atomic,
                              std::uint64_t cycles) {
  ++transfers_;
  transfer_cycles_ += cycles;
  ++line.transfers;
  line.cycles += cycles;
  if (is_atomic) ++line.atomics;
  ++line.told_now;
  Use& use = use_of(line, core);
  count_taken(use, from);
  end_tenure(line, use);
  ++use.transfers;
  use.cycles += cycles;
  use.tenure_cycles = cycles;
  use.is_known = std::exchange(use.window, line.window) == line.window;
  use.is_true = false;
  use.written_now = std::exchange(use.written_next, 0);
  use.used_now = std::exchange(use.used_next, 0);
}

void LineContention::count_taken(Use& use, std::uint32_t from) {
  const auto place = std::lower_bound(use.taken_from.begin(), use.taken_from.end(), from,
                                      [](const auto& row, std::uint32_t core) { return row.first < core; });
  if (place != use.taken_from.end() && place->first == from) {
    ++place->second;
  } else {
    use.taken_from.insert(place, {from, 1});
  }
}

void LineContention::end_tenure(Line& line, Use& use) {
  if (!use.is_known) return;
  ++(use.is_true ? line.true_transfers : line.false_transfers);
  (use.is_true ? line.true_cycles : line.false_cycles) += use.tenure_cycles;
}

// ---- Uses ----

LineContention::Use& LineContention::find_use(Line& line, std::uint32_t core) {
  OfCore& of = of_cores_[core];
  of.recent = &line;
  for (of.place = 0; of.place < line.users.size(); ++of.place)
    if (line.users[of.place].core == core) return line.users[of.place];
  line.users.emplace_back().core = core;
  ++line.told_now;
  line.limit_uses();
  return line.users.back();
}

void LineContention::use(Line& line, std::uint32_t core, Addr address, unsigned bytes, bool writes) {
  const auto offset = static_cast<unsigned>(address % kLineBytes);
  const std::uint64_t mask = (~std::uint64_t{0} >> (64 - bytes)) << offset;
  if (++line.uses >= line.most_uses) unwatch(line_of(address), line);
  Use& own = use_of(line, core);
  own.is_true |= (mask & (writes ? own.used_now : own.written_now)) != 0;
  if (own.told_at != line.told_now) {
    own.told_at = line.told_now;
    own.told_used = own.told_written = 0;
  }
  if ((mask & ~(writes ? own.told_written : own.told_used)) == 0) return;
  own.told_used |= mask;
  own.touched |= mask;
  if (writes) {
    own.told_written |= mask;
    own.written |= mask;
  }
  for (Use& other : line.users) {
    if (other.core == core) continue;
    other.used_next |= mask;
    if (writes) other.written_next |= mask;
  }
}

// Requests of an aborted attempt do not count for the next task.
void LineContention::on_begin(CoreId core, const HartState&) { of_cores_[core.value].pending.clear(); }

void LineContention::on_load(CoreId core, Addr address, unsigned bytes, std::uint64_t value) {
  OfCore& of = of_cores_[core.value];
  Line* const line = find(line_of(address));
  if (line == nullptr) return;
  const bool is_reserving =
      of.spin.word != 0 && of.counters->loads == of.spin.loads;  // an lr counts as an atomic
  settle(of, is_reserving ? 0 : 1, is_reserving ? 1 : 0);
  use(*line, core.value, address, bytes, false);
  spin(of, *line, address, value, false);
}

void LineContention::on_store(CoreId core, Addr address, unsigned bytes) {
  end_spin(of_cores_[core.value], false);
  Line* const line = find(line_of(address));
  if (line == nullptr) return;
  use(*line, core.value, address, bytes, true);
  write_word(*line, address, &of_cores_[core.value]);
}

// If two atomics in a row find different values, the spin ends as acquired: the first one got the value the
// core waited for, or neither waits.
void LineContention::on_atomic(CoreId core, Addr address, unsigned bytes, std::uint64_t old_value) {
  OfCore& of = of_cores_[core.value];
  Line* const line = find(line_of(address));
  if (line == nullptr) return end_spin(of, false);
  settle(of, 0, 1);
  use(*line, core.value, address, bytes, true);
  if (of.spin.word == address && of.spin.is_last_atomic && of.spin.value != old_value) end_spin(of, true);
  write_word(*line, address, &of_cores_[core.value]);
  spin(of, *line, address, old_value, true);
}

void LineContention::on_store_conditional(CoreId core, Addr address, unsigned bytes, bool stored) {
  OfCore& of = of_cores_[core.value];
  if (!stored) {
    if (of.spin.word == address) of.spin.writes = writes_of(*of.counters);
    return;
  }
  settle(of, 0, 1);
  end_spin(of, of.spin.word == address);
  Line* const line = find(line_of(address));
  if (line == nullptr) return;
  use(*line, core.value, address, bytes, true);
  write_word(*line, address, &of_cores_[core.value]);
}

// ---- Spins ----

void LineContention::spin(OfCore& core, Line& line, Addr address, std::uint64_t value, bool is_atomic) {
  Spin& spin = core.spin;
  const std::uint64_t now = timeline_.now().value;
  if (spin.word != address) {
    end_spin(core, false);
    spin = {address, &line,     value,           now, now, core.counters->loads, writes_of(*core.counters),
            1,       is_atomic, !line.is_watched};
    return;
  }
  spin.last = now;
  spin.is_hidden = !line.is_watched;
  spin.loads = core.counters->loads;
  spin.writes = writes_of(*core.counters);
  spin.value = value;
  spin.is_last_atomic = is_atomic;
  if (++spin.times != kSpins) return;
  ++line.words[address].spinning;
  line.limit_uses();
}

void LineContention::end_spin(OfCore& core, bool acquired) {
  const Spin& spin = core.spin;
  const Addr at = std::exchange(core.spin.word, 0);
  if (at == 0 || spin.times < kSpins) return;
  Word& word = spin.line->words[at];
  --word.spinning;
  ++word.spins;
  word.cycles += spin.last - std::min(spin.began, spin.last);
  if (acquired || spin.is_last_atomic) {  // then it does something else
    ++word.acquired;
  } else {
    ++word.group;
  }
}

// A core that spins only loads, or only tries atomics on the word: one more store or atomic, or too many
// loads, and it has gone on.
void LineContention::settle(OfCore& core, unsigned shown_loads, unsigned shown_writes) {
  const Spin& spin = core.spin;
  if (spin.word == 0) return;
  if (writes_of(*core.counters) > spin.writes + shown_writes ||
      (!spin.is_hidden && core.counters->loads > spin.loads + shown_loads + kMostOthers))
    end_spin(core, false);
}

// Spins that ended between two stores to the word were ended by the first of the two.
void LineContention::write_word(Line& line, Addr address, const OfCore* writer) {
  if (line.words.empty()) return;
  const auto found = line.words.find(address);
  if (found == line.words.end()) return;
  Word& word = found->second;
  if (word.spinning != 0)
    for (OfCore& core : of_cores_)
      if (core.spin.word == address && &core != writer) settle(core, 0, 0);
  word.ended += word.group;
  word.ended_beside += word.group * word.group;
  word.group = 0;
}

void LineContention::forget_cheap_lines() {
  const auto cost = [](const Line& line) {
    std::uint64_t spun = 0;
    for (const auto& [address, word] : line.words) spun += word.cycles;
    return std::max(line.cycles, spun);
  };
  std::vector<std::uint64_t> costs;
  for (const auto& [address, line] : lines_) costs.push_back(cost(*line));
  std::nth_element(costs.begin(), costs.begin() + kMostLines / 2, costs.end());
  const std::uint64_t least = costs[kMostLines / 2];
  std::erase_if(lines_, [&](const auto& row) {
    const bool is_waited_for = std::any_of(of_cores_.begin(), of_cores_.end(), [&](const OfCore& core) {
      return core.spin.word != 0 && core.spin.line == row.second.get();
    });
    if (cost(*row.second) > least || is_waited_for) return false;
    if (row.second->is_watched) watch_.remove(row.first);
    return true;
  });
  for (OfCore& core : of_cores_) core.recent = nullptr;
  filter_.fill({});
  is_hidden_.fill(false);
  for (const auto& [address, line] : lines_) {
    auto& entry = filter_[address.value % kFilter];
    is_hidden_[address.value % kFilter] |= entry.second != nullptr;
    entry = {address, line.get()};
  }
}

void LineContention::finish() {
  for (OfCore& core : of_cores_) end_spin(core, false);
  for (auto& [address, line] : lines_) {
    for (Use& use : line->users) {
      end_tenure(*line, use);
      use.is_known = false;
    }
    for (auto& [word, of] : line->words) write_word(*line, word, nullptr);
  }
  std::erase_if(lines_,
                [](const auto& row) { return row.second->transfers == 0 && row.second->words.empty(); });
}

}  // namespace rubato::chip
