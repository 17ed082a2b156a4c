// The L1's slow side: the array behind the filter, replacement, and state changes by the protocol (C20).
// SPDX-License-Identifier: MIT
#include "chip/cache/l1_cache.hpp"

#include <algorithm>

#include "chip/cache/left_reservations.hpp"
#include "chip/stats/registry.hpp"

namespace rubato::chip {

L1Cache::L1Cache(Params params)
    : set_mask_(params.bytes / kLineBytes / params.ways - 1),
      ways_(params.ways),
      words_(params.bytes / kLineBytes),
      uses_of_(params.bytes / kLineBytes) {
  RUBATO_CHECK(((set_mask_ + 1) & set_mask_) == 0 && (set_mask_ + 1) * ways_ * kLineBytes == params.bytes,
               "an L1 has a power of two of sets");
}

bool L1Cache::hit_array(LineAddr line, bool write) {
  const std::uint32_t slot = find(line);
  return slot != kNoSlot && hit_at(slot, line, write);
}

bool L1Cache::hit_at(std::uint32_t slot, LineAddr line, bool write) {
  const LineState state = state_at(slot);
  if (write && !is_writable(state)) return false;
  if (!is_marked(slot, write)) return false;
  if (write && state == LineState::exclusive) {
    words_[slot] |= 3;
    ++moves.silent_upgrades;
  }
  touch(slot);
  Use& use = uses_of_[slot];
  const std::uint32_t recorded = task_ << 1 | (write ? 1 : 0);
  if (recorder_ != nullptr && !is_unchecked(use.mark) && use.recorded < recorded) {
    use.recorded = recorded;
    unsettle(slot, write);
    recorder_->on_first_use(line, write);
  }
  if (observer_ != nullptr) {
    observer_->on_hit(slot, line, write, state);
  } else {
    // The filter passes a store only if the array would, and if the store needs no recording.
    const bool may_write =
        state_at(slot) == LineState::modified && is_marked(slot, true) &&
        (recorder_ == nullptr || use.recorded == (task_ << 1 | 1) || is_unchecked(use.mark));
    filter_[line.value % kFilterEntries] = {tag_ | line.value << 1 | (may_write ? 1U : 0U), slot};
  }
  return true;
}

void L1Cache::find_victim(std::uint32_t set) const {
  // An empty slot's stamp is older than any other. No branch depends on a stamp: none could be predicted.
  const Use* const uses = &uses_of_[set];
  std::uint32_t oldest = 0;
  std::uint64_t stamp = uses[0].stamp;
  for (std::uint32_t way = 1; way < ways_; ++way) {
    const std::uint64_t other = uses[way].stamp;
    oldest = other < stamp ? way : oldest;
    stamp = other < stamp ? other : stamp;
  }
  victim_set_ = set;
  victim_ = set + oldest;
  victim_at_ = hits_ + uses_;
}

void L1Cache::fill(std::uint32_t slot, LineAddr line, LineState state) {
  RUBATO_DCHECK(slot / ways_ == set_of(line) / ways_ && state != LineState::invalid);
  if (state_at(slot) != LineState::invalid) invalidate(slot);
  words_[slot] = line.value << 2 | static_cast<std::uint64_t>(state);
  unmark(slot);
  use(slot);
}

void L1Cache::set_state(std::uint32_t slot, LineState state) {
  RUBATO_DCHECK(state_at(slot) != LineState::invalid && state != LineState::invalid);
  if (state < state_at(slot)) unmark(slot);
  words_[slot] = (words_[slot] & ~std::uint64_t{3}) | static_cast<std::uint64_t>(state);
  unfilter(line_at(slot));
}

void L1Cache::invalidate(std::uint32_t slot) {
  const LineAddr line = line_at(slot);
  RUBATO_DCHECK(state_at(slot) != LineState::invalid);
  moves.unused += words_[slot] >> 63;
  words_[slot] = 0;
  uses_of_[slot].stamp = 0;
  ++uses_;
  unmark(slot);
  unfilter(line);
  if (reserved_ == line && left_ != nullptr) left_->add(*this, line);
}

void L1Cache::observe(L1Observer* observer) {
  observer_ = observer;
  wipe_filter();
}

void L1Cache::wipe_filter() {
  for (FilterEntry& e : filter_) e.key = kNoKey;
}

void L1Cache::retag() {
  const std::uint64_t tag = tag_ >> kTagShift;
  if (tag == kLastTag) wipe_filter();  // entries of any tag may be left
  tag_ = tag == kLastTag ? 0 : (tag + 1) << kTagShift;
}

void L1Cache::begin_marks() {
  RUBATO_CHECK(!has_marks_);
  has_marks_ = true;
  for (std::uint32_t slot = 0; slot < slots(); ++slot) {
    unmark(slot);
    if (state_at(slot) != LineState::invalid) uses_of_[slot].settled = kForWrites;
  }
}

void L1Cache::clear_marks() {
  RUBATO_DCHECK(has_marks_);
  if (epoch_ == kLastEpoch) {
    for (Use& use : uses_of_)
      if (!is_unchecked(use.mark)) use.mark = kNoMark;
    epoch_ = kFirstEpoch - 1;
  }
  ++epoch_;
  retag();
}

void L1Cache::mark(LineAddr line, bool write) {
  const std::uint32_t slot = find_used(line);
  RUBATO_DCHECK(has_marks_);
  if (slot == kNoSlot) return;
  Use& use = uses_of_[slot];
  if (is_nonspeculative_) {
    if (write || use.settled == kUnsettled) use.settled = write ? kForWrites : kForReads;
    return;
  }
  unsettle(slot, write);
  // An earlier check for writes holds within its epoch only.
  const bool written = write || use.mark == (epoch_ << 1 | 1);
  use.mark = static_cast<Mark>(epoch_ << 1 | (written ? 1 : 0));
  use.recorded = std::max(use.recorded, task_ << 1 | (write ? 1 : 0));
}

// A speculative task uses the line. The settled checks are good for it, and from now on its own mark says for
// which tasks.
void L1Cache::unsettle(std::uint32_t slot, bool write) {
  Use& use = uses_of_[slot];
  if (use.settled == kUnsettled) return;
  const bool writes = use.settled == kForWrites || use.mark == (epoch_ << 1 | 1);
  use.mark = static_cast<Mark>(epoch_ << 1 | (writes ? 1 : 0));
  use.settled = write ? kUnsettled : kForReads;
}

void L1Cache::mark_unchecked(LineAddr line, Mark mark) {
  RUBATO_DCHECK(has_marks_);
  if (const std::uint32_t slot = find_used(line); slot != kNoSlot)
    uses_of_[slot].mark = mark, uses_of_[slot].settled = kUnsettled;
}

void L1Cache::forget_untracked() {
  if (!has_marks_) return;
  for (Use& use : uses_of_)
    if (is_unchecked(use.mark)) use.mark = kNoMark;
  retag();
}

void L1Cache::begin_task(L1Recorder* recorder) {
  RUBATO_DCHECK(has_marks_);
  recorder_ = recorder;
  is_nonspeculative_ = recorder == nullptr;
  if (task_ == kLastTask) {
    for (Use& use : uses_of_) use.recorded = 0;
    task_ = 0;
  }
  ++task_;
  retag();
}

void L1Cache::register_stats(StatRegistry& registry, const std::string& prefix) const {
  registry.counter(prefix + ".hits", "accesses", "accesses that this cache served alone", &hits_);
  registry.counter(prefix + ".misses", "accesses", "accesses that needed the tile's L2 or more", &misses_);
  registry.counter(prefix + ".uncounted", "accesses",
                   "accesses that this cache served alone and that are not counted as hits, such as spills",
                   &moves.uncounted);
  registry.counter(prefix + ".fills", "lines", "lines written into this cache", &moves.fills);
  registry.counter(prefix + ".lines_read", "lines", "modified lines that the tile's L2 took from this cache",
                   &moves.lines_read);
  registry.counter(prefix + ".probes", "accesses", "look-ups of this cache for the tile's L2", &moves.probes);
  registry.counter(prefix + ".silent_upgrades", "accesses",
                   "stores that made an exclusive line modified: no request was needed",
                   &moves.silent_upgrades);
}

}  // namespace rubato::chip
