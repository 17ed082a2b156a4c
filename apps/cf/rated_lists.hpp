// The ratings of each participant, gathered: tasks and threads walk them participant by participant.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "apps/cf/ratings.hpp"

namespace rubato::apps {

struct Rated {
  std::uint32_t other;
  Fixed value;
};

/// Participant p has rated[first[p]] to rated[first[p + 1] - 1], in the order of the ratings.
struct RatedLists {
  std::vector<std::uint32_t> first;
  std::vector<Rated> rated;
};

inline RatedLists rated_lists(const RatingSet& set) {
  const std::vector<Rating>& ratings = set.ratings;
  RatedLists lists{std::vector<std::uint32_t>(std::size_t{set.participants()} + 1, 0),
                   std::vector<Rated>(2 * ratings.size())};
  for (const Rating& r : ratings) {
    ++lists.first[std::size_t{r.user} + 1];
    ++lists.first[std::size_t{r.item} + 1];
  }
  std::partial_sum(lists.first.begin(), lists.first.end(), lists.first.begin());
  std::vector<std::uint32_t> next = lists.first;
  for (const Rating& r : ratings) {
    lists.rated[next[r.user]++] = {r.item, r.value};
    lists.rated[next[r.item]++] = {r.user, r.value};
  }
  return lists;
}

}  // namespace rubato::apps
