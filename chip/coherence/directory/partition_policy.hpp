// Policy for the number of ways of a home's storage that should be directory (K59). From the measurements of
// an epoch it computes the epoch's cost with each number of ways, in probes. More directory saves
// reconstructions, more filter saves false positives. A false positive costs half as much again, because
// memory waits for it. The policy only decides; the home moves ways.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

namespace rubato::chip {

/// Measurements of a home in an epoch.
struct PartitionEpoch {
  std::uint64_t lines_out = 0;     ///< that the filter counts
  std::uint64_t memory_reads = 0;  ///< each of which a false positive would have delayed
  std::vector<std::uint64_t>
      needed_at;  ///< requests that needed the entry at this depth, from 1 (ShadowTags)
};

class PartitionPolicy {
 public:
  static constexpr std::uint32_t kRequests = 4096;  ///< an epoch

  struct Params {
    std::uint32_t ways;         ///< of the storage
    std::uint32_t least, most;  ///< of them, directory
    std::uint32_t buckets;      ///< of a way
  };
  explicit PartitionPolicy(const Params& p) : p_(p) {}
  const Params& params() const { return p_; }

  /// Probes that a directory of `ways` ways would have made for want of entries that one of all ways has.
  double reconstructions(std::uint32_t ways, const PartitionEpoch& epoch) const;
  /// Probes for nothing that the filter beside it would have made (K52).
  double false_positives(std::uint32_t ways, const PartitionEpoch& epoch) const;
  double cost(std::uint32_t ways, const PartitionEpoch& epoch) const {
    return reconstructions(ways, epoch) + 1.5 * false_positives(ways, epoch);
  }

  /// Called when an epoch ends. @returns the number of ways that a directory of `now` ways should have.
  std::uint32_t next(std::uint32_t now, const PartitionEpoch& epoch);

 private:
  Params p_;
  int wanted_ = 0;           // in the epoch before: more (1) or fewer (-1)
  std::uint32_t rests_ = 0;  // epochs in which nothing moves
};

}  // namespace rubato::chip
