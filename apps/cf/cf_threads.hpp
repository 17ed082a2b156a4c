// Collaborative filtering by threads: the software-only version, bulk-synchronous as in Ligra (Shun and
// Blelloch, 2013). Threads take participants of one side, and a barrier ends each step.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/cf/ratings.hpp"

namespace rubato::apps {

/// The features after `steps` steps. Equals serial_cf(). threads >= 1.
std::vector<Features> cf_threads(const RatingSet& set, std::vector<Features> features, std::uint32_t steps,
                                 std::uint32_t threads);

}  // namespace rubato::apps
