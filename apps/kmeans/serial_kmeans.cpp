// SPDX-License-Identifier: MIT
// Adds a point to its centre's sums as soon as the centre is known, in the order of points, where tasks add
// in any order.
#include "apps/kmeans/serial_kmeans.hpp"

#include <algorithm>
#include <limits>

namespace rubato::apps::kmeans {
namespace {

std::uint32_t nearest(const Points& points, std::uint32_t point, const std::vector<Fixed>& centres) {
  std::uint32_t best = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t c = 0; c < centres.size() / points.dimensions; ++c) {
    const Fixed* const centre = centres.data() + std::uint64_t{c} * points.dimensions;
    std::int64_t distance = 0;
    for (std::uint32_t d = 0; d < points.dimensions; ++d) {
      const std::int64_t difference = points[point][d] - centre[d];
      distance += difference * difference;
    }
    if (distance < least) {
      least = distance;
      best = c;
    }
  }
  return best;
}

}  // namespace

Clustering serial_kmeans(const Points& points, const Search& search) {
  Clustering result;
  const std::uint64_t words = std::uint64_t{search.centres} * points.dimensions;
  result.centres.assign(points.coordinates.begin(),
                        points.coordinates.begin() + static_cast<std::ptrdiff_t>(words));
  result.centre_of.assign(points.count, kNoCentre);
  std::vector<std::int64_t> sums(words);
  std::vector<std::int64_t> counts(search.centres);
  do {
    std::fill(sums.begin(), sums.end(), 0);
    std::fill(counts.begin(), counts.end(), 0);
    result.moved = 0;
    for (std::uint32_t point = 0; point < points.count; ++point) {
      const std::uint32_t centre = nearest(points, point, result.centres);
      if (result.centre_of[point] != centre) ++result.moved;
      result.centre_of[point] = centre;
      ++counts[centre];
      for (std::uint32_t d = 0; d < points.dimensions; ++d)
        sums[std::uint64_t{centre} * points.dimensions + d] += points[point][d];
    }
    for (std::uint64_t w = 0; w < words; ++w) {
      const std::int64_t count = counts[w / points.dimensions];
      if (count != 0) result.centres[w] = static_cast<Fixed>(sums[w] / count);
    }
    ++result.iterations;
  } while (goes_on(search, points.count, result.iterations, result.moved));
  return result;
}

}  // namespace rubato::apps::kmeans
