// Assemblies of genome, and its serial reference.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/common/gene.hpp"

namespace rubato::apps::genome {

struct Assembly {
  std::string gene;          ///< the chains one after another, by the number of their first segment
  std::uint64_t unique = 0;  ///< different segments
  std::uint64_t chains = 0;  ///< that could not be linked any more
  bool operator==(const Assembly&) const = default;
};

/// Segments of equal content count as the first of them. Overlaps become ever shorter. For each, every
/// segment without a successor, in the order of numbers, gets one: the first other segment that has no
/// predecessor yet and begins with the end of this one. A ring of segments is cut at its shortest overlap, of
/// equal ones at the first behind its least number.
Assembly assemble_serially(const std::vector<Segment>& segments, std::uint64_t length);

}  // namespace rubato::apps::genome
