// SPDX-License-Identifier: MIT
#include "apps/cf/ratings.hpp"

#include <algorithm>
#include <numeric>

#include "base/rng.hpp"

namespace rubato::apps {

RatingSet ratings_of(const Graph& graph) {
  std::uint32_t largest = 1;
  for (const Arc& arc : graph.arcs) largest = std::max(largest, arc.length);
  RatingSet set;
  set.user_ids.resize(graph.vertices());
  std::iota(set.user_ids.begin(), set.user_ids.end(), std::uint64_t{graph.first_id});
  set.item_ids = set.user_ids;
  set.ratings.reserve(graph.arcs.size());
  for (std::uint32_t user = 0; user < graph.vertices(); ++user) {
    for (std::uint32_t a = graph.first_arc[user]; a != graph.first_arc[user + 1]; ++a) {
      const Arc& arc = graph.arcs[a];
      const std::uint64_t relative = (std::uint64_t{arc.length} << kFractionBits) / largest;
      set.ratings.push_back(
          {user, graph.vertices() + arc.head, static_cast<Fixed>(std::max<std::uint64_t>(relative, 1))});
    }
  }
  return set;
}

std::vector<Features> first_features(std::uint32_t participants, std::uint64_t seed) {
  std::vector<Features> features(participants);
  Rng rng(seed);
  for (Features& f : features) {
    for (Fixed& value : f) value = static_cast<Fixed>(rng.below(kOne / 4));
  }
  return features;
}

double mean_squared_error(const std::vector<Rating>& ratings, const std::vector<Features>& features) {
  double sum = 0;
  for (const Rating& r : ratings) {
    const double error = static_cast<double>(r.value - predicted(features[r.user], features[r.item])) /
                         static_cast<double>(kOne);
    sum += error * error;
  }
  return ratings.empty() ? 0 : sum / static_cast<double>(ratings.size());
}

}  // namespace rubato::apps
