// The checks of --verify, apart from the program that they check.
// SPDX-License-Identifier: MIT
#pragma once

#include "workloads/common/workload.hpp"
#include "workloads/ft/diffusion.hpp"

namespace rubato::workloads::ft {

/// Checks that `done` is the result of the transforms. @throws WrongResult
void verify(const Diffusion& done, const Box& box, const WorkloadOptions& o);

}  // namespace rubato::workloads::ft
