// A loop whose count is eight nearly always, as the ways of caches and filters are: without a loop then.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato {

/// f(0) to f(count - 1).
template <class F>
[[gnu::always_inline]] inline void for_each_of_eight(std::uint32_t count, F f) {
  if (count == 8) [[likely]] {
    f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7);
  } else {
    for (std::uint32_t i = 0; i < count; ++i) f(i);
  }
}

}  // namespace rubato
