// SPDX-License-Identifier: MIT
// The serial event queue: the events of one time are applied together, then their gates are evaluated.
#include "apps/des/simulation.hpp"

#include <cstddef>
#include <functional>
#include <queue>
#include <utility>

namespace rubato::apps {

Stimulus random_stimulus(const Circuit& circuit, std::uint64_t period, std::uint32_t count,
                         std::uint64_t seed) {
  Rng rng(seed);
  Stimulus stimulus{period, {}};
  for (std::uint32_t k = 0; k < count; ++k) {
    std::vector<std::uint8_t> bits(circuit.inputs.size());
    for (std::uint8_t& bit : bits) bit = static_cast<std::uint8_t>(rng.below(2));
    stimulus.vectors.push_back(std::move(bits));
  }
  return stimulus;
}

std::uint64_t waveform_checksum(const SimulationResult& result) {
  std::uint64_t checksum = 0;
  for (const std::uint64_t waveform : result.waveforms) checksum = mix64(checksum ^ waveform);
  return checksum;
}

SimulationResult simulate_serially(const Circuit& circuit, const Stimulus& stimulus, bool with_log) {
  using NetEvent = std::pair<std::uint64_t, std::uint32_t>;  // time, net: it toggles
  const std::uint32_t gates = circuit.gates();
  std::vector<std::vector<std::uint32_t>> readers(gates);
  for (std::uint32_t g = 0; g < gates; ++g) {
    for (const std::uint32_t net : circuit.pins[g]) readers[net].push_back(g);
  }
  std::vector<std::uint8_t> shown = settle_initially(circuit);
  std::vector<std::uint8_t> evaluated = shown;  // ahead of `shown` by the gate's delay
  SimulationResult result;
  result.toggles.assign(gates, 0);
  result.waveforms.assign(gates, 0);

  std::priority_queue<NetEvent, std::vector<NetEvent>, std::greater<>> queue;
  std::vector<std::uint8_t> driven(circuit.inputs.size(), 0);
  const auto apply_until = [&](std::uint64_t end) {
    std::vector<std::uint32_t> affected;
    while (!queue.empty() && queue.top().first < end) {
      const std::uint64_t time = queue.top().first;
      affected.clear();
      for (; !queue.empty() && queue.top().first == time; queue.pop()) {
        const std::uint32_t net = queue.top().second;
        shown[net] ^= 1;
        ++result.toggles[net];
        result.waveforms[net] = next_waveform(result.waveforms[net], time, shown[net] != 0);
        if (with_log) result.log.push_back({time, net, shown[net]});
        result.pin_events += readers[net].size();
        affected.insert(affected.end(), readers[net].begin(), readers[net].end());
      }
      for (const std::uint32_t g : affected) {
        if (circuit.is_source(g)) continue;  // a flip-flop waits for an edge
        std::uint64_t pins = 0;
        for (std::size_t p = 0; p < circuit.pins[g].size(); ++p) {
          pins |= std::uint64_t{shown[circuit.pins[g][p]]} << p;
        }
        const bool value =
            gate_value(circuit.kinds[g], pins, static_cast<std::uint32_t>(circuit.pins[g].size()));
        if (value == (evaluated[g] != 0)) continue;  // also if it was evaluated at this time before
        evaluated[g] ^= 1;
        queue.emplace(time + circuit.delays[g], g);
      }
    }
  };
  const auto clock = [&](std::uint64_t time) {
    for (const std::uint32_t f : circuit.flip_flops) {
      if (shown[circuit.pins[f].front()] == evaluated[f]) continue;
      evaluated[f] ^= 1;
      queue.emplace(time + circuit.delays[f], f);
    }
  };
  const auto sample = [&] {
    std::vector<std::uint8_t> bits;
    for (const std::uint32_t net : circuit.outputs) bits.push_back(shown[net]);
    result.settled.push_back(std::move(bits));
  };
  for (std::size_t k = 0; k < stimulus.vectors.size(); ++k) {
    const std::uint64_t time = stimulus.vector_time(k);
    if (k > 0) {
      apply_until(time);
      sample();
      clock(time);
    }
    for (std::size_t i = 0; i < circuit.inputs.size(); ++i) {
      if (stimulus.vectors[k][i] == driven[i]) continue;
      driven[i] ^= 1;
      queue.emplace(time, circuit.inputs[i]);
    }
  }
  apply_until(~std::uint64_t{0});
  if (!stimulus.vectors.empty()) sample();
  result.values = std::move(shown);
  return result;
}

}  // namespace rubato::apps
