// Event-driven simulation of a circuit by threads: the software-only version, conservative and asynchronous
// (Chandy and Misra, 1979; Bryant, 1977), as in Galois. A gate simulates up to the time until which all its
// inputs are known.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "apps/des/circuit.hpp"
#include "apps/des/simulation.hpp"

namespace rubato::apps {

/// Equals simulate_serially(). threads >= 1.
SimulationResult simulate_by_threads(const Circuit& circuit, const Stimulus& stimulus, bool with_log,
                                     std::uint32_t threads);

}  // namespace rubato::apps
