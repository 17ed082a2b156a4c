// A tile's private caches as one holder of copies: its L2, inclusive of the L1s of its cores, and the record
// of which L1s hold a line and which has it exclusively (C20). No action here uses the network; the protocol
// adds time.
//
//   L1 index     2 * core within the tile, + 1 for data
//   exclusive    (K20, of tiles of one core) the L2 holds only what no L1 holds: the array has further ways
//   for
//                records of the lines in L1s, and a line that leaves its last L1 moves down
//   owner        the L1 that holds the line exclusive or modified: then no other L1 of the tile holds it
//   state        the tile's right to the line; modified: newer than the LLC. An exclusive line that its owner
//                has silently modified becomes modified when the owner is asked.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/prefetch.hpp"
#include "chip/cache/l1_cache.hpp"
#include "chip/cache/set_array.hpp"
#include "chip/coherence/array_accesses.hpp"
#include "chip/coherence/versions.hpp"
#include "chip/coherence/warming.hpp"
#include "chip/vocabulary/virtual_time.hpp"

namespace rubato::chip {

struct L2Line {
  Cycle ready{};  ///< when the line is in the L2: a later access need not wait, an earlier one does; of an
                  ///< exclusive L2: the turn in which it moved down
  std::uint16_t copies = 0;  ///< bit i: L1 i holds the line
  std::uint8_t owner = 0;    ///< L1 index + 1; 0: none
  LineState state = LineState::invalid;
  std::uint32_t home_entry = 0;  ///< of the line in its home's slice: it stays there while this L2 holds it
  VirtualTime canary{};          ///< see chip/speculation/conflict_check.hpp
};

struct L2Counters {
  std::uint64_t hits = 0, misses = 0, upgrades = 0, other_l1 = 0, evictions = 0, write_backs = 0,
                invalidations = 0, forwards = 0;
  std::uint64_t hits_in[4] = {};  ///< by the state of the tile's line
};

class TileCaches {
 public:
  struct Params {
    std::uint64_t l2_bytes;
    std::uint32_t l2_ways;
    std::span<L1Cache> l1s;          ///< of the tile's cores, instruction before data
    std::uint32_t first_l1_version;  ///< number of l1s[0] in `versions`; the others follow
    Versions* versions;
    std::pmr::memory_resource* memory;  ///< host memory of the L2's tags
    const Warming* warming;
    std::uint32_t exclusive_ways = 0;  ///< of an exclusive L2: its own, of l2_ways
  };
  explicit TileCaches(Params params)
      : array_(params.l2_bytes, params.l2_ways, params.memory),
        l1s_(params.l1s),
        versions_(params.versions),
        exclusive_ways_(params.exclusive_ways),
        warming_(params.warming),
        first_l1_version_(params.first_l1_version),
        version_(params.versions->add_cache(array_.slots())) {
    for (const L1Cache& l1 : l1s_) {
      first_behind_.push_back(static_cast<std::uint32_t>(behind_.size()));
      behind_.resize(behind_.size() + l1.slots());
    }
  }

  static constexpr std::uint32_t kNoSlot = SetArray<L2Line>::kNoSlot;
  static constexpr std::uint32_t kNoL1 = ~0U;

  SetArray<L2Line>& array() { return array_; }
  const SetArray<L2Line>& array() const { return array_; }
  std::span<L1Cache> l1s() const { return l1s_; }
  /// See MemoryHierarchy.
  void set_program(std::uint32_t program) {
    for (L1Cache& l1 : l1s_) l1.set_program(program);
  }
  Versions::Place place(std::uint32_t slot) const { return {version_, slot}; }
  Versions::Place l1_place(std::uint32_t l1, std::uint32_t slot) const {
    return {first_l1_version_ + l1, slot};
  }

  /// Takes the line from every L1 but `keeper`; modified data comes to the L2. True if any L1 was asked.
  bool invalidate_l1s(std::uint32_t slot, std::uint32_t keeper = kNoL1);
  /// Takes every line from L1 `l1`; modified data comes to the L2.
  void empty_l1(std::uint32_t l1);
  /// Leaves the owner, if there is one, a shared copy; modified data comes to the L2. True if there was one.
  bool downgrade_owner(std::uint32_t slot);
  bool is_exclusive() const { return exclusive_ways_ != 0; }
  /// The slot that `line` takes, as the array's victim. In an exclusive L2 the victim is a line that no L1
  /// holds.
  std::uint32_t victim(LineAddr line) const {
    const std::uint32_t slot = array_.victim(line);
    return !is_exclusive() || array_.is_empty(slot) ? slot : oldest(line).slot;
  }
  /// The line to evict from `line`'s set of an exclusive L2 if it has more lines than ways; else kNoSlot.
  std::uint32_t overflow(LineAddr line) const {
    const Oldest found = oldest(line);
    return found.lines > exclusive_ways_ ? found.slot : kNoSlot;
  }
  /// Drops the line from the L2; no L1 may hold it.
  void erase(std::uint32_t slot) { array_.erase(slot); }

  /// Puts the L2's line into L1 `l1`, which holds it with less right in `l1_slot` or not at all (kNoSlot);
  /// then evicts what is in its way. True if the victim was modified and was written to the L2.
  bool fill_l1(std::uint32_t l1, std::uint32_t l1_slot, std::uint32_t slot, LineState state);

  /// Asks the host for what a miss of L1 `l1` looks at: the L2's set, and where the L1's lines are in the L2.
  void prefetch(std::uint32_t l1, LineAddr line) const {
    array_.prefetch(line);
    rubato::prefetch(&behind_[first_behind_[l1] + l1s_[l1].first_slot(line)]);
  }
  /// Asks it for the L2's record of the line that `line` will evict from L1 `l1`.
  void prefetch_victim(std::uint32_t l1, LineAddr line) const {
    if constexpr (!kHostHints) return;
    const L1Cache::Victim victim = l1s_[l1].victim(line);
    if (victim.state != LineState::invalid) array_.prefetch_payload(behind_[first_behind_[l1] + victim.slot]);
  }

  L2Counters counters;
  ArrayAccesses accesses;

 private:
  void count(std::uint64_t& counter) const { warming_->count(counter); }
  void merge(std::uint32_t l1, std::uint32_t l1_slot, std::uint32_t slot) {
    if (l1s_[l1].state_at(l1_slot) != LineState::modified) return;
    count(l1s_[l1].moves.lines_read);
    count(accesses.writes);
    array_[slot].state = LineState::modified;
    versions_->copy(l1_place(l1, l1_slot), place(slot));
  }

  struct Oldest {
    std::uint32_t slot = kNoSlot, lines = 0;
  };
  /// The number of lines in a set of an exclusive L2 that no L1 holds, and the one that moved down first.
  Oldest oldest(LineAddr line) const;

  SetArray<L2Line> array_;
  std::span<L1Cache> l1s_;
  Versions* versions_;
  std::uint32_t exclusive_ways_;
  const Warming* warming_;
  std::uint64_t turn_ = 0;  // of an exclusive L2: lines that have moved down
  std::uint32_t first_l1_version_, version_;
  std::vector<std::uint32_t> first_behind_;  // by L1
  std::vector<std::uint32_t> behind_;        // the L2's slot of the line in an L1's slot
};

}  // namespace rubato::chip
