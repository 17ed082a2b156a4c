// Occupancy calendars: which cycles of each of some resources (links, ports, a controller) are taken (C20).
// One bit a cycle, set while it is free, in a ring of rows of 64 cycles with a word for each resource. The
// window slides by itself: a booking later than the newest row forgets the oldest one, and cycles older than
// the window count as free and stay unbooked. A single next-free cycle would make an early request queue
// behind a late one that was booked first.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

/// A number of cycles in a row, at least 1. Short ones know how to be found in a word of free cycles: ANDed
/// with itself moved by each of three distances, it keeps the bits where such a run begins.
class RunLength {
 public:
  constexpr explicit RunLength(std::uint32_t length = 1) : length_(length) {
    if (length > kLongest) {
      moves_.fill(63);  // nothing is left
      return;
    }
    std::uint32_t covered = 1;
    for (std::uint8_t& move : moves_) {
      move = static_cast<std::uint8_t>(std::min(covered, length - covered));
      covered += move;
    }
    ones_ = static_cast<std::uint8_t>((1U << length) - 1);
  }
  constexpr std::uint32_t length() const { return length_; }

  /// Bits at which runs begin that lie within the word: none if this is longer than kLongest.
  constexpr std::uint64_t begins(std::uint64_t free) const {
    for (const std::uint8_t move : moves_) free &= free >> move;
    return free;
  }
  /// As many bits, where begins() finds any.
  constexpr std::uint64_t ones() const { return ones_; }

 private:
  static constexpr std::uint32_t kLongest = 8;
  std::uint32_t length_;
  std::array<std::uint8_t, 3> moves_{};
  std::uint8_t ones_ = 0;
};

/// `window`: cycles that are remembered, a multiple of 64. It must be longer than the queues that build up,
/// and costs host memory (an eighth of a byte a cycle and resource), hardly any host cache: only rows near
/// the present are used.
template <std::uint64_t window>
class BasicCalendars {
 public:
  static constexpr std::uint64_t kWindow = window;

  /// Calendars of `resources` resources, all free.
  explicit BasicCalendars(std::uint32_t resources)
      : resources_(resources), words_(std::size_t{resources} * kRows, kFree) {}

  /// Takes the first `run` (1 to kWindow) of free cycles of `resource` at or after `at`; returns its first.
  Cycle book(std::uint32_t resource, Cycle at, const RunLength& run = RunLength{1}) {
    // Nearly always such a run lies in the word of `at`. Whether it begins there cannot be predicted: nothing
    // branches on it.
    const std::uint64_t row = at.value / 64;
    if (is_in_ring(row)) {
      std::uint64_t& free = words_[place_of(resource, row)];
      if (const std::uint64_t begins = run.begins(free) & kFree << at.value % 64; begins != 0) {
        const auto first = static_cast<std::uint64_t>(std::countr_zero(begins));
        free ^= run.ones() << first;
        return Cycle{row * 64 + first};
      }
    }
    return search(resource, at.value, run.length());
  }

 private:
  static constexpr std::uint64_t kRows = window / 64;
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};

  bool is_in_ring(std::uint64_t row) const { return newest_ - row < kRows; }
  std::size_t place_of(std::uint32_t resource, std::uint64_t row) const {
    return row % kRows * resources_ + resource;
  }

  /// book() of what is longer, or finds no room in the word.
  [[gnu::noinline]] Cycle search(std::uint32_t resource, std::uint64_t start, std::uint32_t length) {
    if (const std::uint64_t row = start / 64, offset = start % 64; row > newest_ && offset + length < 64) {
      slide_to(row);  // the first booking of a row: all of it is free
      words_[place_of(resource, row)] ^= ((std::uint64_t{1} << length) - 1) << offset;
      return Cycle{start};
    }
    for (;;) {
      const std::uint64_t busy = view(resource, start);
      const auto free = static_cast<std::uint32_t>(std::countr_zero(busy));
      if (free >= length || (free == 64 && is_free(resource, start + 64, length - 64))) break;
      start += free;
      if (free < 64) start += static_cast<std::uint64_t>(std::countr_one(busy >> free));
    }
    mark(resource, start, length);
    return Cycle{start};
  }

  std::uint64_t busy(std::uint32_t resource, std::uint64_t row) const {
    return is_in_ring(row) ? ~words_[place_of(resource, row)] : 0;
  }
  /// The 64 cycles from `start`, lowest bit first; a set bit is a taken cycle.
  std::uint64_t view(std::uint32_t resource, std::uint64_t start) const {
    const std::uint64_t row = start / 64, offset = start % 64;
    const std::uint64_t low = busy(resource, row) >> offset;
    return offset == 0 ? low : low | busy(resource, row + 1) << (64 - offset);
  }
  bool is_free(std::uint32_t resource, std::uint64_t start, std::uint32_t length) const {
    for (; length > 64; start += 64, length -= 64)
      if (view(resource, start) != 0) return false;
    return static_cast<std::uint32_t>(std::countr_zero(view(resource, start))) >= length;
  }
  void mark(std::uint32_t resource, std::uint64_t start, std::uint32_t length) {
    while (length > 0) {
      const std::uint64_t offset = start % 64, row = start / 64;
      const auto here = static_cast<std::uint32_t>(length < 64 - offset ? length : 64 - offset);
      const std::uint64_t ones = here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
      if (row > newest_) slide_to(row);
      if (is_in_ring(row)) words_[place_of(resource, row)] &= ~(ones << offset);
      start += here;
      length -= here;
    }
  }
  void slide_to(std::uint64_t row) {
    for (std::uint64_t added = row - newest_ < kRows ? newest_ + 1 : row + 1 - kRows; added <= row; ++added) {
      std::uint64_t* const words = &words_[place_of(0, added)];
      words[0] = kFree;
      if (resources_ != 1) std::fill_n(words + 1, resources_ - 1, kFree);
    }
    newest_ = row;
  }

  std::uint32_t resources_;
  std::uint64_t newest_ = kRows - 1;  // the last row of the ring
  std::vector<std::uint64_t> words_;  // by row: resources used together lie together
};

/// For links and ports.
using Calendars = BasicCalendars<16384>;

}  // namespace rubato::chip
