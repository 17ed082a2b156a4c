// Shadow tags of a home: the content of directories of fewer and more ways (K59). One set in 16 is sampled.
// Its tags are in the order of their use, so a directory of j ways or more would still have the tag at depth
// j. Tags are partial, 16 bits without entries: two lines may look alike.
//
// A line that needs its entry no longer leaves a hole at its depth: each directory that had the entry has an
// empty way. The next tag that comes fills the hole nearest to the top, and only tags above the hole move
// down. For any number of ways, LRU does the same.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class ShadowTags {
 public:
  /// sets: a directory's, a power of two; ways: of the largest directory.
  ShadowTags(std::uint64_t sets, std::uint32_t ways);

  /// For how many of the directory's sets each set here stands.
  std::uint64_t scale() const { return stride_; }
  bool is_sampled(LineAddr frame) const;

  /// A request of a line. @returns its depth, from 1, or 0: it has no tag here. The tag is on top afterwards.
  std::uint32_t use(LineAddr frame);
  /// The line was found shared: its tag is on top.
  void enter(LineAddr frame);
  /// The line's entry would be freed.
  void erase(LineAddr frame);

 private:
  static constexpr std::uint64_t kOneIn = 16, kFewestSets = 4;
  static constexpr std::uint32_t kHole = ~0U;

  std::uint64_t set_of(LineAddr frame) const { return frame.value & (sets_ - 1); }
  std::uint32_t tag_of(LineAddr frame) const {
    return static_cast<std::uint32_t>(frame.value / sets_ & 0xffff);
  }
  std::uint32_t* first_of(LineAddr frame) { return &tags_[set_of(frame) / stride_ * ways_]; }
  /// The line's tag, or null.
  std::uint32_t* find(LineAddr frame);
  void push(std::uint32_t* first, std::uint32_t tag);

  std::uint64_t sets_, stride_;
  std::uint32_t ways_;
  std::vector<std::uint32_t> tags_;  // of a set: the last used first
};

}  // namespace rubato::chip
