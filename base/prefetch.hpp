// Asking the host for memory before it is read: who goes on meanwhile does not wait for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace rubato {

/// The host cache line of `address`, which may be anything.
[[gnu::always_inline]] inline void prefetch(const void* address) {
  __builtin_prefetch(address);
  // GCC finds no effect in a function that only prefetches, and leaves out calls of it. This is one, and
  // costs nothing.
  asm volatile("");
}

/// The host cache lines of the first `bytes` of `object`, which may be null.
inline void prefetch(const void* object, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 64) prefetch(static_cast<const char*>(object) + at);
}

}  // namespace rubato
