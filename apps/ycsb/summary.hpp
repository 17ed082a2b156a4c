// Output of a run.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/ycsb/numa_placement.hpp"
#include "apps/ycsb/variant.hpp"

namespace rubato::apps::ycsb {

struct Summary {
  WorkloadOptions workload;
  VariantName variant = VariantName::tasks;
  Sync sync = Sync::automatic;
  unsigned workers = 1;
  unsigned inflight = 1;
  double load_began = 0;  ///< seconds of the steady clock, by which a profile's samples can be cut
  double load_seconds = 0;
  double began = 0;                        ///< the run; as load_began
  double seconds = 0;                      ///< of the run
  std::vector<std::uint64_t> latencies{};  ///< nanoseconds, ascending
  std::optional<MemoryPeaks> memory{};
  NumaBytes numa_bytes{};    ///< with --numa
  NumaVisits numa_visits{};  ///< with --numa; those of the load by insertion, too
  std::optional<std::string>
      wrong{};  ///< the first thing the checks found; empty: nothing; none: not checked

  double million_requests_a_second() const {
    return static_cast<double>(workload.operations) / seconds / 1e6;
  }
  double million_loaded_a_second() const {
    return static_cast<double>(workload.records) / load_seconds / 1e6;
  }
  /// In microseconds; 0 without latencies. quantile in [0, 1).
  double latency(double quantile) const;
};

std::string name_of(VariantName variant);
std::string name_of(Sync sync);
std::string name_of(Distribution distribution);
/// "A" to "F", "churn".
std::string name_of_workload(char workload);

/// To standard output. The object has the checks' result, the lines have not: they come before the checks,
/// which may take long.
void print_lines(const Summary& summary);
void print_json(const Summary& summary);

}  // namespace rubato::apps::ycsb
