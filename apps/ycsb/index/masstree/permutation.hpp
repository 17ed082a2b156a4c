// Order of a border node's entries in one word (Mao, Kohler, Morris, EuroSys 2012, Sec. 4.6.2): their number,
// then for each position the slot where the entry lies. One store publishes an insertion or a removal, and
// entries never move. Positions behind the number hold the free slots.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>

namespace rubato::apps::ycsb::index::masstree {

/// @tparam width  number of slots, at most 15
template <unsigned width>
class Permutation {
  static_assert(width >= 1 && width <= 15);

 public:
  /// Nothing but free slots.
  static constexpr Permutation empty() { return first(0); }
  /// Slots 0 to `count` - 1, in this order.
  static constexpr Permutation first(unsigned count) {
    std::uint64_t word = count;
    for (unsigned i = 0; i < width; ++i) word |= std::uint64_t{i} << shift_of(i);
    return Permutation(word);
  }
  explicit constexpr Permutation(std::uint64_t word) : word_(word) {}

  std::uint64_t word() const { return word_; }
  unsigned count() const { return static_cast<unsigned>(word_ & kNibble); }
  unsigned slot(unsigned position) const {
    return static_cast<unsigned>(word_ >> shift_of(position) & kNibble);
  }
  /// Whether an entry lies in the slot. The slot is somewhere in the word: its position is found by the
  /// lowest nibble that is zero after an exclusive or.
  bool uses(unsigned slot) const {
    constexpr std::uint64_t kOnes = 0x1111'1111'1111'1111u, kTops = kOnes << 3;
    const std::uint64_t zero_there = word_ >> shift_of(0) ^ kOnes * slot;
    const std::uint64_t found = (zero_there - kOnes) & ~zero_there & kTops;
    return static_cast<unsigned>(std::countr_zero(found)) / 4 < count();
  }
  /// The slot that insert() will take. count() < width.
  unsigned free_slot() const { return slot(count()); }

  /// With the first free slot at `position`.
  Permutation with_inserted(unsigned position) const {
    return moved(count(), position).with_count(count() + 1);
  }
  /// Without the entry at `position`. Its slot becomes the last free one, so that it is used again late.
  Permutation with_removed(unsigned position) const {
    return moved(position, width - 1).with_count(count() - 1);
  }
  /// The first `count` entries only.
  Permutation with_count(unsigned count) const { return Permutation((word_ & ~kNibble) | count); }

 private:
  static constexpr std::uint64_t kNibble = 15;
  static constexpr unsigned shift_of(unsigned position) { return 4 + 4 * position; }

  /// With the slot at `from` moved to `to`, those between one step towards `from`.
  Permutation moved(unsigned from, unsigned to) const {
    std::uint64_t word = word_;
    const auto put = [&](unsigned position, unsigned slot) {
      word = (word & ~(kNibble << shift_of(position))) | std::uint64_t{slot} << shift_of(position);
    };
    const unsigned slot_moved = slot(from);
    for (unsigned i = from; i < to; ++i) put(i, slot(i + 1));
    for (unsigned i = from; i > to; --i) put(i, slot(i - 1));
    put(to, slot_moved);
    return Permutation(word);
  }

  std::uint64_t word_;
};

}  // namespace rubato::apps::ycsb::index::masstree
