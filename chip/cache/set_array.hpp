// The tags of a set-associative cache with true LRU replacement, and a payload beside each (L2, LLC slices).
// Tags, use stamps and payloads are separate arrays: a lookup reads the host cache lines of one set's tags
// only.
//   slot    set * ways + way: names an entry until it is evicted
// Sets need not be a power of two (a tile of three cores has 384 sets of L2).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "base/check.hpp"
#include "chip/types.hpp"

namespace rubato::chip {

template <class Payload>
class SetArray {
 public:
  static constexpr std::uint32_t kNoSlot = ~0U;

  /// Host memory a line of cache takes.
  static constexpr std::size_t kHostBytes = 2 * sizeof(std::uint64_t) + sizeof(Payload);

  /// bytes: a multiple of ways * 64. `memory` must outlive the array.
  SetArray(std::uint64_t bytes, std::uint32_t ways, std::pmr::memory_resource* memory)
      : ways_(ways),
        sets_(bytes / kLineBytes / ways),
        mask_((sets_ & (sets_ - 1)) == 0 ? sets_ - 1 : 0),
        lines_(sets_ * ways, kEmpty, memory),
        stamps_(sets_ * ways, memory),
        payloads_(sets_ * ways, memory) {
    RUBATO_CHECK(ways >= 1 && sets_ >= 1 && sets_ * ways * kLineBytes == bytes,
                 "a cache is a whole number of sets");
  }

  std::uint32_t find(LineAddr line) const {
    const std::uint32_t base = first_slot(line);
    for (std::uint32_t slot = base; slot < base + ways_; ++slot)
      if (lines_[slot] == line.value) return slot;
    return kNoSlot;
  }
  /// Where `line`, which is not here, goes: an empty slot or that of the set's least recently used line.
  std::uint32_t victim(LineAddr line) const {
    const std::uint32_t base = first_slot(line);
    std::uint32_t oldest = base;
    for (std::uint32_t slot = base; slot < base + ways_; ++slot) {
      if (lines_[slot] == kEmpty) return slot;
      if (stamps_[slot] < stamps_[oldest]) oldest = slot;
    }
    return oldest;
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
  }
  void use(std::uint32_t slot) { stamps_[slot] = ++uses_; }
  void erase(std::uint32_t slot) { lines_[slot] = kEmpty; }

  bool is_empty(std::uint32_t slot) const { return lines_[slot] == kEmpty; }
  LineAddr line_at(std::uint32_t slot) const { return LineAddr{lines_[slot]}; }
  Payload& operator[](std::uint32_t slot) { return payloads_[slot]; }
  const Payload& operator[](std::uint32_t slot) const { return payloads_[slot]; }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(lines_.size()); }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // no line: lines are addresses >> 6

  std::uint32_t first_slot(LineAddr line) const {
    const std::uint64_t set = mask_ != 0 || sets_ == 1 ? line.value & mask_ : line.value % sets_;
    return static_cast<std::uint32_t>(set) * ways_;
  }

  std::uint32_t ways_;
  std::uint64_t sets_, mask_;
  std::uint64_t uses_ = 0;
  std::pmr::vector<std::uint64_t> lines_;
  std::pmr::vector<std::uint64_t> stamps_;
  std::pmr::vector<Payload> payloads_;
};

}  // namespace rubato::chip
