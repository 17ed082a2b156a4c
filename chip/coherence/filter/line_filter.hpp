// Filter of a home (K49): whether a private cache may hold a line. A home inserts a line when the first of
// its tokens leaves the home, and erases it when all are back. So a line counts once, however many copies it
// has. "No" is always true; "maybe" may be wrong and then costs a probe. Each home has a filter of its own
// lines.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class LineFilter {
 public:
  /// Accesses of the storage so far, by row of 128 bits.
  struct Rows {
    std::uint64_t read = 0;
    std::uint64_t written = 0;
  };

  virtual ~LineFilter() = default;
  /// Counts a line that is not counted; none of its counters may be saturated.
  virtual void insert(LineAddr line) = 0;
  /// Takes a counted line out.
  virtual void erase(LineAddr line) = 0;
  virtual bool may_hold(LineAddr line) = 0;
  /// True if a counter of this line is at its maximum (K53). The home then takes back all lines for which
  /// this is true before it inserts one of them, so that no counter wraps.
  virtual bool is_saturated(LineAddr line) const = 0;
  /// Lines of one key have the same counters: the filter cannot tell them apart (FilterProfile).
  virtual std::uint64_t key(LineAddr line) const = 0;

  const Rows& rows() const { return rows_; }

 protected:
  Rows rows_;
};

}  // namespace rubato::chip
