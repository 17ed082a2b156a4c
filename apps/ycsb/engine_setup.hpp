// How many threads work, and what the engine is told about it and about synchronization.
// SPDX-License-Identifier: MIT
#pragma once

#include "apps/ycsb/variant.hpp"

namespace rubato::apps::ycsb {

/// For variants without the engine: `wanted`, or as many as there are CPUs for this process.
unsigned thread_count(unsigned wanted);

/// Configures the engine; 0: its own choice. More workers than CPUs oversubscribe them. @returns their
/// number. The serial engine has one worker, and nothing to keep apart. InputError if it is asked for more.
unsigned set_up_engine(unsigned workers, Sync sync);

/// Of removed resources that are not freed yet; exact while at most one task runs. 0 on the serial engine.
std::uint64_t unreclaimed_bytes();

}  // namespace rubato::apps::ycsb
