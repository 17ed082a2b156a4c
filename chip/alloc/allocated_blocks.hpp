// Map of guest memory to the blocks that the program's allocator has handed out.
//
//   small block   at most a segment long: an entry of the segment in which it begins, sorted by address, of
//                 twelve bytes, since programs have millions of them
//   large block   any other, in a map of its own
//
// Frees are not looked at. A freed block stays until memory is handed out there again: a core that still uses
// it uses that block. Invariant: blocks do not overlap, and a new block ends those under it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// A block, and the number of the place that asked for it.
struct AllocatedBlock {
  Addr begin = 0;
  std::uint64_t bytes = 0;
  std::uint32_t site = 0;
  Addr end() const { return begin + bytes; }
  bool operator==(const AllocatedBlock&) const = default;
};

class AllocatedBlocks {
 public:
  static constexpr std::uint64_t kSegmentBytes = std::uint64_t{16} << 10;

  /// `block` is not empty, and does not wrap around.
  void add(const AllocatedBlock& block);
  /// The block that `address` is in.
  std::optional<AllocatedBlock> at(Addr address) const;
  /// The blocks that have bytes of [begin, end), by address.
  std::vector<AllocatedBlock> in(Addr begin, Addr end) const;
  std::size_t size() const { return small_count_ + large_.size(); }

 private:
  struct Small {
    std::uint32_t offset, bytes, site;  // offset: in the segment
  };
  using Segment = std::vector<Small>;
  using Segments = std::map<std::uint64_t, Segment>;

  static AllocatedBlock block_of(std::uint64_t segment, const Small& small) {
    return {segment * kSegmentBytes + small.offset, small.bytes, small.site};
  }
  /// The entries of the segment that have bytes of [begin, end): first and behind the last.
  static std::pair<std::size_t, std::size_t> range(std::uint64_t number, const Segment& segment, Addr begin,
                                                   Addr end);
  void remove(Addr begin, Addr end);

  Segments segments_;
  std::map<Addr, AllocatedBlock> large_;  // by their first address
  std::size_t small_count_ = 0;
};

}  // namespace rubato::chip
