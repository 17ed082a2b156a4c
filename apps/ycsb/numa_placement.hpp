// --numa: on which NUMA node the next node of the task tree lies, and whether its visits run there.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rubato/per_worker.hpp"

namespace rubato::apps::ycsb {

/// Numbers of NUMA nodes, and bytes on each.
using NumaBytes = std::vector<std::pair<unsigned, std::uint64_t>>;

/// Visits of nodes below the root.
struct NumaVisits {
  std::uint64_t near = 0;  ///< by a worker of the NUMA node on which the tree's node lies
  std::uint64_t all = 0;
};

/// From "interleave" (on all nodes, in turn), "local" (on the node of the worker that makes it) or "node:N"
/// (in turn on this one). InputError for other words, for a NUMA node that the machine does not have or that
/// has too large a number, and where there are none: on the serial engine, and without hwloc. For the workers
/// that there are when it is made.
class NumaPlacement {
 public:
  /// The largest number of a NUMA node; links have few bits for it.
  static constexpr unsigned kLargestNode = 126;

  explicit NumaPlacement(const std::string& text);
  NumaPlacement(const NumaPlacement&) = delete;
  NumaPlacement& operator=(const NumaPlacement&) = delete;

  /// From any thread.
  unsigned next();
  /// Bytes of resources on each node that the policy may choose.
  NumaBytes bytes() const;
  /// A worker visits a node of the tree that lies on `node`.
  void note_visit(unsigned node);
  /// Not during a run.
  NumaVisits visits();

 private:
  const bool is_local_;
  std::vector<unsigned> nodes_;  // that resources may lie on
  std::atomic<unsigned> turn_{0};
  PerWorker<NumaVisits> visits_;
};

}  // namespace rubato::apps::ycsb
