// Circuits that des makes by itself, and what their outputs must be: computed by arithmetic, without gates.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/des/circuit.hpp"
#include "apps/des/simulation.hpp"

namespace rubato::apps {

/// The outputs once settled, after each vector.
using KnownOutputs = std::vector<std::vector<std::uint8_t>>;

struct GeneratedCircuit {
  Circuit circuit;
  KnownOutputs (*known)(const Circuit& circuit, const Stimulus& stimulus) = nullptr;
  const char* meaning = "";  ///< of the outputs, for messages
};

/// Makes the circuit that the text of --generate describes: `csa:WIDTH`, `counter:WIDTH` or `lfsr:WIDTH`.
/// @throws InputError, which says what was expected.
GeneratedCircuit generate_circuit(const std::string& what);

/// A carry-save array multiplier of two numbers of `width` bits, 2 to 1024: inputs a0.. then b0.., lowest bit
/// first, outputs p0 to p(2 width - 1).
Circuit generate_csa(std::uint32_t width);

/// A binary counter of `width` flip-flops, 1 to 1024, from 0: a clock edge adds the input `en`. Outputs c0..,
/// lowest bit first.
Circuit generate_counter(std::uint32_t width);

/// A linear feedback shift register of `width` flip-flops, from the state 1: a clock edge shifts in the
/// parity of two taps and of the input `in`. Outputs q0.., the bit that was shifted in last first. While `in`
/// is 0, all states but 0 come in turn. lfsr_tap(width) is above 0.
Circuit generate_lfsr(std::uint32_t width);

/// The flip-flop, counted from 1, that is tapped beside the last one; 0: there is no register of that width.
std::uint32_t lfsr_tap(std::uint32_t width);

/// Known outputs of these circuits: products, counts, and states of the register.
KnownOutputs products(const Circuit& circuit, const Stimulus& stimulus);
KnownOutputs counts(const Circuit& circuit, const Stimulus& stimulus);
KnownOutputs shifted_states(const Circuit& circuit, const Stimulus& stimulus);

/// The product of two numbers given and returned as bits, lowest first: long multiplication, no gates.
std::vector<std::uint8_t> multiply_bits(const std::vector<std::uint8_t>& a,
                                        const std::vector<std::uint8_t>& b);

}  // namespace rubato::apps
