// Asking the host for memory before it is read: who goes on meanwhile does not wait for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>

namespace rubato {

/// The host cache line of `address`, which may be anything.
[[gnu::always_inline]] inline void prefetch(const void* address) {
  __builtin_prefetch(address);
  // GCC finds no effect in a function that only prefetches, and leaves out calls of it. This is one, and
  // costs nothing.
  asm volatile("");
}

/// The host cache lines of the first `bytes` of `object`, which may be null, one instruction each.
template <std::size_t bytes>
[[gnu::always_inline]] inline void prefetch(const void* object) {
  [&]<std::size_t... line>(std::index_sequence<line...>) {
    (prefetch(static_cast<const char*>(object) + line * 64), ...);
  }(std::make_index_sequence<(bytes + 63) / 64>());
}

}  // namespace rubato
