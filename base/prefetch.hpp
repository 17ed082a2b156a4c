// Software prefetch of host cache lines. The only door to it: a build with the CMake option
// RUBATO_HOST_HINTS=OFF prefetches nothing, and gives the same results (tools/test --long compares the golden
// runs).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>

#if !defined(RUBATO_HOST_HINTS)
#define RUBATO_HOST_HINTS 1
#endif

namespace rubato {

/// False: nothing is prefetched, so that look-ups for a prefetch alone need not be made.
inline constexpr bool kHostHints = RUBATO_HOST_HINTS != 0;

/// The host cache line of `address`, which may be anything.
[[gnu::always_inline]] inline void prefetch(const void* address) {
  if constexpr (kHostHints) {
    __builtin_prefetch(address);
    // GCC finds no effect in a function that only prefetches, and leaves out calls of it. This is one, and
    // costs nothing.
    asm volatile("");
  }
}

/// The host cache lines of the first `bytes` of `object`, which may be null, one instruction each.
template <std::size_t bytes>
[[gnu::always_inline]] inline void prefetch(const void* object) {
  [&]<std::size_t... line>(std::index_sequence<line...>) {
    (prefetch(static_cast<const char*>(object) + line * 64), ...);
  }(std::make_index_sequence<(bytes + 63) / 64>());
}

}  // namespace rubato
