// Blocks and their sites in checkpoints: reports of a restored program name what it had allocated before.
// SPDX-License-Identifier: MIT
#pragma once

#include "chip/alloc/allocation_sites.hpp"
#include "chip/memory/checkpoint_file.hpp"

namespace rubato::chip {

void save_allocations(CheckpointWriter& file, const AllocationSites::Saved& saved);
/// @throws UsageError if the file is damaged.
AllocationSites::Saved read_allocations(CheckpointReader& file);

}  // namespace rubato::chip
