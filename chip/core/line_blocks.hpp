// The blocks of the heap that contended lines are parts of. Memory is handed out again while a line is
// contended, to blocks of other sites: a line therefore has eras, each with the blocks of its time and what
// the line cost meanwhile. Bytes are named by the blocks of the dearest era that has any there.
//
// Invariant: memory is bounded, by the lines that LineContention keeps and a few eras each.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "chip/alloc/allocated_blocks.hpp"
#include "chip/alloc/allocation_sites.hpp"
#include "chip/core/line_contention.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class LineBlocks final : public AllocationSites::Listener {
 public:
  /// Both outlive it. It listens to `sites`.
  LineBlocks(const LineContention& contention, AllocationSites& sites);
  LineBlocks(const LineBlocks&) = delete;  // the sites know it
  LineBlocks& operator=(const LineBlocks&) = delete;

  void before_block(const AllocatedBlock& block) override;

  /// The blocks that the bytes of `line` were in, a bit a byte in `bytes`, by address; all of one era.
  std::vector<AllocatedBlock> blocks_of(LineAddr line, std::uint64_t bytes) const;
  const AllocationSites& sites() const { return sites_; }

 private:
  static constexpr std::size_t kMostEras = 8;

  struct Era {
    std::vector<AllocatedBlock> blocks;
    std::uint64_t cost = 0;
  };
  struct Past {
    std::uint64_t counted = 0;  // of the line's cost: that of the eras
    std::vector<Era> eras;
  };

  static std::uint64_t cost_of(const LineContention::Line& line);
  std::vector<AllocatedBlock> blocks_in(LineAddr line) const {
    return sites_.blocks().in(addr_of(line), addr_of(line) + kLineBytes);
  }
  /// The cost of `line` since the last era: that of `blocks`.
  static void end_era(Past& past, std::vector<AllocatedBlock> blocks, std::uint64_t cost);
  void forget_lines();

  const LineContention& contention_;
  const AllocationSites& sites_;
  std::map<LineAddr, Past> past_;
};

}  // namespace rubato::chip
