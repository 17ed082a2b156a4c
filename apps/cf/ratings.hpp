// Ratings of items by users, and features in fixed point: the input of both cf's tasks and its serial
// reference. Integer arithmetic, so that the order of sums changes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "apps/common/graph.hpp"

namespace rubato::apps {

inline constexpr unsigned kFeatures = 16;
/// A number in fixed point: 1 is kOne.
using Fixed = std::int32_t;
inline constexpr unsigned kFractionBits = 16;
inline constexpr Fixed kOne = Fixed{1} << kFractionBits;
inline constexpr Fixed kMostFeature = 4 * kOne;  // so that no sum over a rating overflows

using Features = std::array<Fixed, kFeatures>;

/// Rating between two participants: users come first, then items.
struct Rating {
  std::uint32_t user;
  std::uint32_t item;
  Fixed value;  ///< above 0, at most kOne
};

struct RatingSet {
  std::vector<Rating> ratings;
  std::vector<std::uint64_t> user_ids;  ///< the input's number of each user
  std::vector<std::uint64_t> item_ids;
  std::uint32_t users() const { return static_cast<std::uint32_t>(user_ids.size()); }
  std::uint32_t participants() const { return users() + static_cast<std::uint32_t>(item_ids.size()); }
};

/// Each vertex is a user and an item. Each arc is the rating of its head by its tail: its length relative to
/// the largest.
RatingSet ratings_of(const Graph& graph);

/// Small and different from each other, the same for the same seed.
std::vector<Features> first_features(std::uint32_t participants, std::uint64_t seed);

/// Rating that the features of both predict.
inline std::int64_t predicted(const Features& a, const Features& b) {
  std::int64_t sum = 0;
  for (unsigned i = 0; i < kFeatures; ++i) sum += std::int64_t{a[i]} * b[i];
  return sum >> kFractionBits;
}

/// The feature after a step down the gradient of the squared error, with a pull towards 0. `gradient` is the
/// sum, over all `ratings` of a participant, of error times the other side's feature.
inline Fixed stepped(Fixed feature, std::int64_t gradient, std::uint32_t ratings) {
  constexpr int kRate = 2, kPull = 64;
  const std::int64_t moved =
      feature + (gradient >> kFractionBits) / (kRate * std::int64_t{ratings}) - feature / kPull;
  return static_cast<Fixed>(moved > kMostFeature    ? kMostFeature
                            : moved < -kMostFeature ? -kMostFeature
                                                    : moved);
}

/// The mean of the squared errors of all ratings.
double mean_squared_error(const std::vector<Rating>& ratings, const std::vector<Features>& features);

}  // namespace rubato::apps
