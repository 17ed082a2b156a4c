// SPDX-License-Identifier: MIT
// Sequential circuits: the counter and the linear feedback shift register.
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "apps/des/builder.hpp"
#include "apps/des/generated.hpp"

namespace rubato::apps {
namespace {

/// A primitive trinomial x^width + x^tap + 1: its register goes through all states but 0.
struct Trinomial {
  std::uint32_t width, tap;
};
constexpr std::array kTrinomials = {Trinomial{2, 1},  Trinomial{3, 1},   Trinomial{4, 1},   Trinomial{5, 2},
                                    Trinomial{6, 1},  Trinomial{7, 1},   Trinomial{9, 4},   Trinomial{10, 3},
                                    Trinomial{11, 2}, Trinomial{15, 1},  Trinomial{17, 3},  Trinomial{18, 7},
                                    Trinomial{20, 3}, Trinomial{21, 2},  Trinomial{22, 1},  Trinomial{23, 5},
                                    Trinomial{25, 3}, Trinomial{28, 3},  Trinomial{29, 2},  Trinomial{31, 3},
                                    Trinomial{63, 1}, Trinomial{127, 1}, Trinomial{521, 32}};

}  // namespace

Circuit generate_counter(std::uint32_t width) {
  CircuitBuilder build;
  std::uint32_t carry = build.input("en");
  std::vector<std::uint32_t> count;
  for (std::uint32_t i = 0; i < width; ++i) count.push_back(build.flip_flop(numbered("q", i), false));
  for (std::uint32_t i = 0; i < width; ++i) {
    build.connect(count[i], build.gate(GateKind::xor_, numbered("d", i), {count[i], carry}));
    if (i + 1 < width) carry = build.gate(GateKind::and_, numbered("t", i), {count[i], carry});
  }
  for (std::uint32_t i = 0; i < width; ++i) build.output(numbered("c", i), count[i]);
  return build.finish();
}

KnownOutputs counts(const Circuit& circuit, const Stimulus& stimulus) {
  KnownOutputs known;
  std::uint64_t count = 0;
  for (const auto& vector : stimulus.vectors) {
    std::vector<std::uint8_t> bits(circuit.outputs.size(), 0);
    for (std::size_t i = 0; i < std::min<std::size_t>(bits.size(), 64); ++i)
      bits[i] = static_cast<std::uint8_t>(count >> i & 1);
    known.push_back(std::move(bits));
    count += vector.front();
  }
  return known;
}

std::uint32_t lfsr_tap(std::uint32_t width) {
  const auto* const found = std::find_if(kTrinomials.begin(), kTrinomials.end(),
                                         [width](const Trinomial& t) { return t.width == width; });
  return found == kTrinomials.end() ? 0 : found->tap;
}

Circuit generate_lfsr(std::uint32_t width) {
  CircuitBuilder build;
  const std::uint32_t in = build.input("in");
  std::vector<std::uint32_t> state;
  for (std::uint32_t i = 0; i < width; ++i) state.push_back(build.flip_flop(numbered("s", i), i == 0));
  build.connect(state[0],
                build.gate(GateKind::xor_, "feedback", {state[width - 1], state[lfsr_tap(width) - 1], in}));
  for (std::uint32_t i = 1; i < width; ++i) build.connect(state[i], state[i - 1]);
  for (std::uint32_t i = 0; i < width; ++i) build.output(numbered("q", i), state[i]);
  return build.finish();
}

KnownOutputs shifted_states(const Circuit& circuit, const Stimulus& stimulus) {
  KnownOutputs known;
  const std::size_t tap = lfsr_tap(static_cast<std::uint32_t>(circuit.outputs.size()));
  std::vector<std::uint8_t> state(circuit.outputs.size(), 0);
  state.front() = 1;
  for (const auto& vector : stimulus.vectors) {
    known.push_back(state);
    const auto in = static_cast<std::uint8_t>(state.back() ^ state[tap - 1] ^ vector.front());
    std::rotate(state.begin(), state.end() - 1, state.end());
    state.front() = in;
  }
  return known;
}

}  // namespace rubato::apps
