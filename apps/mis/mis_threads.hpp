// Maximal independent set by threads: the software-only version, deterministic reservations on a prefix of
// the order (Blelloch, Fineman and Shun, SPAA 2012; PBBS).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/common/priority_order.hpp"

namespace rubato::apps {

/// 1 for each member of the greedy set. Equals serial_mis(). threads >= 1.
std::vector<std::uint8_t> mis_threads(const Adjacency& graph, const PriorityOrder& priorities,
                                      std::uint32_t threads);

}  // namespace rubato::apps
