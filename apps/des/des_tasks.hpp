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
  nonspec,      ///< untimestamped: they run once their parent has committed
  spec,         ///< at their parent's timestamp, speculative; no locale, as in the publication (Sec. II-B),
                ///< where the core that runs one chooses the log
  spec_at_log,  ///< the same, where the log is: its locale makes them take turns
};

/// Place of the record of a pin's change.
enum class Events {
  arguments,  ///< in the arguments of its task
  heap,       ///< in a block that its creator allocates and its task frees, as in Galois (Sec. II-C)
};

/// Simulates with tasks of one type. With log tasks, `expected` (not null) says how many changes each net
/// makes, which is the room that its part of the log gets: memory is not allocated inside tasks.
/// More changes than that, as only a wrong simulation can make, are left out of the log.
SimulationResult simulate(const Circuit& circuit, const Stimulus& stimulus, TaskType type, LogTasks log,
                          Events events, const SimulationResult* expected);

}  // namespace rubato::apps
