// The serial reference of silo.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "apps/silo/transactions.hpp"

namespace rubato::apps::silo {

/// Executes one transaction after another, in the order of their numbers.
std::vector<Answer> run_serially(Database& database, const std::vector<Transaction>& transactions);

}  // namespace rubato::apps::silo
