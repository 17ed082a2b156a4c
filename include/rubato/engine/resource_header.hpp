// Header that precedes the object of every resource<T> in memory (resource.hpp). The same on every engine.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rubato::inline v0::engine {

/// 64 bytes, so that the object starts on a line of its own.
struct alignas(64) ResourceHeader {
  ResourceHeader* next_retired = nullptr;
  void (*destroy)(ResourceHeader*) = nullptr;
  std::uint64_t is_removed = 0;
  // The native engine's; the others leave them alone.
  std::atomic<std::uint64_t> synchronization{0};  ///< latch or version (native/sync)
  std::atomic<std::uint64_t> waiting{0};          ///< waiters for the latch (native/sync/patience.hpp)
  std::uint64_t retired_in = 0;                   ///< epoch of its removal (native/memory/epochs.hpp)
  std::size_t bytes = 0;                          ///< of header and object
};
static_assert(sizeof(ResourceHeader) == 64);

/// Marks the object of this header as removed. @returns false if it was already.
inline bool mark_removed(ResourceHeader& header) {
#if defined(RUBATO_ENGINE_NATIVE)  // tasks of two workers may remove it at once
  return std::atomic_ref(header.is_removed).exchange(1, std::memory_order_relaxed) == 0;
#else
  if (header.is_removed != 0) return false;
  header.is_removed = 1;
  return true;
#endif
}

/// Destroys a list of retired resources.
inline void destroy_all(ResourceHeader* header) {
  while (header != nullptr) {
    ResourceHeader* const next = header->next_retired;
    header->destroy(header);
    header = next;
  }
}

}  // namespace rubato::inline v0::engine
