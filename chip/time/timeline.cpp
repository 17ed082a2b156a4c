// SPDX-License-Identifier: MIT
#include "chip/time/timeline.hpp"

#include <algorithm>
#include <bit>

#include "base/prefetch.hpp"

namespace rubato::chip {

// Invariants: entries in ring_ are due in [now_, now_ + kRing); all in far_ at or after now_ + kRing, except
// between a jump of now_ and admit_far(). occupied_ has a bit for each bucket that is not empty.

Cycle Timeline::next_near() const {
  if (near_ == 0) return kNever;
  const std::uint64_t start = now_.value % kRing;
  // Walks the rest of the bitmap once, ending with the word of now_, whose earlier bits wrap around.
  for (std::uint64_t i = 1; i <= kRing / 64; ++i) {
    const std::uint64_t word_index = (start / 64 + i) % (kRing / 64);
    if (const std::uint64_t word = occupied_[word_index]; word != 0) {
      const std::uint64_t slot = word_index * 64 + static_cast<std::uint64_t>(std::countr_zero(word));
      return now_ + (slot + kRing - start) % kRing;
    }
  }
  return kNever;
}

Cycle Timeline::next_later() const {
  const Cycle near = next_near();
  return far_.empty() ? near : earlier(near, far_.top().at);
}

inline void Timeline::push(std::uint64_t slot, const Entry& entry) {
  const std::uint32_t number = free_;
  Node& node = nodes_[number];
  free_ = node.next;
  node = {entry, kNone};
  Bucket& bucket = ring_[slot];
  // Whether the bucket was empty is as good as random, so nothing here branches on it.
  nodes_[bucket.last].next = number;
  bucket.first = bucket.first == kNone ? number : bucket.first;
  bucket.last = number;
  occupied_[slot / 64] |= std::uint64_t{1} << slot % 64;
  ++near_;
  if (free_ == kNone) grow();  // a tail call, so that no register is saved across it
}

void Timeline::schedule(Cycle at, EventHandler* handler, std::uint32_t kind, std::uint64_t payload) {
  RUBATO_DCHECK(at >= now_, "scheduled in the past");
  if (at < now_ + kRing) {
    push(at.value % kRing, Entry{handler, payload, kind});
  } else {
    schedule_far(at, Entry{handler, payload, kind});
  }
}

[[gnu::noinline]] void Timeline::schedule_far(Cycle at, const Entry& entry) {
  far_.push(FarEntry{at, sequence_++, entry});
}

[[gnu::noinline]] void Timeline::grow() {
  const auto first = static_cast<std::uint32_t>(nodes_.size());
  nodes_.resize(std::max<std::size_t>(64, 2 * nodes_.size()));
  for (auto number = static_cast<std::uint32_t>(nodes_.size()); number-- > first;) {
    nodes_[number].next = free_;
    free_ = number;
  }
}

[[gnu::noinline]] void Timeline::admit_far(Cycle up_to) {
  while (!far_.empty() && far_.top().at < up_to) {
    const FarEntry& top = far_.top();
    push(top.at.value % kRing, top.entry);
    far_.pop();
  }
}

bool Timeline::step() {
  const Cycle at = next();
  if (at >= pause_) return false;
  now_ = at;
  if (!far_.empty()) admit_far(now_ + kRing);
  const std::uint64_t slot = now_.value % kRing;
  Bucket& bucket = ring_[slot];
  const std::uint32_t number = bucket.first;
  Node& node = nodes_[number];
  const Entry entry = node.entry;
  const std::uint32_t is_last = node.next == kNone ? 1 : 0;
  bucket.first = node.next;
  bucket.last &= is_last - 1;  // or kNobody, which is 0
  std::uint64_t& word = occupied_[slot / 64];
  word &= ~(std::uint64_t{is_last} << slot % 64);
  // Hundreds of handlers take turns, each of them gone from the host's nearest cache when its turn comes
  // again: the next one is asked for now, if it is known.
  if (const std::uint64_t rest = word >> slot % 64; rest != 0) {
    const std::uint32_t next = ring_[slot + static_cast<std::uint64_t>(std::countr_zero(rest))].first;
    prefetch<EventHandler::kFirstUsed>(nodes_[next].entry.handler);
  }
  node.next = free_;
  free_ = number;
  --near_;
  entry.handler->on_event(now_, entry.kind, entry.payload);
  return true;
}

}  // namespace rubato::chip
