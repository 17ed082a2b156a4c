// An occupancy calendar: which cycles of one resource (a link, a port, a controller) are taken (C20).
// One bit a cycle in a ring of words, each tagged with its place in time, so that the window slides by
// itself: a booking later than the window forgets the oldest word, and cycles older than the window count as
// free and stay unbooked. A single next-free cycle would make an early request queue behind a late one that
// was booked first.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>

#include "chip/types.hpp"

namespace rubato::chip {

/// `window`: cycles that are remembered, a multiple of 64. It must be longer than the queues that build up,
/// and costs host memory (a quarter of a byte a cycle), hardly any host cache: only words near the present
/// are used.
template <std::uint64_t window>
class BasicCalendar {
 public:
  static constexpr std::uint64_t kWindow = window;

  /// Takes the first `length` (1 to kWindow) free cycles in a row at or after `at`; returns the first of
  /// them.
  Cycle book(Cycle at, std::uint32_t length = 1) {
    std::uint64_t start = at.value;
    for (;;) {
      const std::uint64_t busy = view(start);
      const auto free = static_cast<std::uint32_t>(std::countr_zero(busy));
      if (free >= length || (free == 64 && is_free(start + 64, length - 64))) break;
      start += free;
      start += static_cast<std::uint64_t>(std::countr_one(view(start)));
    }
    mark(start, length);
    return Cycle{start};
  }

 private:
  static constexpr std::uint64_t kWords = kWindow / 64;
  struct Word {
    std::uint64_t bits = 0;
    std::uint64_t number = 0;  // cycle / 64 of its first bit
  };

  std::uint64_t bits(std::uint64_t number) const {
    const Word& w = words_[number % kWords];
    return w.number == number ? w.bits : 0;
  }
  /// The 64 cycles from `start`, lowest bit first; a set bit is a taken cycle.
  std::uint64_t view(std::uint64_t start) const {
    const std::uint64_t number = start / 64, offset = start % 64;
    const std::uint64_t low = bits(number) >> offset;
    return offset == 0 ? low : low | bits(number + 1) << (64 - offset);
  }
  bool is_free(std::uint64_t start, std::uint32_t length) const {
    for (; length > 64; start += 64, length -= 64)
      if (view(start) != 0) return false;
    return static_cast<std::uint32_t>(std::countr_zero(view(start))) >= length;
  }
  void mark(std::uint64_t start, std::uint32_t length) {
    while (length > 0) {
      const std::uint64_t offset = start % 64;
      const auto here = static_cast<std::uint32_t>(length < 64 - offset ? length : 64 - offset);
      const std::uint64_t ones = here == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
      Word& w = words_[start / 64 % kWords];
      if (w.number < start / 64) w = {0, start / 64};
      if (w.number == start / 64) w.bits |= ones << offset;
      start += here;
      length -= here;
    }
  }

  Word words_[kWords];
};

/// For links and ports.
using Calendar = BasicCalendar<16384>;

}  // namespace rubato::chip
