// See topology.hpp.
// SPDX-License-Identifier: MIT
#include "native/topology/topology.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "native/topology/cgroups.hpp"
#include "native/topology/cpu_list.hpp"
#include "native/topology/numa.hpp"
#if defined(RUBATO_HAS_HWLOC)
#include "native/topology/hwloc_machine.hpp"
#endif

namespace rubato::inline v0::native {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string decimal(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::string count(std::size_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

/// The text that is equal for CPUs which share their outermost cache; the CPU's own number if sysfs says
/// nothing.
std::string shared_cache(const fs::path& root, unsigned cpu) {
  const fs::path caches = root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "cache";
  std::string outermost;
  for (int index = 0;; ++index) {
    const std::string shared = first_line(caches / ("index" + std::to_string(index)) / "shared_cpu_list");
    if (shared.empty()) return outermost;
    outermost = shared;  // the kernel lists caches from the core outwards
  }
}

std::map<unsigned, unsigned> read_nodes(const fs::path& root) {
  std::map<unsigned, unsigned> node_of;
  const fs::path nodes = root / "sys/devices/system/node";
  const auto online = parse_cpu_list(first_line(nodes / "online"));
  if (!online) return node_of;
  for (const unsigned node : *online) {
    const auto cpus = parse_cpu_list(first_line(nodes / ("node" + std::to_string(node)) / "cpulist"));
    if (!cpus) continue;
    for (const unsigned cpu : *cpus) node_of[cpu] = node;
  }
  return node_of;
}

/// Groups are per cache and node, so that a group's memory has one node.
void place(Topology& topology, const std::vector<unsigned>& cpus, const fs::path& root) {
  const std::map<unsigned, unsigned> node_of = read_nodes(root);
  std::map<std::pair<unsigned, std::string>, unsigned> groups;
  for (const unsigned cpu : cpus) {
    const auto found = node_of.find(cpu);
    const unsigned node = found == node_of.end() ? 0 : found->second;
    const auto key = std::pair(node, shared_cache(root, cpu));
    const unsigned group = groups.try_emplace(key, static_cast<unsigned>(groups.size())).first->second;
    topology.allowed.push_back({cpu, group, node});
  }
  topology.groups = std::max<unsigned>(1, static_cast<unsigned>(groups.size()));
}

}  // namespace

Topology derive_topology(const std::vector<unsigned>& affinity, const std::filesystem::path& root) {
  Topology topology;
  std::vector<std::string>& derivation = topology.derivation;
  const CgroupLimits limits = read_cgroup_limits(root);

  std::vector<unsigned> cpus = affinity;
  derivation.push_back("affinity allows " + count(cpus.size(), "CPU") + ": " + print_cpu_list(cpus));
  for (const CpuSet& set : limits.sets) {
    std::vector<unsigned> both;
    std::set_intersection(cpus.begin(), cpus.end(), set.cpus.begin(), set.cpus.end(),
                          std::back_inserter(both));
    derivation.push_back(
        set.file + " allows " + print_cpu_list(set.cpus) +
        (both.empty() ? ", none of these: ignored" : ", of these " + count(both.size(), "CPU")));
    if (!both.empty()) cpus = both;
  }
  for (const std::string& note : limits.notes) derivation.push_back(note);
  for (const CpuQuota& quota : limits.quotas) {
    derivation.push_back(quota.file + " allows " + decimal(quota.cpus()) + " CPUs (" + decimal(quota.quota) +
                         " of every " + decimal(quota.period) + " microseconds)");
    topology.quota = std::min(topology.quota.value_or(quota.cpus()), quota.cpus());
  }
  if (limits.quotas.empty()) derivation.push_back("no control group sets a CPU quota");

  place(topology, cpus, root);
  const double by_quota = topology.quota ? std::ceil(*topology.quota) : static_cast<double>(cpus.size());
  topology.workers =
      std::max(1u, static_cast<unsigned>(std::min(by_quota, static_cast<double>(cpus.size()))));
  derivation.push_back(count(topology.workers, "worker") + " in " + count(topology.groups, "core group") +
                       (topology.pins(topology.workers) ? ", each pinned to a CPU of its own"
                        : topology.quota                ? ", not pinned because of the quota"
                                                        : ", not pinned"));
  return topology;
}

unsigned Topology::worker_on(unsigned node, unsigned turn) const {
  const auto is_there = [node](const AllowedCpu& cpu) { return cpu.node == node; };
  const auto all = static_cast<unsigned>(allowed.size());
  const auto there = static_cast<unsigned>(std::count_if(allowed.begin(), allowed.end(), is_there));
  if (there == 0 || there == all) return all;
  unsigned left = turn % there;
  unsigned worker = 0;
  for (; !is_there(allowed[worker]) || left-- != 0; ++worker) {
  }
  return worker;
}

unsigned Topology::node_of(unsigned cpu) const {
  const auto found = std::lower_bound(allowed.begin(), allowed.end(), cpu,
                                      [](const AllowedCpu& a, unsigned wanted) { return a.cpu < wanted; });
  return found != allowed.end() && found->cpu == cpu ? found->node : 0;
}

std::vector<unsigned> Topology::group_nodes() const {
  std::vector<unsigned> nodes(groups);
  for (const AllowedCpu& cpu : allowed) nodes[cpu.group] = cpu.node;
  return nodes;
}

void Topology::move(const std::map<unsigned, unsigned>& new_nodes) {
  std::map<std::pair<unsigned, unsigned>, unsigned> new_groups;
  std::set<unsigned> nodes;
  for (AllowedCpu& cpu : allowed) {
    const auto found = new_nodes.find(cpu.cpu);
    if (found != new_nodes.end()) cpu.node = found->second;
    nodes.insert(cpu.node);
    cpu.group =
        new_groups.try_emplace({cpu.node, cpu.group}, static_cast<unsigned>(new_groups.size())).first->second;
  }
  groups = static_cast<unsigned>(new_groups.size());
  derivation.push_back("HWLOC_SYNTHETIC or HWLOC_XMLFILE puts these CPUs on " +
                       count(nodes.size(), "NUMA node") + ", which makes " + count(groups, "core group"));
}

Topology this_machine() {
  Topology topology = derive_topology(current_affinity(), "/");
  const std::map<unsigned, unsigned> nodes = described_nodes();
  if (!nodes.empty()) topology.move(nodes);
  return topology;
}

std::vector<unsigned> current_affinity() {
  // The kernel refuses a mask that is smaller than its own: grow until it fits.
  for (int size = 1024; size <= 65536; size *= 2) {
    cpu_set_t* const set = CPU_ALLOC(size);
    const std::size_t bytes = CPU_ALLOC_SIZE(size);
    CPU_ZERO_S(bytes, set);
    std::vector<unsigned> cpus;
    if (sched_getaffinity(0, bytes, set) == 0) {
      for (int cpu = 0; cpu < size; ++cpu) {
        if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(static_cast<unsigned>(cpu));
      }
    }
    CPU_FREE(set);
    if (!cpus.empty()) return cpus;
  }
  return {0};
}

AffinityScope::AffinityScope(const std::vector<AllowedCpu>& allowed) {
  auto* const mask = reinterpret_cast<cpu_set_t*>(before_.data());
  if (sched_getaffinity(0, sizeof before_, mask) != 0) return;
  may_bind_ = std::all_of(allowed.begin(), allowed.end(),
                          [&](const AllowedCpu& a) { return CPU_ISSET_S(a.cpu, sizeof before_, mask); });
}

AffinityScope::~AffinityScope() {
  if (!may_bind_) return;
  sched_setaffinity(0, sizeof before_, reinterpret_cast<const cpu_set_t*>(before_.data()));
}

void unpin_this_thread(const std::vector<AllowedCpu>& allowed) {
  const int size = static_cast<int>(allowed.back().cpu) + 1;
  const std::size_t bytes = CPU_ALLOC_SIZE(size);
  cpu_set_t* const set = CPU_ALLOC(size);
  CPU_ZERO_S(bytes, set);
  for (const AllowedCpu& a : allowed) CPU_SET_S(a.cpu, bytes, set);
  sched_setaffinity(0, bytes, set);
  CPU_FREE(set);
}

#if defined(RUBATO_HAS_HWLOC)

void prepare_pinning() { hwloc_machine(); }

bool pin_this_thread(unsigned cpu) {
  if (!hwloc_machine().is_loaded) return false;
  const hwloc_bitmap_t set = hwloc_bitmap_alloc();
  hwloc_bitmap_only(set, cpu);
  const bool is_bound =
      hwloc_set_cpubind(hwloc_machine().topology, set, HWLOC_CPUBIND_THREAD | HWLOC_CPUBIND_STRICT) == 0;
  hwloc_bitmap_free(set);
  return is_bound;
}

#else

void prepare_pinning() {}

bool pin_this_thread(unsigned cpu) {
  const std::size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
  cpu_set_t* const set = CPU_ALLOC(cpu + 1);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(cpu, bytes, set);
  const bool is_bound = sched_setaffinity(0, bytes, set) == 0;
  CPU_FREE(set);
  return is_bound;
}

#endif

}  // namespace rubato::inline v0::native
