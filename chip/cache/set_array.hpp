// The tags of a set-associative cache with true LRU replacement, and a payload beside each (L2, LLC slices).
// Tags, use order and payloads are separate arrays, and a tag is what the set does not say of a line, in 32
// bits: a lookup reads one host cache line, sixteen ways at a time.
//   slot    set << shift | way: names an entry until it is evicted; a set takes a power of two of slots, of
//           which those behind its ways stay empty. An empty slot has no payload: to set up a cache of a
//           gigabyte its tags are enough
// Sets need not be a power of two (a tile of three cores has 384 sets of L2). Lines are those of what a chip
// has: a tag is unique with four sets or more (the configuration sees to it), else of lines below 2^32.
// Invariant: in each set's use order the empty ways are behind the others.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "base/check.hpp"
#include "base/prefetch.hpp"
#include "chip/cache/host_memory.hpp"
#include "chip/cache/use_order.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

template <class Payload>
class SetArray {
 public:
  static constexpr std::uint32_t kNoSlot = ~0U;

  /// Host memory that an array takes, about.
  static constexpr std::size_t host_bytes(std::uint64_t bytes, std::uint32_t ways) {
    const std::uint64_t sets = bytes / kLineBytes / ways;
    return sets * (std::bit_ceil(ways) * (sizeof(Tag) + sizeof(Payload)) + UseOrder::host_bytes(ways));
  }

  /// bytes: a multiple of ways * 64; ways: 1 to 64. `memory` must outlive the array.
  SetArray(std::uint64_t bytes, std::uint32_t ways, std::pmr::memory_resource* memory)
      : ways_(ways),
        shift_(static_cast<std::uint32_t>(std::countr_zero(std::bit_ceil(ways)))),
        sets_(bytes / kLineBytes / ways),
        mask_((sets_ & (sets_ - 1)) == 0 ? sets_ - 1 : 0),
        tag_shift_(static_cast<std::uint32_t>(std::countr_zero(sets_))),
        tags_(sets_ << shift_, kEmpty, memory),
        order_(sets_, ways, memory),
        payloads_(sets_ << shift_, memory) {
    RUBATO_CHECK(ways >= 1 && sets_ >= 1 && sets_ * ways * kLineBytes == bytes,
                 "a cache is a whole number of sets");
  }

  std::uint32_t find(LineAddr line) const {
    // No early exit: where a line is cannot be predicted. Slots behind the set's ways are empty.
    const auto [base, tag] = place_of(line);
    const Tag* const tags = &tags_[base];
    if (shift_ < 2) {
      for (std::uint32_t way = 0; way < ways_; ++way)
        if (tags[way] == tag) return base + way;
      return kNoSlot;
    }
    const Four wanted = {tag, tag, tag, tag};
    Four number = {1, 2, 3, 4}, found = {};  // the lane that is equal has its way's number, from 1
    const auto look = [&](std::uint32_t way) {
      Four four;
      __builtin_memcpy(&four, tags + way, sizeof four);
      found |= std::bit_cast<Four>(four == wanted) & number;
      number += 4;
    };
    if (shift_ == 4) {
      look(0), look(4), look(8), look(12);
    } else if (shift_ == 3) {
      look(0), look(4);
    } else {
      for (std::uint32_t way = 0; way < 1U << shift_; way += 4) look(way);
    }
    const std::uint32_t way = found[0] | found[1] | found[2] | found[3];
    return way == 0 ? kNoSlot : base + way - 1;
  }
  /// The first slot of the set that `line` belongs to; the set's slots follow.
  std::uint32_t first_slot(LineAddr line) const { return place_of(line).base; }
  std::uint32_t slots_of_set() const { return 1U << shift_; }
  /// The slot for `line`, which is not here: an empty one or that of the set's least recently used line.
  std::uint32_t victim(LineAddr line) const {
    const std::uint32_t base = place_of(line).base;
    return base + order_.least_recent(base >> shift_);
  }
  /// Puts `line` into an empty slot of its set, as the most recently used.
  Payload& fill(std::uint32_t slot, LineAddr line) {
    const Place place = place_of(line);
    RUBATO_DCHECK(is_empty(slot) && slot - place.base < ways_);
    RUBATO_CHECK(place.tag != kEmpty && line_of(place.base >> shift_, place.tag) == line,
                 "a line's address is too long for a cache of so few sets");
    tags_[slot] = place.tag;
    use(slot);
    return payloads_[slot] = Payload{};
  }
  /// Software prefetch of the set's tags: a lookup of `line` follows soon.
  void prefetch(LineAddr line) const {
    const std::uint32_t base = place_of(line).base;
    rubato::prefetch(&tags_[base]);
    order_.prefetch(base >> shift_);
  }
  void prefetch_payload(std::uint32_t slot) const { rubato::prefetch(&payloads_[slot]); }
  void use(std::uint32_t slot) { order_.use(slot >> shift_, way_of(slot)); }
  void erase(std::uint32_t slot) {
    tags_[slot] = kEmpty;
    order_.retire(slot >> shift_, way_of(slot));
  }

  bool is_empty(std::uint32_t slot) const { return tags_[slot] == kEmpty; }
  /// Not of an empty slot.
  LineAddr line_at(std::uint32_t slot) const { return line_of(slot >> shift_, tags_[slot]); }
  /// Not of an empty slot.
  Payload& operator[](std::uint32_t slot) { return payloads_[slot]; }
  const Payload& operator[](std::uint32_t slot) const { return payloads_[slot]; }
  std::uint64_t sets() const { return sets_; }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(sets_ << shift_); }

 private:
  using Tag = std::uint32_t;
  using Four [[gnu::vector_size(16)]] = Tag;
  static constexpr Tag kEmpty = ~Tag{0};  // no line's: checked where one comes in
  struct Place {
    std::uint32_t base;  ///< first slot of the set
    Tag tag;             ///< line / sets
  };

  Place place_of(LineAddr line) const {
    if (mask_ != 0 || sets_ == 1)
      return {static_cast<std::uint32_t>((line.value & mask_) << shift_),
              static_cast<Tag>(line.value >> tag_shift_)};
    return {static_cast<std::uint32_t>(line.value % sets_ << shift_), static_cast<Tag>(line.value / sets_)};
  }
  LineAddr line_of(std::uint64_t set, Tag tag) const { return LineAddr{tag * sets_ + set}; }
  std::uint32_t way_of(std::uint32_t slot) const { return slot & ((1U << shift_) - 1); }

  std::uint32_t ways_, shift_;
  std::uint64_t sets_, mask_;
  std::uint32_t tag_shift_;  // if sets are a power of two
  std::pmr::vector<Tag> tags_;
  UseOrder order_;
  std::vector<Payload, ValuelessAllocator<Payload>> payloads_;  // of a line from its fill() on
};

}  // namespace rubato::chip
