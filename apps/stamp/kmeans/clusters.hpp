// Points, and centres that points gather around. Coordinates are whole numbers up to 255 and there are at
// most kMostPoints of them, so that every sum of coordinates is exact in a float: the order of additions does
// not change a result.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/rng.hpp"

namespace rubato::apps::stamp::kmeans {

inline constexpr std::uint64_t kMostPoints = 65'536;

struct Points {
  std::uint64_t count;
  std::uint64_t dimensions;
  std::vector<float> coordinates;
  const float* operator[](std::uint64_t i) const { return &coordinates[i * dimensions]; }
};

/// Points about as many places as `places` says, scattered widely enough that they mix.
inline Points scattered(std::uint64_t count, std::uint64_t dimensions, std::uint64_t places,
                        std::uint64_t seed) {
  Rng rng(seed);
  std::vector<double> middle(places * dimensions);
  for (double& coordinate : middle) coordinate = 40 + 176 * rng.uniform();
  Points points{count, dimensions, std::vector<float>(count * dimensions)};
  for (std::uint64_t i = 0; i < count; ++i) {
    const double* const here = &middle[rng.below(places) * dimensions];
    for (std::uint64_t j = 0; j < dimensions; ++j) {
      const double noise = 80 * (rng.uniform() + rng.uniform() + rng.uniform() - 1.5);
      points.coordinates[i * dimensions + j] =
          static_cast<float>(std::floor(std::clamp(here[j] + noise, 0.0, 255.0)));
    }
  }
  return points;
}

/// The centre that is nearest to a point, the first of several.
inline std::uint64_t nearest(const float* point, const std::vector<float>& centres,
                             std::uint64_t dimensions) {
  std::uint64_t best = 0;
  float least = INFINITY;
  const std::uint64_t count = centres.size() / dimensions;
  for (std::uint64_t c = 0; c < count; ++c) {
    const float* const centre = &centres[c * dimensions];
    float distance = 0;
    for (std::uint64_t j = 0; j < dimensions; ++j) {
      const float difference = point[j] - centre[j];
      distance += difference * difference;
    }
    if (distance < least) {
      least = distance;
      best = c;
    }
  }
  return best;
}

}  // namespace rubato::apps::stamp::kmeans
