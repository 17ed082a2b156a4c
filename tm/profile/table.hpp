// A thread's table of the profile: rows by key, in segments of the file that are added as they fill. A thread
// with few places takes a page or four; at its limit a table has as many rows as one of fixed size had.
// Invariant: a row is never emptied, so a key behind an empty row of its window is in no later segment
// either.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "tm/profile/file.hpp"

namespace rubato::tm::profile {

/// The first segment has `first_pages`, each further one twice as many; `most_segments` is the limit.
template <class Row, Kind kind, std::size_t first_pages, std::size_t most_segments>
class Table {
 public:
  explicit Table(Word thread) : thread_(thread) {}

  /// The row of `key`, which is not 0; a row whose key is 0 if it is new. Null: there is no room.
  Row* find(Word key) {
    for (std::size_t n = 0; n < segments_; ++n)
      if (Row* const row = find(*segment_[n], key)) return row;
    return grow() ? find(*segment_[segments_ - 1], key) : nullptr;
  }

  /// Among the rows where `key` could be, the one with the lowest count; null without segments.
  Row* least_frequent(Word key) {
    Row* least = nullptr;
    for (std::size_t n = 0; n < segments_; ++n)
      any_in_window(*segment_[n], key, [&least](Row& row) {
        if (least == nullptr || row.count < least->count) least = &row;
        return false;
      });
    return least;
  }

  /// Adds a segment. False: the table is at its limit, or the file has no room.
  bool grow() {
    if (segments_ == most_segments) return false;
    Segment* const added = add_segment(kind, thread_, first_pages << segments_);
    if (added != nullptr) segment_[segments_++] = added;
    return added != nullptr;
  }

  /// The first segment. The table has grown.
  Segment& head() { return *segment_[0]; }

  template <class F>
  void for_each(F f) const {
    for (std::size_t n = 0; n < segments_; ++n)
      for (std::size_t i = 0; i < rows_in(segment_[n]->bytes, sizeof(Row)); ++i)
        f(rows_of<Row>(*segment_[n])[i]);
  }

 private:
  static constexpr std::size_t kProbes = 16;

  /// The first row of the key's window for which f() is true; null if there is none.
  template <class F>
  static Row* any_in_window(Segment& segment, Word key, F f) {
    const std::size_t rows = rows_in(segment.bytes, sizeof(Row));
    const std::size_t first = (key * 0x9e3779b97f4a7c15u) >> 32;
    for (std::size_t i = 0; i < kProbes && i < rows; ++i) {
      Row& row = rows_of<Row>(segment)[(first + i) % rows];
      if (f(row)) return &row;
    }
    return nullptr;
  }
  static Row* find(Segment& segment, Word key) {
    return any_in_window(segment, key, [key](const Row& row) { return row.key == key || row.key == 0; });
  }

  Segment* segment_[most_segments] = {};
  std::size_t segments_ = 0;
  const Word thread_;
};

using Sites = Table<Site, Kind::sites, 4, 5>;              // 12 rows at first, 394 at last
using Stacks = Table<Stack, Kind::stacks, 1, 6>;           // 15 and 1,002
using Conflicts = Table<Conflict, Kind::conflicts, 1, 5>;  // 31 and 987

}  // namespace rubato::tm::profile
