// A core's first-level cache: one object for instructions, one for data (C20). It carries state, no data.
// The core asks hit() inline; whatever hit() refuses goes to MemorySystem::access(), and only the protocol
// fills, downgrades and invalidates.
//
//   filter   direct-mapped, before the array: (line, may write, slot); always a subset of the array's rights
//   array    set-associative, true LRU by use stamps; a word is line << 2 | LineState; word and
//            stamp of an empty slot are 0
//   slot     index into the array: set * ways + way
// Speculation (C15) will put a mark epoch beside each slot: a line whose mark is old is left out of the
// filter, so that hit() refuses it and the protocol checks; nothing on the fast path changes.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "chip/cache/line_state.hpp"
#include "chip/types.hpp"

namespace rubato::chip {

class StatRegistry;

/// Sees every L1 hit: the coherence checker (C21). With an observer the filter stays empty.
class L1Observer {
 public:
  virtual ~L1Observer() = default;
  virtual void on_hit(std::uint32_t slot, LineAddr line, bool write) = 0;
};

class L1Cache {
 public:
  /// Bytes and ways; both powers of two with at least one set (checked with the configuration).
  struct Params {
    std::uint64_t bytes;
    std::uint32_t ways;
  };
  explicit L1Cache(Params params);

  // ---- The core's side ----

  /// True if the access needs nothing but this L1: the line is here with the right it needs. Counts the hit
  /// and makes the line the most recently used; a write makes an exclusive line modified. False changes
  /// nothing: the access then goes to MemorySystem::access(). Costs about ten host instructions when the
  /// filter knows the line.
  bool hit(LineAddr line, bool write) {
    const FilterEntry& e = filter_[line.value % kFilterEntries];
    if ((e.key | (write ? 0U : 1U)) == (line.value << 1 | 1)) [[likely]] {
      touch(e.slot);
      return true;
    }
    return hit_array(line, write);
  }

  /// Load-reserved: remembers `line`, which must be here; loses it when the line leaves or another core
  /// writes it.
  void reserve(LineAddr line) { reserved_ = line; }
  /// Store-conditional: true if the reservation on `line` still stands. Ends the reservation either way.
  bool take_reservation(LineAddr line) {
    const bool stands = reserved_ == line;
    reserved_ = kNoLine;
    return stands;
  }
  bool has_reservation(LineAddr line) const { return reserved_ == line; }
  /// Ends a reservation: traps and thread switches do so.
  void clear_reservation() { reserved_ = kNoLine; }

  // ---- The protocol's side ----

  static constexpr std::uint32_t kNoSlot = ~0U;

  struct Victim {
    LineAddr line{};
    LineState state = LineState::invalid;  ///< invalid: the slot was empty
    std::uint32_t slot = 0;                ///< where the new line goes
  };

  std::uint32_t find(LineAddr line) const {
    const std::uint32_t base = set_of(line);
    for (std::uint32_t slot = base; slot < base + ways_; ++slot)
      if (words_[slot] >> 2 == line.value && (words_[slot] & 3) != 0) return slot;
    return kNoSlot;
  }
  LineState state(LineAddr line) const {
    const std::uint32_t slot = find(line);
    return slot == kNoSlot ? LineState::invalid : state_at(slot);
  }
  LineState state_at(std::uint32_t slot) const { return static_cast<LineState>(words_[slot] & 3); }
  LineAddr line_at(std::uint32_t slot) const { return LineAddr{words_[slot] >> 2}; }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(words_.size()); }

  /// The slot that a fill of `line`, which is not here, would take, and what it would evict. Changes nothing.
  Victim victim(LineAddr line) const;
  /// Puts `line` into the slot that victim() chose, as the most recently used.
  void fill(std::uint32_t slot, LineAddr line, LineState state);
  /// Gives the line in `slot` another valid state (upgrade, downgrade) without using it.
  void set_state(std::uint32_t slot, LineState state);
  /// Marks the line in `slot` as the most recently used, uncounted.
  void use(std::uint32_t slot) { stamps_[slot] = hits_ + ++uses_; }
  /// Drops the line in `slot` and a reservation on it.
  void invalidate(std::uint32_t slot);
  /// A hit of functional warming, known to be one: uncounted and unobserved.
  void warm_hit(LineAddr line, bool write) {
    const std::uint32_t slot = find(line);
    use(slot);
    if (write && state_at(slot) == LineState::exclusive) set_state(slot, LineState::modified);
  }
  /// An access that needed more than this L1.
  void count_miss() { ++misses_; }

  std::uint64_t hits() const { return hits_; }
  std::uint64_t misses() const { return misses_; }
  /// Registers `prefix`.hits and `prefix`.misses.
  void register_stats(StatRegistry& registry, const std::string& prefix) const;

  /// From now on every hit is shown to `observer`.
  void observe(L1Observer* observer);

 private:
  static constexpr std::uint32_t kFilterEntries = 64;
  static constexpr std::uint64_t kNoKey = ~std::uint64_t{0};
  static constexpr LineAddr kNoLine{~std::uint64_t{0}};  // lines are addresses >> 6: no line looks like this
  struct FilterEntry {
    std::uint64_t key = kNoKey;  // line << 1 | may write without a state change
    std::uint32_t slot = 0;
  };

  std::uint32_t set_of(LineAddr line) const {
    return static_cast<std::uint32_t>(line.value & set_mask_) * ways_;
  }
  // Stamps order uses: every hit raises hits_, every fill uses_, so the sum grows with each use.
  void touch(std::uint32_t slot) { stamps_[slot] = ++hits_ + uses_; }
  bool hit_array(LineAddr line, bool write);
  void unfilter(LineAddr line) {
    FilterEntry& e = filter_[line.value % kFilterEntries];
    if (e.key >> 1 == line.value) e.key = kNoKey;
  }

  std::uint64_t hits_ = 0, uses_ = 0, misses_ = 0;
  LineAddr reserved_ = kNoLine;
  std::uint64_t set_mask_;
  std::uint32_t ways_;
  L1Observer* observer_ = nullptr;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> stamps_;
  FilterEntry filter_[kFilterEntries];
};

}  // namespace rubato::chip
