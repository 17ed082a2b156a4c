// Sources of several searches of one graph.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/common/graph.hpp"

namespace rubato::apps {

/// `first`, then count - 1 different others that have arcs, drawn by `seed`, as in Graph500's search keys.
/// @throws InputError if there are fewer.
std::vector<std::uint32_t> search_sources(const Graph& graph, std::uint32_t first, std::uint64_t count,
                                          std::uint64_t seed);

}  // namespace rubato::apps
