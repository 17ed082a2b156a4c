// Visits of a tree that is placed over NUMA nodes run on the workers of these nodes. In a process of its own,
// in which HWLOC_SYNTHETIC describes a machine with a NUMA node for each CPU.
// SPDX-License-Identifier: MIT
#if defined(RUBATO_ENGINE_NATIVE)
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "apps/ycsb/engine_setup.hpp"
#include "apps/ycsb/numa_placement.hpp"
#include "tests/apps/ycsb/variant_checks.hpp"
#include "tests/native/machine_quota.hpp"
#include "tests/native/topology/synthetic_machine.hpp"
#include "tests/native/use_workers.hpp"

namespace rubato::apps::ycsb {
namespace {

struct Run {
  std::string wrong;  // what verify() says
  NumaVisits visits;
};

Run run_placed(const std::string& policy, char workload_name, Sync sync, unsigned workers) {
  use_workers(workers);
  set_up_engine(workers, sync);
  NumaPlacement placement(policy);
  const WorkloadOptions workload{.name = workload_name,
                                 .distribution = Distribution::uniform,
                                 .key_order = usual_key_order(workload_name),
                                 .records = 5000,
                                 .operations = 20'000};
  const std::unique_ptr<Variant> variant = make_task_variant(&placement);
  const std::string wrong = run_and_verify(*variant, workload, workers);
  return {wrong, placement.visits()};
}

/// @returns what is wrong; empty: nothing.
std::string check_synthetic_machine(unsigned cpus) {
  const MachineQuota none(std::nullopt);
  const std::string last = "node:" + std::to_string(cpus - 1);
  for (const std::string& policy : {std::string("interleave"), std::string("local"), last}) {
    const Run reads = run_placed(policy, 'C', Sync::automatic, cpus);
    if (!reads.wrong.empty()) return policy + ": " + reads.wrong;
    if (reads.visits.all < 20'000) return policy + ": too few visits are counted";
    if (reads.visits.near != reads.visits.all) return policy + ": lookups visit nodes from far";

    // A visit that lost against another is tried again where there is time.
    const Run writes = run_placed(policy, 'A', Sync::automatic, cpus);
    if (!writes.wrong.empty()) return policy + ": " + writes.wrong;
    if (writes.visits.near < writes.visits.all / 100 * 95) return policy + ": updates visit nodes from far";

    const Run merges = run_placed(policy, kChurn, Sync::optimistic, cpus);
    if (!merges.wrong.empty()) return policy + ": " + merges.wrong;
  }
  // Pools serialize them.
  const Run pooled = run_placed("interleave", 'C', Sync::scheduled, cpus);
  if (!pooled.wrong.empty()) return "scheduled: " + pooled.wrong;
  return pooled.visits.near == pooled.visits.all ? "" : "scheduled: visits of nodes from far";
}

TEST(NumaVisitsDeathTest, RunOnTheNodesWhereTheTreeLies) {
  expect_right_on_synthetic_machine(check_synthetic_machine);
}

}  // namespace
}  // namespace rubato::apps::ycsb
#endif
