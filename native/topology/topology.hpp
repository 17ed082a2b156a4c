// How many workers this machine allows, where they run, and why: from affinity, CPU sets and quotas. R3.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rubato::inline v0::native {

/// A CPU this process may use. Core group: the CPUs that share its last-level cache, numbered from 0.
struct AllowedCpu {
  unsigned cpu = 0;
  unsigned group = 0;
  unsigned node = 0;  ///< NUMA node
};

struct Topology {
  unsigned workers = 1;             ///< max(1, min(allowed CPUs, ceil(quota))), over all control groups
  std::vector<AllowedCpu> allowed;  ///< ascending by CPU
  unsigned groups = 1;
  std::optional<double> quota;          ///< the smallest quota / period, in CPUs
  std::vector<std::string> derivation;  ///< one sentence a step, for people

  /// Whether each of `workers` workers gets a CPU of its own: exactly as many as allowed CPUs, and no quota,
  /// with which the kernel would have to stop pinned workers in turn.
  bool pins(unsigned workers_wanted) const { return workers_wanted == allowed.size() && !quota; }

  /// The core group whose memory worker number `worker` uses: that of the CPU to which it is pinned. Workers
  /// that are not pinned are spread in the same way.
  unsigned group_of(unsigned worker) const { return allowed[worker % allowed.size()].group; }
  /// A worker whose CPU is on this NUMA node; `turn` chooses among them. Precondition: the workers are
  /// pinned, one to each allowed CPU. @returns the number of workers if none is on the node, or all are
  unsigned worker_on(unsigned node, unsigned turn) const;
  /// The NUMA node of a CPU; 0 for one that this process may not use.
  unsigned node_of(unsigned cpu) const;
  /// The NUMA node of each core group.
  std::vector<unsigned> group_nodes() const;
  /// Puts CPUs on other nodes, and divides the core groups by them.
  void move(const std::map<unsigned, unsigned>& new_nodes);
};

/// `affinity`: ascending. `root`: where /proc and /sys are looked for. Never fails: what cannot be read is no
/// limit, and the derivation says so.
Topology derive_topology(const std::vector<unsigned>& affinity, const std::filesystem::path& root);

/// The topology of this machine for this process.
Topology this_machine();

/// The CPUs that the calling thread may use.
std::vector<unsigned> current_affinity();

/// Loads what pinning needs: a millisecond, which otherwise the first thread to be pinned waits.
void prepare_pinning();

/// Binds the calling thread to one CPU. False: the system refused.
bool pin_this_thread(unsigned cpu);

/// Lets the calling thread use all of `allowed`.
void unpin_this_thread(const std::vector<AllowedCpu>& allowed);

/// At its end the calling thread gets back the affinity that it had.
class AffinityScope {
 public:
  explicit AffinityScope(const std::vector<AllowedCpu>& allowed);
  ~AffinityScope();
  /// The thread may use all of `allowed`: one that its program has bound itself is left alone.
  bool may_bind() const { return may_bind_; }
  AffinityScope(const AffinityScope&) = delete;
  AffinityScope& operator=(const AffinityScope&) = delete;

 private:
  std::array<unsigned long, 1024> before_;  // a mask as large as any that the kernel has: 65,536 CPUs
  bool may_bind_ = false;
};

}  // namespace rubato::inline v0::native
