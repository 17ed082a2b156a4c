// What precedes the object of every resource<T> in memory (resource.hpp). The same on every engine.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::inline v0::engine {

/// 64 bytes, so that the object starts on a line of its own.
struct alignas(64) ResourceHeader {
  ResourceHeader* next_retired = nullptr;
  void (*destroy)(ResourceHeader*) = nullptr;
  std::uint64_t is_removed = 0;
};

/// Destroys a list of retired resources.
inline void destroy_all(ResourceHeader* header) {
  while (header != nullptr) {
    ResourceHeader* const next = header->next_retired;
    header->destroy(header);
    header = next;
  }
}

}  // namespace rubato::inline v0::engine
