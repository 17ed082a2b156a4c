// Collaborative filtering as ordered tasks (Espresso, Sec. VI-B and Table III): in each of its steps users
// adapt their features to those of the items that they rated, in the next one items to users. A task is one
// participant's step, which is the timestamp: all of a step may run at once, and tasks are large.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/cf/ratings.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps {

/// The features after `steps` steps, computed by tasks of one type. Equals serial_cf().
std::vector<Features> cf(const RatingSet& set, std::vector<Features> features, std::uint32_t steps,
                         TaskType type);

}  // namespace rubato::apps
