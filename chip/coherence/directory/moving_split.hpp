// State of a home, beside its directory and filter, if the split of the storage between them moves (K57 to
// K59): measurements, policy, and progress of a move. The home itself moves ways (TokenProtocol).
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "chip/coherence/directory/partition_policy.hpp"
#include "chip/coherence/directory/shadow_tags.hpp"
#include "chip/coherence/filter/d_left_filter.hpp"

namespace rubato::chip {

struct MovingSplit {
  MovingSplit(DLeftFilter& of, const PartitionPolicy::Params& p, std::uint32_t directory_ways)
      : filter(&of), shadow(p.buckets, p.ways), policy(p), target(directory_ways) {
    epoch.needed_at.resize(p.ways + 1);
  }

  /// A request of a line; `needs_entry`: without one it is a probe.
  void on_request(LineAddr frame, bool needs_entry) {
    ++requests;
    const std::uint32_t depth = shadow.use(frame);
    if (depth == 0 || !needs_entry) return;
    ++shadow_hits;
    epoch.needed_at[depth] += shadow.scale();
  }
  bool is_epoch_over() const { return requests == PartitionPolicy::kRequests; }
  /// @returns ways that should be directory from now on.
  std::uint32_t end_epoch(std::uint64_t lines_out) {
    epoch.lines_out = lines_out;
    ++epochs;
    predicted_rebuilt += std::llround(policy.reconstructions(target, epoch));
    predicted_false_positives += std::llround(policy.false_positives(target, epoch));
    const std::uint32_t next = policy.next(target, epoch);
    epoch.memory_reads = requests = 0;
    std::fill(epoch.needed_at.begin(), epoch.needed_at.end(), 0);
    return next;
  }

  DLeftFilter* filter;
  ShadowTags shadow;
  PartitionPolicy policy;
  PartitionEpoch epoch;
  std::uint64_t requests = 0;  // of the epoch
  std::uint32_t target;        // directory ways that there will be
  bool is_scheduled = false;   // the move's next event
  std::uint64_t epochs = 0, moves = 0, ways_moved = 0, shadow_hits = 0;
  std::uint64_t predicted_rebuilt = 0, predicted_false_positives = 0;
};

}  // namespace rubato::chip
