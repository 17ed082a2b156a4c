// SPDX-License-Identifier: MIT
#include "chip/alloc/allocated_blocks.hpp"

#include <algorithm>
#include <iterator>

namespace rubato::chip {
namespace {

/// The first segment with blocks that may reach to `address`: a small block ends in the next segment at last.
std::uint64_t first_segment(Addr address) {
  const std::uint64_t own = address / AllocatedBlocks::kSegmentBytes;
  return own != 0 ? own - 1 : 0;
}

/// The first of the large blocks that may have bytes from `begin` on.
template <class Map>
auto first_large(Map& large, Addr begin) {
  auto found = large.upper_bound(begin);
  if (found == large.begin()) return found;
  const auto before = std::prev(found);
  return before->second.end() > begin ? before : found;
}

}  // namespace

std::pair<std::size_t, std::size_t> AllocatedBlocks::range(std::uint64_t number, const Segment& segment,
                                                           Addr begin, Addr end) {
  const Addr base = number * kSegmentBytes;
  const auto first = std::partition_point(segment.begin(), segment.end(), [&](const Small& small) {
    return base + small.offset + small.bytes <= begin;
  });
  const auto last = std::partition_point(first, segment.end(),
                                         [&](const Small& small) { return base + small.offset < end; });
  return {static_cast<std::size_t>(first - segment.begin()),
          static_cast<std::size_t>(last - segment.begin())};
}

void AllocatedBlocks::add(const AllocatedBlock& block) {
  if (block.bytes > kSegmentBytes) {
    remove(block.begin, block.end());
    large_[block.begin] = block;
    return;
  }
  const std::uint64_t number = block.begin / kSegmentBytes;
  const Small small{static_cast<std::uint32_t>(block.begin % kSegmentBytes),
                    static_cast<std::uint32_t>(block.bytes), block.site};
  Segment& segment = segments_[number];
  auto [first, last] = range(number, segment, block.begin, block.end());
  // Nearly always: the same memory once more.
  if (last == first + 1 && segment[first].offset == small.offset && segment[first].bytes >= small.bytes) {
    segment[first] = small;
    return;
  }
  remove(block.begin, block.end());
  first = range(number, segment, block.begin, block.end()).first;
  segment.insert(segment.begin() + static_cast<std::ptrdiff_t>(first), small);
  ++small_count_;
}

void AllocatedBlocks::remove(Addr begin, Addr end) {
  for (auto it = segments_.lower_bound(first_segment(begin));
       it != segments_.end() && it->first * kSegmentBytes < end; ++it) {
    const auto [first, last] = range(it->first, it->second, begin, end);
    it->second.erase(it->second.begin() + static_cast<std::ptrdiff_t>(first),
                     it->second.begin() + static_cast<std::ptrdiff_t>(last));
    small_count_ -= last - first;
  }
  for (auto it = first_large(large_, begin); it != large_.end() && it->first < end;) it = large_.erase(it);
}

std::optional<AllocatedBlock> AllocatedBlocks::at(Addr address) const {
  const std::vector<AllocatedBlock> found = in(address, address + 1);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

std::vector<AllocatedBlock> AllocatedBlocks::in(Addr begin, Addr end) const {
  std::vector<AllocatedBlock> found;
  for (auto it = segments_.lower_bound(first_segment(begin));
       it != segments_.end() && it->first * kSegmentBytes < end; ++it) {
    const auto [first, last] = range(it->first, it->second, begin, end);
    for (std::size_t i = first; i < last; ++i) found.push_back(block_of(it->first, it->second[i]));
  }
  for (auto it = first_large(large_, begin); it != large_.end() && it->first < end; ++it)
    found.push_back(it->second);
  std::sort(found.begin(), found.end(),
            [](const AllocatedBlock& a, const AllocatedBlock& b) { return a.begin < b.begin; });
  return found;
}

}  // namespace rubato::chip
