// Creation of the conflict scheme that a chip is configured with.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "chip/config/config.hpp"
#include "chip/conflict/conflict_scheme.hpp"
#include "chip/noc/network.hpp"

namespace rubato::chip {

/// `config` and `network` outlive it.
std::unique_ptr<ConflictScheme> make_conflict_scheme(const Config& config, Network& network);

}  // namespace rubato::chip
