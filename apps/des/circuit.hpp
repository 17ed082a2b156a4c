// A gate-level circuit, its delays, and its settled values: the input of des, which it reads or generates.
// Flip-flops share one clock, which the environment drives: Circuit has no net for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rubato::apps {

enum class GateKind : std::uint8_t { input, buf, inv, and_, nand, or_, nor, xor_, xnor, dff };

/// A gate is also the net that it drives: gate, net and name are numbered alike.
inline constexpr std::uint32_t kMaxFanIn = 64;  ///< the pins of a gate are the bits of one word

struct Circuit {
  std::vector<std::string> names;
  std::vector<GateKind> kinds;
  std::vector<std::vector<std::uint32_t>> pins;  ///< the nets at a gate's input pins; none for an input
  std::vector<std::uint32_t> inputs;             ///< primary inputs, in the order of the file
  std::vector<std::uint32_t> outputs;            ///< primary outputs, likewise
  std::vector<std::uint32_t> flip_flops;         ///< likewise; the one pin of each is D
  std::vector<std::uint8_t> initial_state;       ///< of the flip-flops, before the first vector
  std::vector<std::uint32_t> delays;             ///< from a pin to the output, >= 1; 0 for inputs
  std::vector<std::uint32_t> levelized;          ///< every gate after those that drive it; flip-flops first

  std::uint32_t gates() const { return static_cast<std::uint32_t>(kinds.size()); }
  /// Whether a change of the gate's pins does not change its net at once: inputs and flip-flops.
  bool is_source(std::uint32_t gate) const {
    return kinds[gate] == GateKind::input || kinds[gate] == GateKind::dff;
  }
};

/// The output of a gate whose `fan_in` input pins are the low bits of `pins`; of a flip-flop: after an edge.
constexpr bool gate_value(GateKind kind, std::uint64_t pins, std::uint32_t fan_in) {
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - fan_in);
  switch (kind) {
    case GateKind::input:
    case GateKind::buf:
    case GateKind::dff:
      return (pins & 1) != 0;
    case GateKind::inv:
      return (pins & 1) == 0;
    case GateKind::and_:
      return pins == all;
    case GateKind::nand:
      return pins != all;
    case GateKind::or_:
      return pins != 0;
    case GateKind::nor:
      return pins == 0;
    case GateKind::xor_:
    case GateKind::xnor:
      break;
  }
  // Not a popcount instruction: the guest has none.
  for (unsigned half = 32; half > 0; half /= 2) pins ^= pins >> half;
  return ((pins & 1) != 0) == (kind == GateKind::xor_);
}

/// Fills `levelized`. Returns a gate on a cycle, or gates() if there is none and the order is complete.
std::uint32_t levelize(Circuit& circuit);

/// The unit of times.
enum class Resolution { ps, fs };

/// Nominal delay by type and fan-in: buf 12, not 10, nand and nor 14, and and or 20, each 4 more for an input
/// beyond two; xor and xnor 30, 8 more; a flip-flop 40, from the clock: picoseconds. Then a seeded variation
/// of up to `variation_percent` (0 to 90) both ways, gate by gate. In femtoseconds hardly two events have the
/// same time.
void set_delays(Circuit& circuit, unsigned variation_percent, std::uint64_t seed,
                Resolution resolution = Resolution::ps);

/// The longest sum of delays from an input or a clock edge: a circuit is settled that long after both.
std::uint64_t critical_path(const Circuit& circuit);

/// The value of every net once settled, in one pass in levelized order; `inputs` as circuit.inputs, `state`
/// as circuit.flip_flops.
std::vector<std::uint8_t> settle(const Circuit& circuit, const std::vector<std::uint8_t>& inputs,
                                 const std::vector<std::uint8_t>& state);

/// The same before the first vector: inputs are 0, flip-flops have their initial state.
std::vector<std::uint8_t> settle_initially(const Circuit& circuit);

/// The flip-flops' state after a clock edge: the values of their D pins.
std::vector<std::uint8_t> next_state(const Circuit& circuit, const std::vector<std::uint8_t>& values);

}  // namespace rubato::apps
