// The serial reference of cf: one pass over all ratings a step.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/cf/ratings.hpp"

namespace rubato::apps {

/// The features after `steps` steps: users adapt in steps 0, 2, 4, ..., items in the others.
std::vector<Features> serial_cf(const std::vector<Rating>& ratings, std::vector<Features> features,
                                std::uint32_t steps);

}  // namespace rubato::apps
