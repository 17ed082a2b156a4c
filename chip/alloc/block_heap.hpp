// The blocks of the ideal allocator's pools: size classes, addresses and owners. Knows neither calls nor
// tasks.
//
//   pool    one a core: a block always returns to the pool it came from, and the block freed last is handed
//           out first
//   small   up to kLargestSmall bytes: cut from spans of one class and pool; 16 and 32 bytes, then multiples
//           of a line, so that blocks share a line only below 64 bytes
//   large   a range of whole pages of its own
//
// Guest memory is mapped as pools grow and stays mapped: anonymous ranges like any other of the guest's.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/size_classes.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class BlockHeap {
 public:
  static constexpr std::uint64_t kAlignment = 16;
  static constexpr std::uint64_t kSpanBytes = std::uint64_t{64} << 10;
  static constexpr std::uint64_t kLargestSmall = kLargestSmallBlock;

  /// A block's memory reads as zero if it is fresh: it has never been allocated before.
  struct Block {
    Addr address = 0;  ///< 0: the guest's address space is full
    bool is_fresh = false;
  };

  /// Blocks lie in free ranges of [lowest, limit) of `memory`, which outlives the heap.
  BlockHeap(AddressSpace& memory, std::uint32_t pools, Addr lowest, Addr limit);

  /// A block of at least `bytes`, aligned to `alignment` (a power of two) and to kAlignment.
  Block take(std::uint32_t pool, std::uint64_t bytes, std::uint64_t alignment = kAlignment);
  /// The block may be handed out again. It is in use (or was retired).
  void give_back(Addr address);
  /// The block is no longer in use, but may not be handed out before give_back().
  void retire(Addr address);

  enum class State : std::uint8_t { none, in_use, free };
  /// `none`: no block that was ever handed out starts there.
  State state(Addr address) const;
  /// The bytes of a block that its user may touch.
  std::uint64_t size(Addr address) const;

  /// The size that a request is rounded up to.
  static std::uint64_t rounded(std::uint64_t bytes);

 private:
  struct Span {
    Addr base = 0;
    std::uint32_t pool = 0;
    std::uint32_t size_class = 0;
    std::uint32_t used = 0;  ///< blocks cut off so far
    std::vector<State> states;
  };
  struct Large {
    std::uint64_t bytes = 0;
    std::uint32_t pool = 0;
    State state = State::in_use;
  };
  struct Pool {
    std::array<std::vector<Addr>, kSizeClasses> free;
    std::array<Span*, kSizeClasses> growing{};  ///< has blocks that were never handed out
    std::map<std::uint64_t, std::vector<Addr>> free_large;
  };

  Block take_small(std::uint32_t pool, unsigned size_class);
  Block take_large(std::uint32_t pool, std::uint64_t bytes, std::uint64_t alignment);
  /// Maps a range; 0 if there is none.
  Addr map(std::uint64_t bytes, std::uint64_t alignment);
  /// The state of the block at `address`; null if no block was ever there.
  State* find(Addr address);
  const State* find(Addr address) const { return const_cast<BlockHeap*>(this)->find(address); }

  AddressSpace& memory_;
  Addr lowest_, limit_;
  std::vector<Pool> pools_;
  std::unordered_map<Addr, std::unique_ptr<Span>> spans_;  // by base; never iterated
  std::unordered_map<Addr, Large> large_;                  // never iterated
};

}  // namespace rubato::chip
