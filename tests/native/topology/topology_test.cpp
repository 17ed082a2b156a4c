// R3: the number of workers, from made-up trees of /proc and /sys: both versions of control groups,
// nested groups, quotas below, at and above whole CPUs, and files that are missing or make no sense.
// SPDX-License-Identifier: MIT
#include "native/topology/topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "native/topology/cgroups.hpp"
#include "native/topology/cpu_list.hpp"
#include "tests/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
using rubato::TemporaryFolder;
using rubato::native::derive_topology;
using rubato::native::parse_cpu_list;
using rubato::native::print_cpu_list;
using rubato::native::Topology;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<unsigned> kEight = {0, 1, 2, 3, 4, 5, 6, 7};

/// A folder that stands for "/".
class Tree {
 public:
  Tree& file(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    root_.write(path, text);
    return *this;
  }
  Tree& mounts(const std::string& lines) { return file("proc/self/mountinfo", lines); }
  Tree& groups(const std::string& lines) { return file("proc/self/cgroup", lines); }

  Topology derive(const std::vector<unsigned>& affinity = kEight) const {
    return derive_topology(affinity, root_.path());
  }
  unsigned workers(const std::vector<unsigned>& affinity = kEight) const { return derive(affinity).workers; }

 private:
  const TemporaryFolder root_;
};

const std::string kMountV2 =
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
const std::string kMountV1 =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:10 - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
    "34 31 0:31 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";

struct QuotaCase {
  unsigned microseconds;  // of 100,000
  unsigned workers;
};
class Quota : public testing::TestWithParam<QuotaCase> {};

TEST_P(Quota, OfVersion2IsRoundedUp) {
  Tree tree;
  tree.mounts(kMountV2).groups("0::/work\n");
  tree.file("sys/fs/cgroup/work/cpu.max", std::to_string(GetParam().microseconds) + " 100000\n");
  EXPECT_EQ(tree.workers(), GetParam().workers);
}
TEST_P(Quota, OfVersion1IsRoundedUp) {
  Tree tree;
  tree.mounts(kMountV1).groups("4:cpu,cpuacct:/work\n3:cpuset:/\n");
  tree.file("sys/fs/cgroup/cpu,cpuacct/work/cpu.cfs_quota_us",
            std::to_string(GetParam().microseconds) + "\n");
  tree.file("sys/fs/cgroup/cpu,cpuacct/work/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(tree.workers(), GetParam().workers);
}
INSTANTIATE_TEST_SUITE_P(Quotas, Quota,
                         testing::Values(QuotaCase{50'000, 1}, QuotaCase{100'000, 1}, QuotaCase{100'001, 2},
                                         QuotaCase{150'000, 2}, QuotaCase{800'000, 8},
                                         QuotaCase{1'600'000, 8}),
                         [](const auto& quota) { return std::to_string(quota.param.microseconds); });

TEST(Topology, IsTheAffinityWithoutAnyFiles) {
  const Tree tree;
  const Topology topology = tree.derive({1, 3, 4, 5});
  EXPECT_EQ(topology.workers, 4u);
  EXPECT_EQ(topology.quota, std::nullopt);
  EXPECT_TRUE(topology.pins(4));
  EXPECT_THAT(topology.derivation,
              ElementsAre("affinity allows 4 CPUs: 1,3-5", "no control group sets a CPU quota",
                          "4 workers in 1 core group, each pinned to a CPU of its own"));
}

TEST(Topology, TakesTheSmallestQuotaOfAllGroupsAbove) {
  Tree tree;
  tree.mounts(kMountV2).groups("0::/slice/service/job\n");
  tree.file("sys/fs/cgroup/slice/cpu.max", "150000 100000\n");
  tree.file("sys/fs/cgroup/slice/service/cpu.max", "max 100000\n");
  tree.file("sys/fs/cgroup/slice/service/job/cpu.max", "400000 100000\n");
  const Topology topology = tree.derive();
  EXPECT_EQ(topology.workers, 2u);
  EXPECT_EQ(topology.quota, 1.5);
  EXPECT_THAT(topology.derivation,
              Contains("/sys/fs/cgroup/slice/cpu.max allows 1.5 CPUs (150000 of every 100000 "
                       "microseconds)"));
  EXPECT_THAT(topology.derivation, Contains("2 workers in 1 core group, not pinned because of the quota"));
}

TEST(Topology, TakesTheSmallestQuotaInVersion1Too) {
  Tree tree;
  tree.mounts(kMountV1).groups("4:cpu,cpuacct:/a/b\n");
  const std::string base = "sys/fs/cgroup/cpu,cpuacct/";
  tree.file(base + "cpu.cfs_quota_us", "-1\n").file(base + "cpu.cfs_period_us", "100000\n");
  tree.file(base + "a/cpu.cfs_quota_us", "50000\n").file(base + "a/cpu.cfs_period_us", "25000\n");
  tree.file(base + "a/b/cpu.cfs_quota_us", "300000\n").file(base + "a/b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(tree.workers(), 2u);
}

TEST(Topology, ReadsBothVersionsInAHybridHierarchy) {
  Tree tree;
  tree.mounts(kMountV1 + "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
  tree.groups("4:cpu,cpuacct:/old\n3:cpuset:/\n0::/new\n");
  tree.file("sys/fs/cgroup/cpu,cpuacct/old/cpu.cfs_quota_us", "300000\n");
  tree.file("sys/fs/cgroup/cpu,cpuacct/old/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(tree.workers(), 3u);
  tree.file("sys/fs/cgroup/unified/new/cpu.max", "200000 100000\n");
  EXPECT_EQ(tree.workers(), 2u);
}

TEST(Topology, RespectsCpuSetsOfBothVersions) {
  Tree v2;
  v2.mounts(kMountV2).groups("0::/work\n");
  v2.file("sys/fs/cgroup/work/cpuset.cpus.effective", "2-3,9\n");
  EXPECT_EQ(v2.workers(), 2u);
  EXPECT_EQ(v2.derive().allowed.front().cpu, 2u);

  Tree v1;
  v1.mounts(kMountV1).groups("3:cpuset:/work\n");
  v1.file("sys/fs/cgroup/cpuset/cpuset.cpus", "0-7\n");
  v1.file("sys/fs/cgroup/cpuset/work/cpuset.cpus", "5-7\n");
  EXPECT_EQ(v1.workers(), 3u);
}

TEST(Topology, SeesItsOwnGroupInAContainer) {
  // The hierarchy is mounted from the container's group on, as with Docker and version 1.
  Tree tree;
  tree.mounts("32 31 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n");
  tree.groups("4:cpu:/docker/abc/inner\n");
  tree.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  tree.file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(tree.workers(), 2u);
  tree.file("sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "100000\n");
  tree.file("sys/fs/cgroup/cpu/inner/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(tree.workers(), 1u);
}

TEST(Topology, DecodesMountPointsWithBlanks) {
  Tree tree;
  tree.mounts("31 23 0:28 / /my\\040groups rw - cgroup2 cgroup2 rw\n").groups("0::/\n");
  tree.file("my groups/cpu.max", "100000 100000\n");
  EXPECT_EQ(tree.workers(), 1u);
}

TEST(Topology, SaysWhatItDoesNotUnderstandAndGoesOn) {
  Tree tree;
  tree.mounts(kMountV2).groups("0::/work\n");
  tree.file("sys/fs/cgroup/work/cpu.max", "a lot\n");
  tree.file("sys/fs/cgroup/work/cpuset.cpus.effective", "3-1\n");
  const Topology topology = tree.derive();
  EXPECT_EQ(topology.workers, 8u);
  EXPECT_THAT(topology.derivation,
              Contains("/sys/fs/cgroup/work/cpu.max is not understood and ignored: \"a lot\""));
  EXPECT_THAT(topology.derivation, Contains(HasSubstr("cpuset.cpus.effective is not understood")));
}

TEST(Topology, HasAtLeastOneWorker) {
  Tree tree;
  tree.mounts(kMountV2).groups("0::/\n");
  tree.file("sys/fs/cgroup/cpu.max", "1000 100000\n");
  EXPECT_EQ(tree.workers(), 1u);
  EXPECT_EQ(tree.workers({5}), 1u);
}

TEST(Topology, PinsOnlyAsManyWorkersAsCpusAndWithoutQuota) {
  Tree tree;
  EXPECT_TRUE(tree.derive().pins(8));
  EXPECT_FALSE(tree.derive().pins(7));
  EXPECT_FALSE(tree.derive().pins(9));
  tree.mounts(kMountV2).groups("0::/\n").file("sys/fs/cgroup/cpu.max", "800000 100000\n");
  EXPECT_EQ(tree.workers(), 8u);
  EXPECT_FALSE(tree.derive().pins(8));
}

TEST(Topology, GroupsCpusByOutermostCacheAndNode) {
  Tree tree;
  for (const unsigned cpu : kEight) {
    const std::string caches = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/";
    tree.file(caches + "index0/shared_cpu_list", std::to_string(cpu) + "\n");
    tree.file(caches + "index1/shared_cpu_list", cpu < 4 ? "0-3\n" : "4-7\n");
  }
  tree.file("sys/devices/system/node/online", "0-1\n");
  tree.file("sys/devices/system/node/node0/cpulist", "0-5\n");
  tree.file("sys/devices/system/node/node1/cpulist", "6-7\n");
  const Topology topology = tree.derive();
  std::vector<unsigned> groups;
  std::vector<unsigned> nodes;
  for (const auto& cpu : topology.allowed) {
    groups.push_back(cpu.group);
    nodes.push_back(cpu.node);
  }
  EXPECT_THAT(groups, ElementsAre(0, 0, 0, 0, 1, 1, 2, 2));
  EXPECT_THAT(nodes, ElementsAre(0, 0, 0, 0, 0, 0, 1, 1));
  EXPECT_EQ(topology.groups, 3u);
  EXPECT_THAT(topology.group_nodes(), ElementsAre(0, 0, 1));
  std::vector<unsigned> of_workers;
  for (unsigned worker = 0; worker < 10; ++worker) of_workers.push_back(topology.group_of(worker));
  EXPECT_THAT(of_workers, ElementsAre(0, 0, 0, 0, 1, 1, 2, 2, 0, 0)) << "the last two are oversubscribed";
}

TEST(Topology, OfThisMachineFitsItsAffinity) {
  const Topology topology = rubato::native::this_machine();
  EXPECT_GE(topology.workers, 1u);
  EXPECT_LE(topology.workers, rubato::native::current_affinity().size());
}

TEST(Topology, PinsAThreadAndLetsItGo) {
  const unsigned cpu = rubato::native::current_affinity().back();
  bool is_pinned = false;
  std::vector<unsigned> pinned, after;
  const Topology topology = rubato::native::this_machine();
  std::vector<unsigned> allowed;
  for (const auto& a : topology.allowed) allowed.push_back(a.cpu);
  std::thread thread([&] {
    is_pinned = rubato::native::pin_this_thread(cpu);
    pinned = rubato::native::current_affinity();
    rubato::native::unpin_this_thread(topology.allowed);
    after = rubato::native::current_affinity();
  });
  thread.join();
  EXPECT_TRUE(is_pinned);
  EXPECT_THAT(pinned, ElementsAre(cpu));
  EXPECT_EQ(after, allowed);
}

TEST(Topology, ChoosesWorkersOfANodeInTurns) {
  Topology machine;
  for (unsigned cpu = 0; cpu < 6; ++cpu)
    machine.allowed.push_back({.cpu = 2 * cpu, .group = cpu / 2, .node = cpu % 3 == 0 ? 4u : 1u});
  EXPECT_EQ(machine.worker_on(4, 0), 0u);
  EXPECT_EQ(machine.worker_on(4, 1), 3u);
  EXPECT_EQ(machine.worker_on(4, 2), 0u);
  EXPECT_EQ(machine.worker_on(1, 2), 4u);
  EXPECT_EQ(machine.worker_on(1, 7), 5u);
  EXPECT_EQ(machine.worker_on(0, 0), 6u) << "no worker is there";
  for (auto& cpu : machine.allowed) cpu.node = 1;
  EXPECT_EQ(machine.worker_on(1, 0), 6u) << "all are there";
}

TEST(Topology, GivesAThreadItsAffinityBack) {
  const Topology topology = rubato::native::this_machine();
  const unsigned cpu = topology.allowed.back().cpu;
  std::vector<unsigned> before, inside, after;
  std::thread([&] {
    before = rubato::native::current_affinity();
    {
      const rubato::native::AffinityScope scope(topology.allowed);
      if (scope.may_bind()) rubato::native::pin_this_thread(cpu);
      inside = rubato::native::current_affinity();
    }
    after = rubato::native::current_affinity();
  }).join();
  EXPECT_THAT(inside, ElementsAre(cpu));
  EXPECT_EQ(after, before);
}

TEST(Topology, LeavesAThreadAloneThatIsBoundAlready) {
  const Topology topology = rubato::native::this_machine();
  if (topology.allowed.size() < 2) GTEST_SKIP() << "one CPU: nothing to tell apart";
  const unsigned own = topology.allowed.back().cpu;
  bool may_bind = true;
  std::vector<unsigned> after;
  std::thread([&] {
    rubato::native::pin_this_thread(own);
    may_bind = rubato::native::AffinityScope(topology.allowed).may_bind();
    after = rubato::native::current_affinity();
  }).join();
  EXPECT_FALSE(may_bind);
  EXPECT_THAT(after, ElementsAre(own));
}

TEST(CpuList, ReadsAndWritesTheKernelsForm) {
  EXPECT_EQ(parse_cpu_list("0-3,8,10-11\n"), (std::vector<unsigned>{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(parse_cpu_list("7, 3,3"), (std::vector<unsigned>{3, 7}));
  EXPECT_EQ(parse_cpu_list("\n"), std::vector<unsigned>{});
  for (const char* text : {"a", "1-", "-1", "3-1", "1,,2", "70000", "0x1"}) {
    EXPECT_EQ(parse_cpu_list(text), std::nullopt) << text;
  }
  EXPECT_EQ(print_cpu_list({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(print_cpu_list({}), "");
}

}  // namespace
