// SPDX-License-Identifier: MIT
#include "chip/time/timeline.hpp"

#include <bit>

namespace rubato::chip {

// Invariants: entries in ring_ are due in [now_, now_ + kRing); all in far_ at or after now_ + kRing, except
// between a jump of now_ and admit_far(). The bucket of now_ is consumed from cursor_.

Cycle Timeline::next_near() const {
  if (near_ == 0) return kNever;
  const std::uint64_t start = now_.value % kRing;
  // Walks at most the whole bitmap once, beginning with the word of now_, whose earlier bits wrap around.
  for (std::uint64_t i = 0; i <= kRing / 64; ++i) {
    const std::uint64_t word_index = (start / 64 + i) % (kRing / 64);
    std::uint64_t word = occupied_[word_index];
    if (i == 0) word &= ~std::uint64_t{0} << (start % 64);
    if (i == kRing / 64) word &= (std::uint64_t{1} << (start % 64)) - 1;
    if (word != 0) {
      const std::uint64_t slot = word_index * 64 + static_cast<std::uint64_t>(std::countr_zero(word));
      return now_ + (slot + kRing - start) % kRing;
    }
  }
  return kNever;
}

Cycle Timeline::next() const {
  const Cycle near = next_near();
  return far_.empty() ? near : earlier(near, far_.top().at);
}

void Timeline::admit_far(Cycle up_to) {
  while (!far_.empty() && far_.top().at < up_to) {
    const FarEntry& top = far_.top();
    const std::uint64_t slot = top.at.value % kRing;
    ring_[slot].push_back(top.entry);
    occupied_[slot / 64] |= std::uint64_t{1} << (slot % 64);
    ++near_;
    far_.pop();
  }
}

bool Timeline::step() {
  const Cycle at = next();
  if (at == kNever) return false;
  if (at != now_) {
    now_ = at;
    cursor_ = 0;
    admit_far(now_ + kRing);
  }
  const std::uint64_t slot = now_.value % kRing;
  auto& bucket = ring_[slot];
  const Entry entry = bucket[cursor_++];
  --near_;
  if (cursor_ == bucket.size()) {
    bucket.clear();
    cursor_ = 0;
    occupied_[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
  }
  entry.handler->on_event(now_, entry.kind, entry.payload);
  return true;
}

}  // namespace rubato::chip
