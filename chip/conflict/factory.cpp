// SPDX-License-Identifier: MIT
#include "chip/conflict/factory.hpp"

#include "chip/conflict/conflict_detector.hpp"

namespace rubato::chip {

std::unique_ptr<ConflictScheme> make_conflict_scheme(const Config& config, Network& network) {
  return std::make_unique<ConflictDetector>(config, network);
}

}  // namespace rubato::chip
