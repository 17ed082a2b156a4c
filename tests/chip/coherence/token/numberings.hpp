// Agents are alike: of all ways to number them, the least text stands for a state that an explorer visits.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace rubato::chip {

/// `serialized(order)`: the state's text with agent a numbered order[a]; `is_legal(order)`: the numbering may
/// be chosen, as that of the first order, 0, 1, 2 and so on, always may.
template <class Serialized, class IsLegal>
std::string least_of_numberings(std::uint32_t agents, const Serialized& serialized, const IsLegal& is_legal) {
  std::vector<std::uint16_t> order(agents);
  std::iota(order.begin(), order.end(), std::uint16_t{0});
  std::string least;
  do {
    if (!is_legal(order)) continue;
    std::string text = serialized(order);
    if (least.empty() || text < least) least = std::move(text);
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}
template <class Serialized>
std::string least_of_numberings(std::uint32_t agents, const Serialized& serialized) {
  return least_of_numberings(agents, serialized, [](const auto&) { return true; });
}

}  // namespace rubato::chip
