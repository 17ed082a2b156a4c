// NUMA nodes that hwloc describes: CPUs lie on them, and tasks with .numa run there. Each check runs in a
// process of its own, in which HWLOC_SYNTHETIC describes a machine with a node for each CPU.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <string>
#include <vector>

#include "native/topology/numa.hpp"
#include "native/topology/topology.hpp"
#include "rubato/numa.hpp"
#include "rubato/per_worker.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/machine_quota.hpp"
#include "tests/native/topology/synthetic_machine.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

TEST(Topology, DividesCoreGroupsByTheNodesToWhichCpusAreMoved) {
  native::Topology topology;
  topology.allowed = {{0, 0, 0}, {1, 0, 0}, {2, 1, 0}, {5, 1, 0}};
  topology.groups = 2;
  topology.move({{0, 0}, {1, 3}, {2, 3}, {3, 9}});
  const std::vector<unsigned> nodes = {topology.node_of(0), topology.node_of(1), topology.node_of(2),
                                       topology.node_of(3), topology.node_of(5)};
  EXPECT_THAT(nodes, testing::ElementsAre(0, 3, 3, 0, 0)) << "3 is not allowed, 5 is not described";
  EXPECT_EQ(topology.groups, 4u);
  EXPECT_THAT(topology.group_nodes(), testing::ElementsAre(0, 3, 3, 0));
  EXPECT_THAT(topology.derivation.back(), testing::HasSubstr("on 2 NUMA nodes, which makes 4 core groups"));
}

struct Object {
  char bytes[1000] = {};
};

/// @returns what is wrong; empty: nothing.
std::string check_synthetic_machine(unsigned cpus) {
  std::vector<unsigned> all(cpus);
  std::iota(all.begin(), all.end(), 0u);
  if (numa_nodes() != all) return "other nodes";
  const native::Topology machine = native::this_machine();
  for (unsigned cpu = 0; cpu < cpus; ++cpu) {
    if (machine.node_of(cpu) != cpu) return "CPU " + std::to_string(cpu) + " is on another node";
  }
  if (machine.groups != cpus) return "a core group on two nodes";
  if (numa_node() >= cpus) return "this thread is on no node";

  const MachineQuota none(std::nullopt);
  use_workers(cpus);
  std::atomic<unsigned> right{0};
  for (unsigned node = 0; node < cpus; ++node) {
    for (int i = 0; i < 20; ++i)
      create<nonspec>([&right, node] { right += worker_number() == node && numa_node() == node ? 1 : 0; },
                      {.numa = node});
    for (int i = 0; i < 20; ++i)
      create<nonspec>([&right, node] { right += numa_node() == node ? 1 : 0; }, {.on = i, .numa = node});
  }
  run();
  if (right != 40 * cpus) return "tasks ran on other nodes";

  const resource<Object> object = make_resource_on<Object>(cpus - 1, {});
  if (numa_bytes(cpus - 1) < sizeof(Object) || numa_bytes(0) != 0) return "the object lies on another node";
  remove(object);
  return numa_bytes(cpus - 1) == 0 ? "" : "the object was not freed";
}

TEST(NumaDeathTest, TasksAndObjectsLieOnTheNodesOfASyntheticMachine) {
  expect_right_on_synthetic_machine(check_synthetic_machine);
}

}  // namespace
