// Limits of control groups on this process: CPU quotas and CPU sets of its own group and of all groups above
// it, in hierarchies of version 1, version 2 and both at once. Reads files, decides nothing. R3.
// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rubato::inline v0::native {

/// `quota` microseconds of CPU time in every `period` microseconds, for all threads together.
struct CpuQuota {
  std::string file;  ///< where it was read, without the root
  double quota = 0;
  double period = 0;
  double cpus() const { return quota / period; }
};

struct CpuSet {
  std::string file;
  std::vector<unsigned> cpus;
};

struct CgroupLimits {
  std::vector<CpuQuota>
      quotas;                ///< from the process's own group upwards; groups without a limit are left out
  std::vector<CpuSet> sets;  ///< as effective in the process's own group
  std::vector<std::string> notes;  ///< files that were expected to be readable and were not understood
};

/// `root`: where /proc and /sys are looked for ("/" for this machine). Missing files mean no limit.
CgroupLimits read_cgroup_limits(const std::filesystem::path& root);

}  // namespace rubato::inline v0::native
