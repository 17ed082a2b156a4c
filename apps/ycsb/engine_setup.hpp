// Setup of the engine: the number of threads that work, and the synchronization.
// SPDX-License-Identifier: MIT
#pragma once

#include "apps/ycsb/variant.hpp"

namespace rubato::apps::ycsb {

/// Configures the engine; 0: its own choice of workers. @returns their number. Variants that do without the
/// engine have as many threads, so that its error about too many holds for all. The serial engine has one
/// worker, and nothing to keep apart. InputError for more workers than CPUs, unless that is asked for
/// (RUBATO_OVERSUBSCRIBE=1).
unsigned set_up_engine(unsigned workers, Sync sync);

/// Bytes of removed resources that are not freed yet; exact while at most one task runs. 0 on the serial
/// engine.
std::uint64_t unreclaimed_bytes();

}  // namespace rubato::apps::ycsb
