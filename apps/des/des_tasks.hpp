// Event-driven simulation of a circuit as ordered tasks (Espresso, Sec. II-B): a task changes one input pin
// of one gate at its simulated time.
// SPDX-License-Identifier: MIT
#pragma once

#include "apps/des/circuit.hpp"
#include "apps/des/simulation.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps {

enum class LogTasks {
  none,
  nonspec,        ///< untimestamped: they run once their parent has committed
  spec,           ///< at their parent's timestamp, speculative
  spec_anywhere,  ///< the same without locale: atomic as they are, they need none
};

/// Simulates with tasks of one type. With log tasks, `expected` (not null) says how many changes each net
/// makes, which is the room that its part of the log gets: memory is not allocated inside tasks.
/// More changes than that, as only a wrong simulation can make, are left out of the log.
SimulationResult simulate(const Circuit& circuit, const Stimulus& stimulus, TaskType type, LogTasks log,
                          const SimulationResult* expected);

}  // namespace rubato::apps
