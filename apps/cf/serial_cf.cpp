// SPDX-License-Identifier: MIT
// Gathers all gradients rating by rating, then takes all steps, where a task gathers those of one
// participant: a mistake in one is not repeated in the other.
#include "apps/cf/serial_cf.hpp"

#include <array>
#include <utility>

namespace rubato::apps {

std::vector<Features> serial_cf(const std::vector<Rating>& ratings, std::vector<Features> features,
                                std::uint32_t steps) {
  std::vector<std::array<std::int64_t, kFeatures>> gradients;
  std::vector<std::uint32_t> counts;
  for (std::uint32_t step = 0; step < steps; ++step) {
    gradients.assign(features.size(), {});
    counts.assign(features.size(), 0);
    for (const Rating& r : ratings) {
      std::uint32_t own = r.user, other = r.item;
      if (step % 2 == 1) std::swap(own, other);
      const std::int64_t error = r.value - predicted(features[own], features[other]);
      for (unsigned i = 0; i < kFeatures; ++i) gradients[own][i] += error * features[other][i];
      ++counts[own];
    }
    for (std::size_t p = 0; p < features.size(); ++p) {
      if (counts[p] == 0) continue;
      for (unsigned i = 0; i < kFeatures; ++i)
        features[p][i] = stepped(features[p][i], gradients[p][i], counts[p]);
    }
  }
  return features;
}

}  // namespace rubato::apps
