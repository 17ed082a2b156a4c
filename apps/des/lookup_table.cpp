// SPDX-License-Identifier: MIT
#include "apps/des/lookup_table.hpp"

#include <bit>

namespace rubato::apps {

std::optional<bool> LookupTable::constant() const {
  for (std::uint32_t pins = 1; pins < rows(); ++pins)
    if (value(pins) != value(0)) return std::nullopt;
  return value(0);
}

std::optional<GateKind> LookupTable::gate() const {
  const auto is = [&](GateKind kind) {
    for (std::uint32_t pins = 0; pins < rows(); ++pins)
      if (gate_value(kind, pins, inputs) != value(pins)) return false;
    return true;
  };
  const bool is_unary = inputs == 1;
  for (const GateKind kind : {GateKind::buf, GateKind::inv})
    if (is_unary && is(kind)) return kind;
  for (const GateKind kind :
       {GateKind::and_, GateKind::nand, GateKind::or_, GateKind::nor, GateKind::xor_, GateKind::xnor})
    if (!is_unary && is(kind)) return kind;
  return std::nullopt;
}

bool LookupTable::rarer() const {
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - rows());
  return 2 * static_cast<unsigned>(std::popcount(table & all)) <= rows();
}

}  // namespace rubato::apps
