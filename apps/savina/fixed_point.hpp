// Numbers below 2^64 with many binary places: just enough for digits of pi.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rubato::apps::savina {

class FixedPoint {
 public:
  FixedPoint() = default;
  FixedPoint(std::uint64_t integer, std::size_t places);
  /// With as many places as `digits` decimal digits and some more need.
  static std::size_t places_for(std::size_t digits);

  FixedPoint& operator+=(const FixedPoint& other);
  FixedPoint& operator-=(const FixedPoint& other);
  FixedPoint& operator*=(std::uint32_t factor);
  FixedPoint& operator/=(std::uint32_t divisor);
  FixedPoint& shift_right(std::size_t bits);
  bool is_zero() const;
  /// The integer part and `digits` decimal places, without a point.
  std::string digits(std::size_t digits) const;

 private:
  std::vector<std::uint32_t> words_;  // the last is the integer part; before it 32 places each, lowest first
};

}  // namespace rubato::apps::savina
