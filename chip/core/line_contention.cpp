// SPDX-License-Identifier: MIT
#include "chip/core/line_contention.hpp"

#include <algorithm>

namespace rubato::chip {

LineContention::Wait LineContention::Word::waits_for() const {
  if (2 * acquired >= spins) return Wait::lock;
  return 2 * ended_beside >= 3 * ended && ended != 0 ? Wait::barrier : Wait::flag;
}

LineContention::LineContention(MemorySystem& memory, const Timeline& timeline, std::uint32_t cores)
    : memory_(memory), timeline_(timeline), cores_(cores), of_cores_(cores) {}

// ---- Transfers ----

AccessResult LineContention::access(CoreId core, LineAddr line, AccessKind kind, Cycle now) {
  const AccessResult result = memory_.access(core, line, kind, now);
  if (!is_tracked(kind)) return result;
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

void LineContention::on_miss(CoreId core, LineAddr line, bool writes, bool is_atomic, std::uint64_t cycles) {
  const std::uint32_t c = core.value;
  Line* found = find(line);
  if (found == nullptr) {
    const auto [at, is_new] = quiet_.try_emplace(line.value, Quiet{c, writes, false});
    Quiet& quiet = at->second;
    if (is_new || (quiet.core == c && !quiet.is_shared)) {
      quiet.is_written |= writes;
      return;
    }
    if (!writes && !quiet.is_written) {
      quiet.is_shared = true;
      return;
    }
    found = &make_line(line, quiet);
    quiet_.erase(at);
  }
  Line& l = *found;
  std::uint32_t from = kNobody;
  if (writes) {
    l.holders[c] = false;
    if (l.last_writer != kNobody && l.last_writer != c && l.holders[l.last_writer]) {
      from = l.last_writer;
    } else if (l.last_holder != kNobody && l.last_holder != c && l.holders[l.last_holder]) {
      from = l.last_holder;
    } else if (const auto holder = std::find(l.holders.begin(), l.holders.end(), true);
               holder != l.holders.end()) {
      from = static_cast<std::uint32_t>(holder - l.holders.begin());
    }
    l.holders.assign(cores_, false);
    l.last_writer = c;
  } else if (!l.holders[c] && l.last_writer != kNobody && l.last_writer != c) {
    from = l.last_writer;
  }
  l.holders[c] = true;
  l.last_holder = c;
  if (from != kNobody) transfer(l, c, from, is_atomic, cycles);
}

// A line that cores only read so far is the first one's: others have been forgotten.
LineContention::Line& LineContention::make_line(LineAddr line, const Quiet& before) {
  std::unique_ptr<Line>& slot = lines_[line];
  slot = std::make_unique<Line>();
  slot->holders.assign(cores_, before.is_shared);
  slot->holders[before.core] = true;
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

void LineContention::transfer(Line& line, std::uint32_t core, std::uint32_t from, bool is_atomic,
                              std::uint64_t cycles) {
  ++line.transfers;
  line.cycles += cycles;
  if (is_atomic) ++line.atomics;
  ++line.taken[{from, core}];
  Use& use = use_of(line, core);
  end_tenure(line, use);
  ++use.transfers;
  use.cycles += cycles;
  use.tenure_cycles = cycles;
  use.is_known = use.transfers > 1;
  use.is_true = false;
  use.written_now = std::exchange(use.written_next, 0);
  use.used_now = std::exchange(use.used_next, 0);
}

void LineContention::end_tenure(Line& line, Use& use) {
  if (!use.is_known) return;
  ++(use.is_true ? line.true_transfers : line.false_transfers);
  (use.is_true ? line.true_cycles : line.false_cycles) += use.tenure_cycles;
}

// ---- Uses ----

LineContention::Use& LineContention::use_of(Line& line, std::uint32_t core) {
  for (Use& use : line.users)
    if (use.core == core) return use;
  line.users.emplace_back().core = core;
  return line.users.back();
}

void LineContention::use(Line& line, std::uint32_t core, Addr address, unsigned bytes, bool writes) {
  const auto offset = static_cast<unsigned>(address % kLineBytes);
  const std::uint64_t mask = (~std::uint64_t{0} >> (64 - bytes)) << offset;
  if (line.recent_core != core) {
    line.recent_core = core;
    line.recent_used = line.recent_written = 0;
  }
  Use& own = use_of(line, core);
  own.is_true |= (mask & (writes ? own.used_now : own.written_now)) != 0;
  if ((mask & ~(writes ? line.recent_written : line.recent_used)) == 0) return;
  line.recent_used |= mask;
  own.touched |= mask;
  if (writes) {
    line.recent_written |= mask;
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
  if (line == nullptr) {
    ++of.spin.others;
    return;
  }
  use(*line, core.value, address, bytes, false);
  spin(of, *line, address, value, false);
}

void LineContention::on_store(CoreId core, Addr address, unsigned bytes) {
  OfCore& of = of_cores_[core.value];
  if (of.spin.word != 0) end_spin(of, false);
  Line* const line = find(line_of(address));
  if (line == nullptr) return;
  use(*line, core.value, address, bytes, true);
  write_word(*line, address);
}

// If two atomics in a row find different values, the spin ends as acquired: the first one got the value the
// core waited for, or neither waits.
void LineContention::on_atomic(CoreId core, Addr address, unsigned bytes, std::uint64_t old_value) {
  OfCore& of = of_cores_[core.value];
  Line* const line = find(line_of(address));
  if (line == nullptr) return end_spin(of, false);
  use(*line, core.value, address, bytes, true);
  if (of.spin.word == address && of.spin.is_last_atomic && of.spin.value != old_value) end_spin(of, true);
  write_word(*line, address);
  spin(of, *line, address, old_value, true);
}

void LineContention::on_store_conditional(CoreId core, Addr address, unsigned bytes, bool stored) {
  if (!stored) return;
  OfCore& of = of_cores_[core.value];
  if (of.spin.word != 0) end_spin(of, of.spin.word == address);
  Line* const line = find(line_of(address));
  if (line == nullptr) return;
  use(*line, core.value, address, bytes, true);
  write_word(*line, address);
}

// ---- Spins ----

void LineContention::spin(OfCore& core, Line& line, Addr address, std::uint64_t value, bool is_atomic) {
  Spin& spin = core.spin;
  if (spin.word != address || spin.others > kMostOthers) {
    end_spin(core, false);
    spin = {address, &line, value, timeline_.now().value, 1, 0, is_atomic};
    return;
  }
  spin.others = 0;
  spin.value = value;
  spin.is_last_atomic = is_atomic;
  if (++spin.times == kSpins) ++line.words[address].spinning;
}

void LineContention::end_spin(OfCore& core, bool acquired) {
  const Spin spin = std::exchange(core.spin, Spin{});
  if (spin.word == 0 || spin.times < kSpins) return;
  Word& word = spin.line->words[spin.word];
  --word.spinning;
  ++word.spins;
  word.cycles += timeline_.now().value - std::min(spin.began, timeline_.now().value);
  if (acquired || spin.is_last_atomic) {  // then it does something else
    ++word.acquired;
  } else {
    ++word.group;
  }
}

// Spins that ended between two stores to the word were ended by the first of the two.
void LineContention::write_word(Line& line, Addr address) {
  const auto found = line.words.find(address);
  if (found == line.words.end()) return;
  Word& word = found->second;
  word.ended += word.group;
  word.ended_beside += word.group * word.group;
  word.group = 0;
}

void LineContention::finish() {
  for (OfCore& core : of_cores_) end_spin(core, false);
  for (auto& [address, line] : lines_) {
    for (Use& use : line->users) {
      end_tenure(*line, use);
      use.is_known = false;
    }
    for (auto& [word, of] : line->words) write_word(*line, word);
  }
  std::erase_if(lines_,
                [](const auto& row) { return row.second->transfers == 0 && row.second->words.empty(); });
}

}  // namespace rubato::chip
