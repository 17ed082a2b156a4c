// Lookup tables of netlists (`LUT 0x8 (a, b)` of ABC and mockturtle), told by gates.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "apps/des/circuit.hpp"

namespace rubato::apps {

inline constexpr std::uint32_t kMaxTableInputs = 6;  ///< a table is one word

/// Bit i of `table` is the output for input pins i, the first input lowest.
struct LookupTable {
  std::uint64_t table = 0;
  std::uint32_t inputs = 1;  ///< 1 to kMaxTableInputs

  std::uint32_t rows() const { return 1u << inputs; }
  bool value(std::uint32_t pins) const { return (table >> pins & 1) != 0; }
  /// The output, if it is the same in all rows.
  std::optional<bool> constant() const;
  /// The one gate that has this table.
  std::optional<GateKind> gate() const;
  /// The output that fewer rows have; true if both have as many.
  bool rarer() const;
};

}  // namespace rubato::apps
