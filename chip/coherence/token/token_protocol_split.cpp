// Moves of the split of a home's storage between directory and filter while the home goes on (K57, K58). The
// home's measurements decide on a move (K59). A move waits for no request and delays none: its steps are
// events that take idle slots of the storage's port (K54).
// SPDX-License-Identifier: MIT
#include "base/check.hpp"
#include "chip/coherence/token/token_protocol.hpp"

namespace rubato::chip {

namespace {
constexpr Latency kFlushTakes = 64;  // after which is looked whether it is over
}  // namespace

void TokenProtocol::set_directory_ways(TileId t, std::uint32_t ways) {
  MovingSplit& split = *homes_[t.value].split;
  RUBATO_CHECK(ways >= split.policy.params().least && ways <= split.policy.params().most);
  split.target = ways;
  if (std::exchange(split.is_scheduled, true)) return;
  timeline_->schedule(timeline_->now(), this, kSplitMoves, t.value);
}

/// A step of a move: a bucket of the sub-table that leaves, or a whole way of the directory.
void TokenProtocol::on_split_moves(TileId t, Cycle at) {
  TokenHome& home = homes_[t.value];
  MovingSplit& split = *home.split;
  Latency takes = 1;
  if (home.flushing != 0) {
    takes = kFlushTakes;
  } else if (split.filter->is_leaving()) {
    takes += split.filter->move_bucket();
    if (!split.filter->is_leaving()) resize_directory(t, home.directory.ways() + 1);
  } else if (home.directory.ways() < split.target) {
    split.filter->begin_leaving();
  } else if (home.directory.ways() > split.target) {
    resize_directory(t, home.directory.ways() - 1);
    split.filter->add_sub_table();
  } else {
    split.is_scheduled = false;
    return;
  }
  timeline_->schedule(at + takes, this, kSplitMoves, t.value);
}

/// The last way comes, empty, or goes. A line in a transaction keeps its entry until that has closed, and
/// finds it another place then.
void TokenProtocol::resize_directory(TileId t, std::uint32_t ways) {
  TokenHome& home = homes_[t.value];
  ++home.split->ways_moved;
  home.directory.resize(ways, [&](LineAddr line, std::uint32_t slot) {
    HomeRecord& record = *home.find(line);
    record.entry_slot = slot;
    if (slot != HomeRecord::kNoSlot) return;
    count(home.entries.evictions);
    if (record.line.phase == HomeLine::Phase::idle) drop_entry(home, line, record);
  });
  go_on(t);
}

void TokenProtocol::note_request(TileId t, LineAddr line, const HomeRecord& record, bool write) {
  TokenHome& home = homes_[t.value];
  MovingSplit& split = *home.split;
  const std::uint32_t in_llc = record.line.llc.count;
  split.on_request(home.frame.of(line), write ? in_llc != all_ : in_llc == 0);
  if (!split.is_epoch_over()) return;
  const std::uint32_t ways = split.end_epoch(home.lines_out);
  if (ways == split.target) return;
  ++split.moves;
  set_directory_ways(t, ways);
}

void TokenProtocol::note_outcome(TokenHome& home, LineAddr line, const HomeRecord& record,
                                 const HomeOutcome& out) {
  MovingSplit& split = *home.split;
  if (out.is_rebuilt && out.wants_entry) split.shadow.enter(home.frame.of(line));
  if (record.line.llc.count == all_ || out.filter == HomeOutcome::Filter::erase)
    split.shadow.erase(home.frame.of(line));
  for (std::uint32_t i = 0; i < out.count; ++i)
    if (out.sends[i].kind == TokenMessage::Kind::memory_read) ++split.epoch.memory_reads;
}

}  // namespace rubato::chip
