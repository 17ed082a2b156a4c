// Input and result of a simulation, alike for the tasks and for the serial reference.
//
// Semantics (independent of the order of what happens at one time): pure transport delay. At time t all pins
// that change at t take their new values; then every gate with such a pin evaluates once; if its output
// changes, the net shows the new value at t + delay(gate), delay >= 1. A net hence changes at most once a
// time and pulses of no width do not exist. Vector k (from 0) is put on the inputs at time (k + 1) * period;
// before, the circuit is settled with all inputs 0 and the flip-flops in their initial state.
//
// Each vector but the first comes with a clock edge: a flip-flop takes over what its D pin was just before
// that time, and its net shows it delay(flip-flop) after the edge. So the outputs settle at a function of
// vector k and state k, and state k + 1 is a function of the same two.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/des/circuit.hpp"
#include "base/rng.hpp"

namespace rubato::apps {

struct Stimulus {
  std::uint64_t period = 1;                        ///< longer than the critical path
  std::vector<std::vector<std::uint8_t>> vectors;  ///< each as circuit.inputs

  std::uint64_t vector_time(std::size_t k) const { return (k + 1) * period; }
  bool has_edges() const { return vectors.size() > 1; }
  std::uint64_t last_time() const { return vectors.size() * period; }  ///< of a vector
};

/// `count` vectors of independent random bits.
Stimulus random_stimulus(const Circuit& circuit, std::uint64_t period, std::uint32_t count,
                         std::uint64_t seed);

/// A net takes a new value.
struct Change {
  std::uint64_t time;
  std::uint32_t net;
  std::uint32_t value;
  bool operator==(const Change&) const = default;
};

struct SimulationResult {
  std::uint64_t pin_events = 0;                    ///< changes of gate input pins
  std::vector<std::uint32_t> toggles;              ///< changes of every net
  std::vector<std::uint64_t> waveforms;            ///< of every net: next_waveform() over its changes
  std::vector<std::uint8_t> values;                ///< of every net, at the end
  std::vector<std::vector<std::uint8_t>> settled;  ///< after each vector: the values of circuit.outputs
  std::vector<Change> log;                         ///< if asked for: every change, by time, then net
  bool operator==(const SimulationResult&) const = default;
};

/// The waveform checksum of a net goes on with a change.
constexpr std::uint64_t next_waveform(std::uint64_t waveform, std::uint64_t time, bool value) {
  return mix64(waveform ^ (time << 1 | (value ? 1 : 0)));
}

/// Checksum of all waveforms of a circuit.
std::uint64_t waveform_checksum(const SimulationResult& result);

/// The serial reference: an event queue, one time after the other.
SimulationResult simulate_serially(const Circuit& circuit, const Stimulus& stimulus, bool with_log);

}  // namespace rubato::apps
