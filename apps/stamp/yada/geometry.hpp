// Points with whole coordinates, and the questions about them that a triangulation asks: answered exactly, in
// 128 bits, so that no rounding can make a mesh inconsistent.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::apps::stamp::yada {

/// The domain is the square from 0 to kSide in both dimensions. Differences of coordinates have 23 bits, so
/// that a determinant of the fourth degree has 100.
inline constexpr std::int64_t kSide = std::int64_t{1} << 22;

__extension__ using Exact = __int128;

struct Point {
  std::int64_t x, y;
  bool operator==(const Point&) const = default;
};

inline std::int64_t squared_distance(const Point& a, const Point& b) {
  const std::int64_t x = a.x - b.x, y = a.y - b.y;
  return x * x + y * y;
}

/// Twice the area of abc: positive if it is seen counter-clockwise, 0 if it is flat.
inline std::int64_t orientation(const Point& a, const Point& b, const Point& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/// Whether p is inside the circle through a, b, c, which are counter-clockwise; on it is not inside.
inline bool is_in_circle(const Point& a, const Point& b, const Point& c, const Point& p) {
  const std::int64_t ax = a.x - p.x, ay = a.y - p.y;
  const std::int64_t bx = b.x - p.x, by = b.y - p.y;
  const std::int64_t cx = c.x - p.x, cy = c.y - p.y;
  const Exact aa = Exact{ax * ax + ay * ay}, bb = Exact{bx * bx + by * by}, cc = Exact{cx * cx + cy * cy};
  return aa * (bx * cy - by * cx) + bb * (cx * ay - cy * ax) + cc * (ax * by - ay * bx) > 0;
}

/// Whether p is in the circle whose diameter is ab, or on it.
inline bool is_in_diametral_circle(const Point& a, const Point& b, const Point& p) {
  return (a.x - p.x) * (b.x - p.x) + (a.y - p.y) * (b.y - p.y) <= 0;
}

/// The centre of the circle through a, b, c, rounded; one far outside of the domain is moved towards it.
inline Point circumcentre(const Point& a, const Point& b, const Point& c) {
  const auto bx = static_cast<double>(b.x - a.x), by = static_cast<double>(b.y - a.y);
  const auto cx = static_cast<double>(c.x - a.x), cy = static_cast<double>(c.y - a.y);
  const double bb = bx * bx + by * by, cc = cx * cx + cy * cy;
  const double twice = 2 * static_cast<double>(orientation(a, b, c));
  double x = (cy * bb - by * cc) / twice, y = (bx * cc - cx * bb) / twice;
  constexpr auto kFar = static_cast<double>(2 * kSide);
  const double width = x < 0 ? -x : x, height = y < 0 ? -y : y;
  const double most = width > height ? width : height;
  if (most > kFar) {
    x *= kFar / most;
    y *= kFar / most;
  }
  constexpr double kUp = 4 * static_cast<double>(kSide);  // rounding towards zero is rounding down then
  return {a.x + static_cast<std::int64_t>(x + kUp + 0.5) - 4 * kSide,
          a.y + static_cast<std::int64_t>(y + kUp + 0.5) - 4 * kSide};
}

/// Goal for triangles: no angle is too small, unless an edge is so short that the mesh is fine enough there.
struct Quality {
  double squared_sine;  ///< of the smallest angle that is good
  std::int64_t finest;  ///< edges below this length are not made shorter
  bool is_bad(const Point& a, const Point& b, const Point& c) const {
    std::int64_t shortest = squared_distance(a, b), longer = squared_distance(b, c),
                 other = squared_distance(c, a);
    if (longer < shortest) {
      const std::int64_t swapped = shortest;
      shortest = longer;
      longer = swapped;
    }
    if (other < shortest) {
      const std::int64_t swapped = shortest;
      shortest = other;
      other = swapped;
    }
    if (shortest < finest * finest) return false;
    // The smallest angle is between the longer edges, and twice the area is their product with its sine.
    const auto area = static_cast<double>(orientation(a, b, c));
    return area * area < squared_sine * static_cast<double>(longer) * static_cast<double>(other);
  }
};

}  // namespace rubato::apps::stamp::yada
