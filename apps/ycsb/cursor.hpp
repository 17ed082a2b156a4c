// Position of an operation on its way through the tree, in one word. It travels with every visit, and fields
// set one by one would be slow to read back as a whole.
// SPDX-License-Identifier: MIT
#pragma once

#include "apps/ycsb/operation.hpp"

namespace rubato::apps::ycsb {

/// The level of a node not yet seen: only the root changes its level.
inline constexpr unsigned kRootLevel = 255;

/// Next step of a search: node `next` of `level`, from its line `line` (0 to 15) on.
class Hop {
 public:
  Hop(Link next, unsigned level, unsigned line) : next_(next), place_(level | line << 8) {}
  Link next() const { return next_; }
  unsigned level() const { return static_cast<unsigned>(place_ & 255); }
  unsigned line() const { return static_cast<unsigned>(place_ >> 8); }
  std::uint64_t place() const { return place_; }

 private:
  Link next_;
  std::uint64_t place_;
};

class Cursor {
 public:
  Cursor() : Cursor(Kind::lookup) {}
  /// At the root, on the way to `target`.
  explicit Cursor(Kind kind, unsigned target = 0)
      : word_(kRootLevel | std::uint64_t{target} << kTargetShift |
              static_cast<std::uint64_t>(kind) << kKindShift) {}

  Kind kind() const { return static_cast<Kind>(word_ >> kKindShift & 255); }
  /// The level where the operation takes place.
  unsigned target() const { return static_cast<unsigned>(word_ >> kTargetShift & 255); }
  /// Level of the node that is visited, and the line where the search in it begins.
  unsigned level() const { return static_cast<unsigned>(word_ & 255); }
  unsigned line() const { return static_cast<unsigned>(word_ >> kLineShift & 255); }
  /// The visit is a write() of the root, which may have grown since.
  bool is_root() const { return (word_ & kRoot) != 0; }
  /// The visit is a write(), not a read().
  bool is_writer() const { return level() == target() && is_write(kind()); }
  /// Pairs that a scan has so far.
  unsigned taken() const { return static_cast<unsigned>(word_ >> kTakenShift); }

  Cursor at(const Hop& hop) const { return Cursor((word_ & ~kPlace) | hop.place()); }
  Cursor at_root() const { return Cursor((word_ & ~kPlace) | kRootLevel); }
  Cursor writing_root() const { return Cursor((word_ & ~kPlace) | kRoot | target()); }
  Cursor with_taken(unsigned pairs) const {
    return Cursor((word_ & ((std::uint64_t{1} << kTakenShift) - 1)) | std::uint64_t{pairs} << kTakenShift);
  }

 private:
  static constexpr unsigned kLineShift = 8, kTargetShift = 16, kKindShift = 24, kTakenShift = 40;
  static constexpr std::uint64_t kRoot = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kPlace = kRoot | 0xffff;

  explicit Cursor(std::uint64_t word) : word_(word) {}
  std::uint64_t word_;
};
static_assert(sizeof(Cursor) == 8);

}  // namespace rubato::apps::ycsb
