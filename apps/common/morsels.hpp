// Morsels: threads take the next few indices of a range from a shared counter, until none is left (Leis et
// al., SIGMOD 2014).
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace rubato::apps {

/// Calls work(begin, end) for morsels of [next, count) until none is left; many threads at once.
template <class Work>
void take_morsels(std::atomic<std::size_t>& next, std::size_t count, std::size_t morsel, Work work) {
  for (std::size_t begin; (begin = next.fetch_add(morsel, std::memory_order_relaxed)) < count;) {
    work(begin, std::min(begin + morsel, count));
  }
}

}  // namespace rubato::apps
