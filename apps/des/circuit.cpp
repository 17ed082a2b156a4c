// SPDX-License-Identifier: MIT
// Levels, delays and settled values of a circuit.
#include "apps/des/circuit.hpp"

#include <algorithm>
#include <cstddef>

#include "base/rng.hpp"

namespace rubato::apps {
namespace {

std::uint32_t nominal_delay(GateKind kind, std::uint32_t fan_in) {
  const std::uint32_t further = fan_in > 2 ? fan_in - 2 : 0;
  switch (kind) {
    case GateKind::input:
      return 0;
    case GateKind::buf:
      return 12;
    case GateKind::inv:
      return 10;
    case GateKind::nand:
    case GateKind::nor:
      return 14 + 4 * further;
    case GateKind::and_:
    case GateKind::or_:
      return 20 + 4 * further;
    case GateKind::xor_:
    case GateKind::xnor:
      return 30 + 8 * further;
    case GateKind::dff:
      return 40;
  }
  return 0;
}

}  // namespace

std::uint32_t levelize(Circuit& circuit) {
  const std::uint32_t gates = circuit.gates();
  std::vector<std::vector<std::uint32_t>> fan_out(gates);
  std::vector<std::uint32_t> missing(gates);
  circuit.levelized.clear();
  for (std::uint32_t g = 0; g < gates; ++g) {
    if (circuit.is_source(g)) {
      circuit.levelized.push_back(g);
      continue;
    }
    missing[g] = static_cast<std::uint32_t>(circuit.pins[g].size());
    for (const std::uint32_t net : circuit.pins[g]) fan_out[net].push_back(g);
  }
  for (std::size_t next = 0; next < circuit.levelized.size(); ++next) {
    for (const std::uint32_t g : fan_out[circuit.levelized[next]]) {
      if (--missing[g] == 0) circuit.levelized.push_back(g);
    }
  }
  if (circuit.levelized.size() == gates) return gates;
  // Every gate left waits for one left: going back often enough ends on a cycle.
  std::uint32_t at = 0;
  while (missing[at] == 0) ++at;
  for (std::uint32_t step = 0; step < gates; ++step) {
    at = *std::find_if(circuit.pins[at].begin(), circuit.pins[at].end(),
                       [&](std::uint32_t net) { return missing[net] != 0; });
  }
  return at;
}

void set_delays(Circuit& circuit, unsigned variation_percent, std::uint64_t seed, Resolution resolution) {
  Rng rng(mix64(seed ^ 0x64656c6179ULL));  // apart from the vectors' sequence
  circuit.delays.resize(circuit.gates());
  for (std::uint32_t g = 0; g < circuit.gates(); ++g) {
    const std::uint64_t nominal =
        nominal_delay(circuit.kinds[g], static_cast<std::uint32_t>(circuit.pins[g].size()));
    if (resolution == Resolution::fs) {
      const std::uint64_t least = nominal * 10 * (100 - variation_percent);
      circuit.delays[g] = static_cast<std::uint32_t>(least + rng.below(nominal * 20 * variation_percent + 1));
      continue;
    }
    const std::uint64_t percent = 100 - variation_percent + rng.below(2 * variation_percent + 1);
    circuit.delays[g] = static_cast<std::uint32_t>((nominal * percent + 50) / 100);
  }
}

std::uint64_t critical_path(const Circuit& circuit) {
  std::vector<std::uint64_t> arrival(circuit.gates(), 0);
  std::uint64_t longest = 0;
  for (const std::uint32_t g : circuit.levelized) {
    if (!circuit.is_source(g)) {
      for (const std::uint32_t net : circuit.pins[g]) arrival[g] = std::max(arrival[g], arrival[net]);
    }
    arrival[g] += circuit.delays[g];
    longest = std::max(longest, arrival[g]);
  }
  return longest;
}

std::vector<std::uint8_t> settle(const Circuit& circuit, const std::vector<std::uint8_t>& inputs,
                                 const std::vector<std::uint8_t>& state) {
  std::vector<std::uint8_t> value(circuit.gates(), 0);
  for (std::size_t i = 0; i < circuit.inputs.size(); ++i) value[circuit.inputs[i]] = inputs[i];
  for (std::size_t f = 0; f < circuit.flip_flops.size(); ++f) value[circuit.flip_flops[f]] = state[f];
  for (const std::uint32_t g : circuit.levelized) {
    if (circuit.is_source(g)) continue;
    const auto& pins = circuit.pins[g];
    std::uint64_t word = 0;
    for (std::size_t p = 0; p < pins.size(); ++p) word |= std::uint64_t{value[pins[p]]} << p;
    value[g] = gate_value(circuit.kinds[g], word, static_cast<std::uint32_t>(pins.size())) ? 1 : 0;
  }
  return value;
}

std::vector<std::uint8_t> settle_initially(const Circuit& circuit) {
  return settle(circuit, std::vector<std::uint8_t>(circuit.inputs.size(), 0), circuit.initial_state);
}

std::vector<std::uint8_t> next_state(const Circuit& circuit, const std::vector<std::uint8_t>& values) {
  std::vector<std::uint8_t> state;
  for (const std::uint32_t f : circuit.flip_flops) state.push_back(values[circuit.pins[f].front()]);
  return state;
}

}  // namespace rubato::apps
