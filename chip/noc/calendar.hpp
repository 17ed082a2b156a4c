// Occupancy calendars: which cycles of each of some resources (links, ports, a controller) are taken (C20).
// One bit a cycle in a ring of words, each tagged with its place in time, so that the window slides by
// itself: a booking later than the window forgets the oldest word, and cycles older than the window count as
// free and stay unbooked. A single next-free cycle would make an early request queue behind a late one that
// was booked first.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "chip/types.hpp"

namespace rubato::chip {

/// `window`: cycles that are remembered, a multiple of 64. It must be longer than the queues that build up,
/// and costs host memory (a quarter of a byte a cycle), hardly any host cache: only words near the present
/// are used.
template <std::uint64_t window>
class BasicCalendars {
 public:
  static constexpr std::uint64_t kWindow = window;

  /// Calendars of `resources` resources, all free.
  explicit BasicCalendars(std::uint32_t resources)
      : resources_(resources), words_(std::size_t{resources} * kWords) {}

  /// Takes the first `length` (1 to kWindow) free cycles of `resource` in a row at or after `at`; returns the
  /// first of them.
  Cycle book(std::uint32_t resource, Cycle at, std::uint32_t length = 1) {
    // Nearly always: the cycles from `at` on are free and lie in one word. About fifteen instructions.
    if (const std::uint64_t offset = at.value % 64; offset + length <= 64) {
      const std::uint64_t number = at.value / 64;
      const std::uint64_t ones = ~std::uint64_t{0} >> (64 - length) << offset;
      Word& w = words_[number % kWords * resources_ + resource];
      if (w.number != number) {
        if (w.number < number) w = {ones, number};
        return at;
      }
      if ((w.bits & ones) == 0) {
        w.bits |= ones;
        return at;
      }
    }
    return search(resource, at.value, length);
  }

 private:
  static constexpr std::uint64_t kWords = kWindow / 64;
  struct Word {
    std::uint64_t bits = 0;
    std::uint64_t number = 0;  // cycle / 64 of its first bit
  };

  /// book() where that is not so.
  [[gnu::noinline]] Cycle search(std::uint32_t resource, std::uint64_t start, std::uint32_t length) {
    const Words words{&words_[resource], resources_};
    // Most find their cycles later in the same word. A set bit of `taken`: from there on they are not free,
    // or not all in this word.
    if (Word& w = words[start / 64]; w.number == start / 64 && length < 64) {
      std::uint64_t taken = ~(~w.bits >> start % 64);
      for (std::uint32_t covered = 1, shift = 1; covered < length; covered += shift) {
        shift = covered < length - covered ? covered : length - covered;
        taken |= taken >> shift | ~(~std::uint64_t{0} >> shift);
      }
      if (const std::uint64_t free = ~taken; free != 0) {
        start += static_cast<std::uint64_t>(std::countr_zero(free));
        w.bits |= ((std::uint64_t{1} << length) - 1) << start % 64;
        return Cycle{start};
      }
    }
    for (;;) {
      const std::uint64_t busy = view(words, start);
      const auto free = static_cast<std::uint32_t>(std::countr_zero(busy));
      if (free >= length || (free == 64 && is_free(words, start + 64, length - 64))) break;
      start += free;
      if (free < 64) start += static_cast<std::uint64_t>(std::countr_one(busy >> free));
    }
    mark(words, start, length);
    return Cycle{start};
  }

  /// One resource's words.
  struct Words {
    Word* first;
    std::uint32_t stride;
    Word& operator[](std::uint64_t number) const { return first[number % kWords * stride]; }
  };
  static std::uint64_t bits(Words words, std::uint64_t number) {
    const Word& w = words[number];
    return w.number == number ? w.bits : 0;
  }
  /// The 64 cycles from `start`, lowest bit first; a set bit is a taken cycle.
  static std::uint64_t view(Words words, std::uint64_t start) {
    const std::uint64_t number = start / 64, offset = start % 64;
    const std::uint64_t low = bits(words, number) >> offset;
    return offset == 0 ? low : low | bits(words, number + 1) << (64 - offset);
  }
  static bool is_free(Words words, std::uint64_t start, std::uint32_t length) {
    for (; length > 64; start += 64, length -= 64)
      if (view(words, start) != 0) return false;
    return static_cast<std::uint32_t>(std::countr_zero(view(words, start))) >= length;
  }
  static void mark(Words words, std::uint64_t start, std::uint32_t length) {
    while (length > 0) {
      const std::uint64_t offset = start % 64;
      const auto here = static_cast<std::uint32_t>(length < 64 - offset ? length : 64 - offset);
      const std::uint64_t ones = here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
      Word& w = words[start / 64];
      if (w.number < start / 64) w = {0, start / 64};
      if (w.number == start / 64) w.bits |= ones << offset;
      start += here;
      length -= here;
    }
  }

  std::uint32_t resources_;
  std::vector<Word> words_;  // one stretch of time after the other: resources used together lie together
};

/// For links and ports.
using Calendars = BasicCalendars<4096>;

}  // namespace rubato::chip
