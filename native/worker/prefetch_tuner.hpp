// The prefetch distance that adapts itself, by hill climbing: a step in one direction, and back if tasks
// became slower. R6.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "native/policy.hpp"

namespace rubato::inline v0::native {

class PrefetchTuner {
 public:
  /// A full batch of tasks took so long, in ticks, at this distance. @returns that of the next one.
  unsigned next_distance(unsigned distance, std::uint64_t took) {
    measured_ += took;
    if (++batches_ < policy::kBatchesAStep) return distance;
    if (measured_ > before_ + before_ / 64) step_ = -step_;  // slower by more than noise
    before_ = measured_;
    measured_ = batches_ = 0;
    return static_cast<unsigned>(std::clamp(static_cast<int>(distance) + step_, 1, policy::kLargestDistance));
  }

 private:
  int step_ = 1;
  std::uint64_t measured_ = 0, before_ = 0;  // ticks of policy::kBatchesAStep batches
  unsigned batches_ = 0;
};

}  // namespace rubato::inline v0::native
