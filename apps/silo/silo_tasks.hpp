// TPC-C as ordered tasks (Espresso, Table III; after the in-memory database Silo, Tu et al., SOSP 2013).
// Transaction n has the timestamps 64 n to 64 n + 63; each of its tasks has one of its own. A run therefore
// equals the execution in the order of numbers, whatever the tasks' type. Tasks allocate the rows and nodes
// that they insert.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "apps/silo/transactions.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps::silo {

/// By tasks of one type. Equals run_serially().
std::vector<Answer> run_by_tasks(Database& database, const std::vector<Transaction>& transactions,
                                 TaskType type);

}  // namespace rubato::apps::silo
