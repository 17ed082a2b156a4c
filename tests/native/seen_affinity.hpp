// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "native/topology/topology.hpp"

inline std::mutex seen_mutex;
/// The affinities that each thread had in note_affinity(). Tests clear it.
inline std::map<std::thread::id, std::set<std::vector<unsigned>>> seen;

/// A task's function.
inline void note_affinity() {
  const std::vector<unsigned> affinity = rubato::native::current_affinity();
  const std::lock_guard lock(seen_mutex);
  seen[std::this_thread::get_id()].insert(affinity);
}
