// A CPU quota of the machine as the engine sees it, for tests: also none where this process has one.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "native/topology/topology.hpp"
#include "native/worker/shared.hpp"

/// While it lives. For workers that are made meanwhile.
class MachineQuota {
 public:
  explicit MachineQuota(std::optional<double> cpus) { machine_.quota = cpus; }
  ~MachineQuota() { machine_.quota = before_; }
  MachineQuota(const MachineQuota&) = delete;
  MachineQuota& operator=(const MachineQuota&) = delete;

 private:
  rubato::native::Topology& machine_ =
      const_cast<rubato::native::Topology&>(rubato::native::Shared::machine());
  const std::optional<double> before_ = machine_.quota;
};
