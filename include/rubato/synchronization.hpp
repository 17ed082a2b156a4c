// The ways in which the native engine keeps tasks of one resource apart, to choose from (native engine,
// R4; MxTasking, Sec. 4, Fig. 5). Other engines need not ask.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::inline v0 {

/// Ways to keep the tasks of a resource apart. With the optimistic ways readers run beside a writer, and
/// again if one was at work. All mutable data that they read must be `tracked`, their loops must end whatever
/// they read, and pointers that they follow must lead to resources. The same holds for `automatic` if the
/// resource has Isolation::shared_reads: it takes one of them. With `none` the program keeps tasks apart
/// itself. The others demand nothing. If a way would let readers of an exclusive resource run together, the
/// nearest one that does not is taken: `latch` for `shared_latch` and `optimistic_latch`, `pool` for
/// `optimistic_pool`.
enum class Synchronization : std::uint8_t {
  automatic,         ///< by what is said about the resource; optimistic if it has shared reads
  none,              ///< the program guarantees it
  latch,             ///< one task at a time, by a spinning latch
  shared_latch,      ///< readers together, writers alone, by a latch
  optimistic_latch,  ///< readers validate a version, writers take a latch
  optimistic_pool,   ///< readers validate a version, writers run in the resource's pool
  pool,              ///< every task runs in the resource's pool
};

}  // namespace rubato::inline v0
