// --numa: on which NUMA node the next node of the task tree lies.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rubato::apps::ycsb {

/// Numbers of NUMA nodes, and bytes on each.
using NumaBytes = std::vector<std::pair<unsigned, std::uint64_t>>;

/// From "interleave" (on all nodes, in turn), "local" (on the node of the worker that makes it) or "node:N"
/// (in turn on this one). InputError for other words, for a NUMA node that the machine does not have, and
/// where there are none: on the serial engine, and without hwloc.
class NumaPlacement {
 public:
  explicit NumaPlacement(const std::string& text);
  NumaPlacement(const NumaPlacement&) = delete;
  NumaPlacement& operator=(const NumaPlacement&) = delete;

  /// From any thread.
  unsigned next();
  /// Bytes of resources on each node that the policy may choose.
  NumaBytes bytes() const;

 private:
  const bool is_local_;
  std::vector<unsigned> nodes_;  // that resources may lie on
  std::atomic<unsigned> turn_{0};
};

}  // namespace rubato::apps::ycsb
