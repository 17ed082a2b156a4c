// Points in fixed point, and a clustering of them: input and result of both kmeans' tasks and its serial
// reference. Integer arithmetic, so that the order of sums changes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

namespace rubato::apps::kmeans {

/// A coordinate in fixed point: 1 is kOne. Coordinates of points are in [0, kOne).
using Fixed = std::int32_t;
inline constexpr unsigned kFractionBits = 16;
inline constexpr Fixed kOne = Fixed{1} << kFractionBits;
inline constexpr std::uint32_t kNoCentre = ~std::uint32_t{0};

struct Points {
  std::uint32_t count = 0;
  std::uint32_t dimensions = 1;
  std::vector<Fixed> coordinates;  // point by point
  const Fixed* operator[](std::uint32_t point) const {
    return coordinates.data() + std::uint64_t{point} * dimensions;
  }
};

/// How many centres are sought, and when the search ends.
struct Search {
  std::uint32_t centres = 1;      ///< at most as many as points: the first points are the first centres
  std::uint32_t iterations = 1;   ///< at most so many, at least one
  std::uint32_t few_percent = 5;  ///< it ends once fewer than so many percent of the points moved
};

/// Whether an iteration in which `moved` points changed their centre is followed by another.
inline bool goes_on(const Search& search, std::uint32_t points, std::uint64_t iterations_done,
                    std::uint64_t moved) {
  return iterations_done < search.iterations && moved * 100 >= std::uint64_t{search.few_percent} * points &&
         moved != 0;
}

struct Clustering {
  std::vector<Fixed> centres;            ///< centre by centre
  std::vector<std::uint32_t> centre_of;  ///< of each point
  std::uint64_t iterations = 0;
  std::uint64_t moved = 0;  ///< points that changed their centre in the last iteration
  bool operator==(const Clustering&) const = default;
};

/// Points scattered about `places` random places, widely enough that neighbouring clusters mix.
Points scattered_points(std::uint32_t count, std::uint32_t dimensions, std::uint32_t places,
                        std::uint64_t seed);

/// The mean over all points of the squared distance to their centre.
double mean_squared_distance(const Points& points, const Clustering& clustering);

/// A checksum of centres and assignments.
std::uint64_t checksum(const Clustering& clustering);

}  // namespace rubato::apps::kmeans
