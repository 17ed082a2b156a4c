// When the dividers of a window core are busy. They are not pipelined: a division, or a square root, keeps
// one from its issue until its result is there.
//
// Invariant: the bookings of a divider do not overlap and are in order of time. They are made in any order,
// since operands of an older division may be there later than those of a younger one.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rubato::chip {

class Dividers {
 public:
  explicit Dividers(std::uint32_t count) : bookings_(count) {}

  bool are_pipelined() const { return bookings_.empty(); }
  /// The first cycle from `at` on from which some divider is idle for `cycles`.
  std::uint64_t first(std::uint64_t at, std::uint64_t cycles) const {
    return gap_of(bookings_.size() == 1 ? 0 : earliest(at, cycles), at, cycles);
  }
  /// Takes a divider at such a cycle.
  void take(std::uint64_t at, std::uint64_t cycles) {
    std::vector<Booking>& list = bookings_[bookings_.size() == 1 ? 0 : earliest(at, cycles)];
    if (list.size() >= most_) {  // issue goes back by less than kKept after a squash
      std::erase_if(list, [at](const Booking& b) { return b.end + kKept <= at; });
      most_ = std::max(most_, 2 * list.size());
    }
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(before(list, at)), {at, at + cycles});
  }
  /// A booking of take() that is not used after all.
  void give_back(std::uint64_t at, std::uint64_t cycles) {
    for (std::vector<Booking>& list : bookings_) {
      const auto i = std::find_if(list.begin(), list.end(),
                                  [=](const Booking& b) { return b.begin == at && b.end == at + cycles; });
      if (i == list.end()) continue;
      list.erase(i);
      return;
    }
  }

 private:
  static constexpr std::uint64_t kKept = 4096;
  struct Booking {
    std::uint64_t begin, end;
  };

  /// How many bookings of the list begin before `at`.
  static std::size_t before(const std::vector<Booking>& list, std::uint64_t at) {
    std::size_t i = list.size();
    while (i != 0 && list[i - 1].begin >= at) --i;
    return i;
  }
  std::uint64_t gap_of(std::size_t divider, std::uint64_t at, std::uint64_t cycles) const {
    const std::vector<Booking>& list = bookings_[divider];
    std::size_t i = before(list, at);
    if (i != 0) at = std::max(at, list[i - 1].end);
    for (; i != list.size() && list[i].begin < at + cycles; ++i) at = list[i].end;
    return at;
  }
  std::size_t earliest(std::uint64_t at, std::uint64_t cycles) const {
    std::size_t best = 0;
    for (std::size_t d = 1; d < bookings_.size(); ++d)
      if (gap_of(d, at, cycles) < gap_of(best, at, cycles)) best = d;
    return best;
  }

  std::vector<std::vector<Booking>> bookings_;
  std::size_t most_ = 512;  // of a list, before it is cleared of old ones
};

}  // namespace rubato::chip
