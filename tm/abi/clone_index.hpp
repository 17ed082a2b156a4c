// All functions of the process that have a transactional clone: one immutable sorted index, replaced when an
// object is loaded or unloaded, and read without a lock (T15).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace rubato::tm {

/// An entry of an object's clone table, as GCC lays it out.
struct Clone {
  const void* function;
  void* clone;
};

/// Tables are named by their address: the same one is given to remove_clones().
void add_clones(const Clone* table, std::size_t count);
void remove_clones(const Clone* table);
/// Null without a clone.
void* find_clone(const void* function);

}  // namespace rubato::tm
