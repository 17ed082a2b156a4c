// Gates one after the other: what generated circuits are made with.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "apps/des/circuit.hpp"

namespace rubato::apps {

class CircuitBuilder {
 public:
  /// @returns the gate, which is its net, too.
  std::uint32_t gate(GateKind kind, std::string name, std::vector<std::uint32_t> pins) {
    circuit_.names.push_back(std::move(name));
    circuit_.kinds.push_back(kind);
    circuit_.pins.push_back(std::move(pins));
    return circuit_.gates() - 1;
  }

  std::uint32_t input(std::string name) {
    circuit_.inputs.push_back(gate(GateKind::input, std::move(name), {}));
    return circuit_.inputs.back();
  }

  /// A flip-flop, whose D pin connect() gives it later: it may depend on what the flip-flop drives.
  std::uint32_t flip_flop(std::string name, bool initial) {
    circuit_.flip_flops.push_back(gate(GateKind::dff, std::move(name), {}));
    circuit_.initial_state.push_back(initial ? 1 : 0);
    return circuit_.flip_flops.back();
  }
  void connect(std::uint32_t flip_flop, std::uint32_t net) { circuit_.pins[flip_flop] = {net}; }

  /// A buffer, so that the output has a name of its own.
  void output(std::string name, std::uint32_t net) {
    circuit_.outputs.push_back(gate(GateKind::buf, std::move(name), {net}));
  }

  Circuit finish() {
    levelize(circuit_);
    return std::move(circuit_);
  }

 private:
  Circuit circuit_;
};

/// Name of the i-th net of a kind.
inline std::string numbered(const char* what, std::uint32_t i) { return what + std::to_string(i); }

}  // namespace rubato::apps
