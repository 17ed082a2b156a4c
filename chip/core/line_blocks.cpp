// SPDX-License-Identifier: MIT
#include "chip/core/line_blocks.hpp"

#include <algorithm>
#include <utility>

namespace rubato::chip {

LineBlocks::LineBlocks(const LineContention& contention, AllocationSites& sites)
    : contention_(contention), sites_(sites) {
  sites.listen(this);
}

std::uint64_t LineBlocks::cost_of(const LineContention::Line& line) {
  std::uint64_t spun = 0;
  for (const auto& [address, word] : line.words) spun += word.cycles;
  return std::max(line.cycles, spun);
}

void LineBlocks::before_block(const AllocatedBlock& block) {
  const auto& lines = contention_.lines();
  if (lines.empty()) return;
  auto at = lines.lower_bound(line_of(block.begin));
  if (at == lines.end() || at->first > line_of(block.end() - 1)) return;
  // Nearly always: a place that allocates in turn gets what it has freed.
  if (sites_.blocks().at(block.begin) == block) return;
  for (; at != lines.end() && at->first <= line_of(block.end() - 1); ++at)
    end_era(past_[at->first], blocks_in(at->first), cost_of(*at->second));
  if (past_.size() > 2 * LineContention::kMostLines) forget_lines();
}

void LineBlocks::end_era(Past& past, std::vector<AllocatedBlock> blocks, std::uint64_t cost) {
  // A line that was forgotten counts from 0 again.
  const std::uint64_t since = cost - std::min(past.counted, cost);
  past.counted = cost;
  if (since == 0) return;
  const auto same =
      std::find_if(past.eras.begin(), past.eras.end(), [&](const Era& era) { return era.blocks == blocks; });
  if (same != past.eras.end()) {
    same->cost += since;
    return;
  }
  past.eras.push_back({std::move(blocks), since});
  if (past.eras.size() <= kMostEras) return;
  past.eras.erase(std::min_element(past.eras.begin(), past.eras.end(),
                                   [](const Era& a, const Era& b) { return a.cost < b.cost; }));
}

void LineBlocks::forget_lines() {
  std::erase_if(past_, [this](const auto& row) { return !contention_.lines().contains(row.first); });
}

std::vector<AllocatedBlock> LineBlocks::blocks_of(LineAddr line, std::uint64_t bytes) const {
  const auto line_now = contention_.lines().find(line);
  const auto before = past_.find(line);
  Past past = before != past_.end() ? before->second : Past{};
  if (line_now != contention_.lines().end()) end_era(past, blocks_in(line), cost_of(*line_now->second));
  std::vector<AllocatedBlock> found;
  std::uint64_t dearest = 0;
  for (Era& era : past.eras) {
    std::erase_if(era.blocks, [&](const AllocatedBlock& block) {
      const Addr base = addr_of(line);
      const Addr begin = std::max(block.begin, base), end = std::min(block.end(), base + kLineBytes);
      if (begin >= end) return true;
      const std::uint64_t own = (~std::uint64_t{0} >> (kLineBytes - (end - begin))) << (begin - base);
      return (own & bytes) == 0;
    });
    if (era.blocks.empty() || era.cost < dearest) continue;
    dearest = era.cost;
    found = era.blocks;
  }
  return found;
}

}  // namespace rubato::chip
