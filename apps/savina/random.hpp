// The random generators of the Savina suite: its own, and that of Java.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>

namespace rubato::apps::savina {

/// PR: the suite's, of period 65,536.
class SuiteRandom {
 public:
  explicit SuiteRandom(std::uint64_t seed) : value_(seed) {}
  std::uint32_t next() {
    value_ = (value_ * 1309 + 13849) & 65535;
    return static_cast<std::uint32_t>(value_);
  }
  /// In [0, limit).
  std::uint32_t below(std::uint32_t limit) { return next() % limit; }
  /// In (0, 1].
  double fraction() { return 1.0 / (next() + 1); }

 private:
  std::uint64_t value_;
};

/// JR: java.util.Random, whose documentation gives the constants.
class JavaRandom {
 public:
  explicit JavaRandom(std::uint64_t seed) : state_((seed ^ kMultiplier) & kMask) {}
  std::int32_t next() { return bits(32); }
  /// In [0, limit), limit >= 1.
  std::int32_t below(std::int32_t limit) {
    if ((limit & (limit - 1)) == 0)
      return static_cast<std::int32_t>((static_cast<std::int64_t>(limit) * bits(31)) >> 31);
    // A draw that would make small numbers likelier is rejected.
    for (;;) {
      const std::int32_t drawn = bits(31);
      const std::int32_t value = drawn % limit;
      if (static_cast<std::int64_t>(drawn) - value + (limit - 1) <= INT32_MAX) return value;
    }
  }
  std::int64_t next_long() {
    const auto high = static_cast<std::uint64_t>(static_cast<std::int64_t>(next())) << 32;
    return static_cast<std::int64_t>(high + static_cast<std::uint64_t>(static_cast<std::int64_t>(next())));
  }
  bool boolean() { return bits(1) != 0; }
  /// In [0, 1).
  double fraction() {
    const auto high = static_cast<std::int64_t>(bits(26)) << 27;
    return static_cast<double>(high + bits(27)) * 0x1p-53;
  }
  /// Normally distributed; the second of each pair is kept.
  double gaussian() {
    if (has_next_) {
      has_next_ = false;
      return next_gaussian_;
    }
    double x, y, square;
    do {
      x = 2 * fraction() - 1;
      y = 2 * fraction() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double scale = std::sqrt(-2 * std::log(square) / square);
    next_gaussian_ = y * scale;
    has_next_ = true;
    return x * scale;
  }

 private:
  static constexpr std::uint64_t kMultiplier = 0x5DEECE66D, kMask = (std::uint64_t{1} << 48) - 1;
  std::int32_t bits(unsigned count) {
    state_ = (state_ * kMultiplier + 0xB) & kMask;
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(state_ >> (48 - count)));
  }
  std::uint64_t state_;
  bool has_next_ = false;
  double next_gaussian_ = 0;
};

/// Does as many steps of PR as busy loops of the suite have. @returns a value that keeps a compiler from
/// removing them.
inline std::uint32_t work(SuiteRandom& random, std::uint64_t steps) {
  std::uint32_t last = 0;
  for (std::uint64_t i = 0; i < steps; ++i) last = random.next();
  return last;
}

}  // namespace rubato::apps::savina
