// A disk-backed key-value store in tasks (Espresso, Sec. VI-D): a query is one SPEC task, which is atomic. A
// tuple that is not in memory comes from the file, and another one makes room.
// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "apps/kvstore/queries.hpp"
#include "apps/kvstore/store.hpp"

namespace rubato::apps::kvstore {

/// Runs all queries. @param is_ordered they have their numbers for timestamps; else none has one.
/// @throws InputError if the file cannot be read or written.
Contents answer_by_tasks(Store& store, const std::vector<Query>& queries, Variant variant, bool is_ordered);

/// The first error in a sentence: a tuple, frame or buffer that is wrong after that; empty: none is.
std::string what_is_wrong(Store& store, const Contents& expected);

}  // namespace rubato::apps::kvstore
