// Tiles with uncommitted accessors of a line that the coherence directory no longer names. Bits are as in
// SharerGroups: set when a tile loses the line, cleared when a check finds that the tile has none. They lie
// beside the line's directory entry. When the line leaves the LLC they move to the home's overflow table and
// stay there until the line is back (C15). Espresso, Sec. V-A "Scalable speculation".
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "chip/conflict/line_table.hpp"

namespace rubato::chip {

class StickyDirectory {
 public:
  struct Bits {
    std::uint64_t readers = 0, writers = 0;
  };
  struct Counters {
    std::uint64_t set = 0;         ///< bits newly set
    std::uint64_t cleared = 0;     ///< bits cleared
    std::uint64_t overflowed = 0;  ///< entries moved to the overflow table
    std::uint64_t overflow_peak = 0;
  };

  Bits bits(LineAddr line) const {
    const std::uint64_t* const e = lines_.find(line);
    return e == nullptr ? Bits{} : Bits{e[kReaders], e[kWriters]};
  }
  /// The line is in the LLC.
  void add(LineAddr line, Bits more) {
    if ((more.readers | more.writers) == 0) return;
    std::uint64_t* const e = lines_.insert(line);
    counters_.set += static_cast<unsigned>(std::popcount(more.readers & ~e[kReaders]) +
                                           std::popcount(more.writers & ~e[kWriters]));
    e[kReaders] |= more.readers;
    e[kWriters] |= more.writers;
    take_back(e);
  }
  void clear(LineAddr line, Bits less) {
    std::uint64_t* const e = lines_.find(line);
    if (e == nullptr) return;
    counters_.cleared += static_cast<unsigned>(std::popcount(less.readers & e[kReaders]) +
                                               std::popcount(less.writers & e[kWriters]));
    e[kReaders] &= ~less.readers;
    e[kWriters] &= ~less.writers;
    if ((e[kReaders] | e[kWriters]) != 0) return;
    take_back(e);
    lines_.erase(line);
  }
  void move_to_overflow(LineAddr line) {
    std::uint64_t* const e = lines_.find(line);
    if (e == nullptr || std::exchange(e[kOverflow], 1) != 0) return;
    ++counters_.overflowed;
    counters_.overflow_peak = std::max(counters_.overflow_peak, ++in_overflow_);
  }
  /// The line comes to the LLC.
  void move_from_overflow(LineAddr line) {
    if (in_overflow_ == 0) return;
    if (std::uint64_t* const e = lines_.find(line)) take_back(e);
  }
  void forget(LineAddr line) { clear(line, {~std::uint64_t{0}, ~std::uint64_t{0}}); }

  const Counters& counters() const { return counters_; }
  std::size_t entries() const { return lines_.size(); }
  std::uint64_t in_overflow() const { return in_overflow_; }

 private:
  enum : std::uint32_t { kReaders, kWriters, kOverflow, kWords };
  void take_back(std::uint64_t* e) { in_overflow_ -= std::exchange(e[kOverflow], 0); }

  LineTable lines_{kWords};
  Counters counters_;
  std::uint64_t in_overflow_ = 0;
};

}  // namespace rubato::chip
