// Gene sequencing as ordered tasks (Espresso, Sec. VI-B and Table III; the program is that of STAMP, Cao Minh
// et al., IISWC 2008). Timestamps are the phases, locales the buckets of hash tables, so tasks of any type
// are synchronized. Tasks allocate the nodes of all lists.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/genome/assembly.hpp"
#include "rubato/rubato.hpp"

namespace rubato::apps::genome {

/// By tasks of one type. Equals assemble_serially().
/// @param expected_unique  about how many different segments there are: hash tables have so many buckets
Assembly assemble_by_tasks(const std::vector<Segment>& segments, std::uint64_t length,
                           std::uint64_t expected_unique, TaskType type);

}  // namespace rubato::apps::genome
