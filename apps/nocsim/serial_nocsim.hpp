// The serial reference of nocsim.
// SPDX-License-Identifier: MIT
#pragma once

#include "apps/nocsim/network.hpp"

namespace rubato::apps::nocsim {

/// Steps every router in every cycle, until all packets have arrived.
Arrivals simulate_serially(const Network& network, const Schedule& schedule);

}  // namespace rubato::apps::nocsim
