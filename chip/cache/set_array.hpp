// The tags of a set-associative cache with true LRU replacement, and a payload beside each (L2, LLC slices).
// Tags, use order and payloads are separate arrays: a lookup reads the host cache lines of one set's tags
// only.
//   slot    set << shift | way: names an entry until it is evicted; a set takes a power of two of slots, of
//           which those behind its ways stay empty
// Sets need not be a power of two (a tile of three cores has 384 sets of L2).
// Invariant: in each set's use order the empty ways are behind the others.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "base/check.hpp"
#include "chip/cache/use_order.hpp"
#include "chip/types.hpp"

namespace rubato::chip {

template <class Payload>
class SetArray {
 public:
  static constexpr std::uint32_t kNoSlot = ~0U;

  /// Host memory that an array takes, about.
  static constexpr std::size_t host_bytes(std::uint64_t bytes, std::uint32_t ways) {
    const std::uint64_t sets = bytes / kLineBytes / ways;
    return sets *
           (std::bit_ceil(ways) * (sizeof(std::uint64_t) + sizeof(Payload)) + UseOrder::host_bytes(ways));
  }

  /// bytes: a multiple of ways * 64; ways: 1 to 64. `memory` must outlive the array.
  SetArray(std::uint64_t bytes, std::uint32_t ways, std::pmr::memory_resource* memory)
      : ways_(ways),
        shift_(static_cast<std::uint32_t>(std::countr_zero(std::bit_ceil(ways)))),
        sets_(bytes / kLineBytes / ways),
        mask_((sets_ & (sets_ - 1)) == 0 ? sets_ - 1 : 0),
        lines_(sets_ << shift_, kEmpty, memory),
        order_(sets_, ways, memory),
        payloads_(sets_ << shift_, memory) {
    RUBATO_CHECK(ways >= 1 && sets_ >= 1 && sets_ * ways * kLineBytes == bytes,
                 "a cache is a whole number of sets");
  }

  std::uint32_t find(LineAddr line) const {
    const std::uint32_t base = first_slot(line);
    std::uint32_t found = kNoSlot;  // no early exit: where a line is cannot be predicted
    for (std::uint32_t slot = base; slot < base + ways_; ++slot)
      found = lines_[slot] == line.value ? slot : found;
    return found;
  }
  /// Where `line`, which is not here, goes: an empty slot or that of the set's least recently used line.
  std::uint32_t victim(LineAddr line) const {
    const std::uint32_t base = first_slot(line);
    return base + order_.least_recent(base >> shift_);
  }
  /// Puts `line` into an empty slot of its set, as the most recently used.
  Payload& fill(std::uint32_t slot, LineAddr line) {
    RUBATO_DCHECK(is_empty(slot) && slot - first_slot(line) < ways_);
    lines_[slot] = line.value;
    use(slot);
    return payloads_[slot] = Payload{};
  }
  /// Asks the host for the set's tags: a lookup of `line` follows soon.
  void prefetch(LineAddr line) const {
    const std::uint64_t* const tags = &lines_[first_slot(line)];
    __builtin_prefetch(tags);
    __builtin_prefetch(tags + ways_ - 1);
    order_.prefetch(first_slot(line) >> shift_);
  }
  void prefetch_payload(std::uint32_t slot) const { __builtin_prefetch(&payloads_[slot]); }
  void use(std::uint32_t slot) { order_.use(slot >> shift_, way_of(slot)); }
  void erase(std::uint32_t slot) {
    lines_[slot] = kEmpty;
    order_.retire(slot >> shift_, way_of(slot));
  }

  bool is_empty(std::uint32_t slot) const { return lines_[slot] == kEmpty; }
  LineAddr line_at(std::uint32_t slot) const { return LineAddr{lines_[slot]}; }
  Payload& operator[](std::uint32_t slot) { return payloads_[slot]; }
  const Payload& operator[](std::uint32_t slot) const { return payloads_[slot]; }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(lines_.size()); }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // no line: lines are addresses >> 6

  std::uint32_t first_slot(LineAddr line) const {
    const std::uint64_t set = mask_ != 0 || sets_ == 1 ? line.value & mask_ : line.value % sets_;
    return static_cast<std::uint32_t>(set << shift_);
  }
  std::uint32_t way_of(std::uint32_t slot) const { return slot & ((1U << shift_) - 1); }

  std::uint32_t ways_, shift_;
  std::uint64_t sets_, mask_;
  std::pmr::vector<std::uint64_t> lines_;
  UseOrder order_;
  std::pmr::vector<Payload> payloads_;
};

}  // namespace rubato::chip
