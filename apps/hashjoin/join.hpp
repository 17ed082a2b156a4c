// The join orders ⋈ customers in four forms with one result: tasks, and the three that they are compared
// with.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "apps/hashjoin/join_result.hpp"

namespace rubato::apps {

struct JoinOptions {
  std::uint32_t records_per_task = 4096;  ///< at least 1; of threads: a morsel
  std::uint32_t parts = 1;                ///< at least 1; partitions of the tasks, otherwise threads
  /// For tasks: the most records of one scanner on their way to one partition. Two batches are always
  /// allowed, and a burst more, since a scanner waits between bursts. The bound is the work of a few
  /// milliseconds: if a worker loses its CPU for a time slice, the scanners need not wait for it.
  std::uint32_t records_ahead = 1u << 17;
};

/// The reference: one thread, std::unordered_map, nothing shared with the others.
JoinResult join_serial(const TpchTables& tables);

/// A task for every `records_per_task` records (MxTasking, Sec. 5.3). The tables are cut by customer into
/// partitions, each with a hash table that only tasks annotated with the partition touch, one after another:
/// no lock, no atomic operation. Probing starts when all customers are in.
JoinResult join_tasks(const TpchTables& tables, const JoinOptions& options);

/// Threads that take morsels from a counter and share one hash table (compare-and-swap to insert), with a
/// barrier between the two sides (Leis et al., "Morsel-driven parallelism", SIGMOD 2014).
JoinResult join_threads(const TpchTables& tables, const JoinOptions& options);

#if defined(RUBATO_HAS_TBB)
/// As join_threads(), as two oneTBB loops over ranges of `records_per_task`.
JoinResult join_tbb(const TpchTables& tables, const JoinOptions& options);
#endif

}  // namespace rubato::apps
