// Choice of a resource's synchronization, from the program's annotations: the table, and nothing else.
// R4; MxTasking, Sec. 4.2. An explicit request wins over it; a program or a user can change its rows.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "native/sync/primitive.hpp"
#include "rubato/resource.hpp"

namespace rubato::inline v0::native {

struct ChoiceRow {
  Isolation isolation;
  Ratio ratio;
  Frequency frequency;
  Primitive primitive;
};

/// Exclusive isolation: serialized by scheduling, which the paper found faster than latches ("requesting
/// exclusive access to the object will result in serializing by scheduling"), and which spins nowhere. Shared
/// reads: always optimistic, since readers then write nothing shared. Writers go to a pool where reads
/// predominate, because readers that run in that pool need no validation; and where accesses are frequent,
/// because writers then queue rather than fight for a latch. Else they latch: reaching another core's pool
/// costs more than a latch that is nearly always free (a tree's leaves).
inline constexpr std::array<ChoiceRow, 18> kChoices = {{
    {Isolation::exclusive, Ratio::mostly_reads, Frequency::low, Primitive::pool},
    {Isolation::exclusive, Ratio::mostly_reads, Frequency::normal, Primitive::pool},
    {Isolation::exclusive, Ratio::mostly_reads, Frequency::high, Primitive::pool},
    {Isolation::exclusive, Ratio::balanced, Frequency::low, Primitive::pool},
    {Isolation::exclusive, Ratio::balanced, Frequency::normal, Primitive::pool},
    {Isolation::exclusive, Ratio::balanced, Frequency::high, Primitive::pool},
    {Isolation::exclusive, Ratio::mostly_writes, Frequency::low, Primitive::pool},
    {Isolation::exclusive, Ratio::mostly_writes, Frequency::normal, Primitive::pool},
    {Isolation::exclusive, Ratio::mostly_writes, Frequency::high, Primitive::pool},
    {Isolation::shared_reads, Ratio::mostly_reads, Frequency::low, Primitive::optimistic_pool},
    {Isolation::shared_reads, Ratio::mostly_reads, Frequency::normal, Primitive::optimistic_pool},
    {Isolation::shared_reads, Ratio::mostly_reads, Frequency::high, Primitive::optimistic_pool},
    {Isolation::shared_reads, Ratio::balanced, Frequency::low, Primitive::optimistic_latch},
    {Isolation::shared_reads, Ratio::balanced, Frequency::normal, Primitive::optimistic_latch},
    {Isolation::shared_reads, Ratio::balanced, Frequency::high, Primitive::optimistic_pool},
    {Isolation::shared_reads, Ratio::mostly_writes, Frequency::low, Primitive::optimistic_latch},
    {Isolation::shared_reads, Ratio::mostly_writes, Frequency::normal, Primitive::optimistic_latch},
    {Isolation::shared_reads, Ratio::mostly_writes, Frequency::high, Primitive::optimistic_pool},
}};

/// `primitive`, or the one nearest to it that keeps the isolation: excluding everybody is always correct, and
/// letting readers of an `exclusive` resource run together is not.
constexpr Primitive respecting(Isolation isolation, Primitive primitive) {
  if (isolation == Isolation::shared_reads) return primitive;
  switch (primitive) {
    case Primitive::shared_latch:
    case Primitive::optimistic_latch:
      return Primitive::latch;
    case Primitive::optimistic_pool:
      return Primitive::pool;
    case Primitive::none:
    case Primitive::latch:
    case Primitive::pool:
    case Primitive::guarded:  // of no resource
      break;
  }
  return primitive;
}

/// The primitive of a request other than `automatic`.
constexpr Primitive requested(Synchronization request) {
  using enum Synchronization;
  static_assert(static_cast<int>(none) == static_cast<int>(Primitive::none) + 1 &&
                static_cast<int>(pool) == static_cast<int>(Primitive::pool) + 1);
  return static_cast<Primitive>(static_cast<int>(request) - 1);
}

/// The table as it is asked. A resource's own request wins.
class ChoiceTable {
 public:
  constexpr ChoiceTable() {
    for (const ChoiceRow& row : kChoices) set({row.isolation, row.ratio, row.frequency}, row.primitive);
  }
  constexpr Primitive operator()(ResourceOptions options) const {
    if (options.synchronization == Synchronization::automatic) return primitives_[index(options)];
    return respecting(options.isolation, requested(options.synchronization));
  }

  /// Replaces one row.
  constexpr void set(ResourceOptions options, Primitive primitive) {
    primitives_[index(options)] = respecting(options.isolation, primitive);
  }
  /// For every resource that does not ask itself.
  constexpr void set_all(Primitive primitive) {
    for (const ChoiceRow& row : kChoices) set({row.isolation, row.ratio, row.frequency}, primitive);
  }

 private:
  /// The bits that a resource's handle carries, but for a request.
  static constexpr std::size_t index(ResourceOptions o) { return engine::option_bits(o) & (kRows - 1); }
  static constexpr std::size_t kRows = std::size_t{1} << engine::kHintBits;
  std::array<Primitive, kRows> primitives_{};
};

}  // namespace rubato::inline v0::native
