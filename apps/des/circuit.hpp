// A combinational gate-level circuit, its delays, and its settled values: the input of des, which it reads or
// generates.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rubato::apps {

enum class GateKind : std::uint8_t { input, buf, inv, and_, nand, or_, nor, xor_, xnor };

/// A gate is also the net that it drives: gate, net and name are numbered alike.
inline constexpr std::uint32_t kMaxFanIn = 64;  ///< the pins of a gate are the bits of one word

struct Circuit {
  std::vector<std::string> names;
  std::vector<GateKind> kinds;
  std::vector<std::vector<std::uint32_t>> pins;  ///< the nets at a gate's input pins; none for an input
  std::vector<std::uint32_t> inputs;             ///< primary inputs, in the order of the file
  std::vector<std::uint32_t> outputs;            ///< primary outputs, likewise
  std::vector<std::uint32_t> delays;             ///< from a pin to the output, >= 1; 0 for inputs
  std::vector<std::uint32_t> levelized;          ///< every gate after those that drive it

  std::uint32_t gates() const { return static_cast<std::uint32_t>(kinds.size()); }
};

/// The output of a gate whose `fan_in` input pins are the low bits of `pins`.
constexpr bool gate_value(GateKind kind, std::uint64_t pins, std::uint32_t fan_in) {
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - fan_in);
  switch (kind) {
    case GateKind::input:
    case GateKind::buf:
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
/// beyond two; xor and xnor 30, 8 more: picoseconds. Then a seeded variation of up to `variation_percent` (0
/// to 90) both ways, gate by gate. In femtoseconds hardly two events have the same time.
void set_delays(Circuit& circuit, unsigned variation_percent, std::uint64_t seed,
                Resolution resolution = Resolution::ps);

/// The longest sum of delays from an input: a circuit is settled that long after its inputs changed.
std::uint64_t critical_path(const Circuit& circuit);

/// The value of every net once settled, in one pass in levelized order; `inputs` as circuit.inputs.
std::vector<std::uint8_t> settle(const Circuit& circuit, const std::vector<std::uint8_t>& inputs);

/// A carry-save array multiplier of two numbers of `width` bits, 2 to 1024: inputs a0.. then b0.., lowest bit
/// first, outputs p0 to p(2 width - 1).
Circuit generate_csa(std::uint32_t width);

/// Generates the circuit that the text of --generate describes. @throws InputError, which says what was
/// expected.
Circuit generate_circuit(const std::string& what);

/// The product of two numbers given and returned as bits, lowest first: long multiplication, no gates.
std::vector<std::uint8_t> multiply_bits(const std::vector<std::uint8_t>& a,
                                        const std::vector<std::uint8_t>& b);

}  // namespace rubato::apps
