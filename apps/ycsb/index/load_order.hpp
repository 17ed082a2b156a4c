// The order in which an index is loaded by insertions: random within windows of the sorted keys. So nodes
// become as full as random insertions leave them, which no bottom-up load of each index would have to
// imitate. A window fits the L2 cache, so that loading is quick.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/rng.hpp"

namespace rubato::apps::ycsb::index {

inline constexpr std::size_t kLoadWindow = 32'768;

template <class T>
void shuffle(std::vector<T>& window, Rng& rng) {
  for (std::size_t n = window.size(); n > 1; --n) std::swap(window[n - 1], window[rng.below(n)]);
}

}  // namespace rubato::apps::ycsb::index
