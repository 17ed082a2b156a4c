// Discipline `locks14`, as memcached 1.4.15 has it and the publication's figures take as their baseline:
// striped item locks, but one lock for all LRU lists, and one for slabs (T83).
// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>

#include "cached/discipline/locks.hpp"

namespace rubato::cached {

class Locks14 : public Locks {
 public:
  static constexpr const char* kName = "locks14";

  using Locks::Locks;

  /// The maintainer that moves an item between two lists is inside twice, hence a recursive mutex.
  template <class F>
  auto lru_section(unsigned, F&& f) {
    std::lock_guard guard(lists_);
    return f();
  }

 private:
  alignas(64) std::recursive_mutex lists_;
};

}  // namespace rubato::cached
