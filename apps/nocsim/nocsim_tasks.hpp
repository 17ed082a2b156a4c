// Simulation of a network on chip as ordered tasks (Espresso, Table III): a task is an event of one router.
// Tasks allocate packets and flits.
// SPDX-License-Identifier: MIT
#pragma once

#include "apps/nocsim/network.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps::nocsim {

struct Simulation {
  Arrivals arrivals;
  bool is_idle = true;  ///< no router holds a flit, lacks a credit or keeps a channel taken
};

/// By tasks of one type. Equals simulate_serially().
Simulation simulate_by_tasks(const Network& network, const Schedule& schedule, TaskType type);

}  // namespace rubato::apps::nocsim
