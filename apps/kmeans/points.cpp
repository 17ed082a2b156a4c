// SPDX-License-Identifier: MIT
#include "apps/kmeans/points.hpp"

#include <algorithm>

#include "base/rng.hpp"

namespace rubato::apps::kmeans {

Points scattered_points(std::uint32_t count, std::uint32_t dimensions, std::uint32_t places,
                        std::uint64_t seed) {
  constexpr std::uint64_t kSpread = kOne / 4;  // of each of two random numbers, whose sum is the distance
  Rng rng(seed);
  std::vector<Fixed> middles(std::uint64_t{places} * dimensions);
  for (Fixed& coordinate : middles) coordinate = static_cast<Fixed>(rng.below(kOne));
  Points points{count, dimensions, {}};
  points.coordinates.reserve(std::uint64_t{count} * dimensions);
  for (std::uint32_t point = 0; point < count; ++point) {
    const Fixed* const middle = middles.data() + rng.below(places) * dimensions;
    for (std::uint32_t d = 0; d < dimensions; ++d) {
      const auto offset =
          static_cast<Fixed>(rng.below(kSpread) + rng.below(kSpread)) - static_cast<Fixed>(kSpread);
      points.coordinates.push_back(std::clamp(middle[d] + offset, 0, kOne - 1));
    }
  }
  return points;
}

double mean_squared_distance(const Points& points, const Clustering& clustering) {
  double sum = 0;
  for (std::uint32_t point = 0; point < points.count; ++point) {
    const Fixed* const centre =
        clustering.centres.data() + std::uint64_t{clustering.centre_of[point]} * points.dimensions;
    for (std::uint32_t d = 0; d < points.dimensions; ++d) {
      const double difference = static_cast<double>(points[point][d] - centre[d]) / kOne;
      sum += difference * difference;
    }
  }
  return sum / points.count;
}

std::uint64_t checksum(const Clustering& clustering) {
  std::uint64_t hash = clustering.iterations;
  for (const std::uint32_t centre : clustering.centre_of) hash = mix64(hash ^ centre);
  for (const Fixed coordinate : clustering.centres)
    hash = mix64(hash ^ static_cast<std::uint64_t>(coordinate));
  return hash;
}

}  // namespace rubato::apps::kmeans
