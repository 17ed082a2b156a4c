// SPDX-License-Identifier: MIT
// The carry-save array multiplier: WIDTH - 1 rows of adders that hand sums down and carries down-left, then a
// ripple-carry row.
#include <charconv>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

#include "apps/common/input_error.hpp"
#include "apps/des/circuit.hpp"

namespace rubato::apps {
namespace {

constexpr std::uint32_t kMaxWidth = 1024;
constexpr std::uint32_t kNone = ~std::uint32_t{0};  // a net that is constantly 0

class Builder {
 public:
  std::uint32_t gate(GateKind kind, std::string name, std::vector<std::uint32_t> pins) {
    circuit.names.push_back(std::move(name));
    circuit.kinds.push_back(kind);
    circuit.pins.push_back(std::move(pins));
    return circuit.gates() - 1;
  }

  /// Sum and carry of up to three bits; nets named after `cell`.
  std::pair<std::uint32_t, std::uint32_t> add(const std::string& cell, std::uint32_t a, std::uint32_t b,
                                              std::uint32_t c) {
    if (a == kNone) std::swap(a, c);
    if (b == kNone) std::swap(b, c);
    if (a == kNone) std::swap(a, b);
    if (b == kNone) return {a, kNone};
    const std::uint32_t half = gate(GateKind::xor_, cell + (c == kNone ? "_s" : "_x"), {a, b});
    const std::uint32_t both = gate(GateKind::and_, cell + (c == kNone ? "_c" : "_g"), {a, b});
    if (c == kNone) return {half, both};
    const std::uint32_t sum = gate(GateKind::xor_, cell + "_s", {half, c});
    const std::uint32_t passed = gate(GateKind::and_, cell + "_p", {half, c});
    return {sum, gate(GateKind::or_, cell + "_c", {both, passed})};
  }

  Circuit circuit;
};

}  // namespace

Circuit generate_csa(std::uint32_t width) {
  Builder build;
  std::vector<std::uint32_t> a(width), b(width), product;
  const auto name = [](const char* what, std::uint32_t i) { return what + std::to_string(i); };
  for (std::uint32_t i = 0; i < width; ++i) a[i] = build.gate(GateKind::input, name("a", i), {});
  for (std::uint32_t j = 0; j < width; ++j) b[j] = build.gate(GateKind::input, name("b", j), {});
  const auto partial = [&](std::uint32_t i, std::uint32_t j) {
    return build.gate(GateKind::and_, name("m", i) + "_" + std::to_string(j), {a[i], b[j]});
  };
  // Cell i of row j has weight i + j: its sum meets cell i - 1 of the next row, its carry cell i.
  std::vector<std::uint32_t> sum(width), carry(width, kNone);
  for (std::uint32_t i = 0; i < width; ++i) sum[i] = partial(i, 0);
  product.push_back(sum[0]);
  for (std::uint32_t j = 1; j < width; ++j) {
    std::vector<std::uint32_t> next_sum(width), next_carry(width);
    for (std::uint32_t i = 0; i < width; ++i) {
      const std::uint32_t above = i + 1 < width ? sum[i + 1] : kNone;
      const std::string cell = name("r", j) + "_" + std::to_string(i);
      const std::uint32_t here = partial(i, j);
      std::tie(next_sum[i], next_carry[i]) = build.add(cell, here, above, carry[i]);
    }
    sum = std::move(next_sum);
    carry = std::move(next_carry);
    product.push_back(sum[0]);
  }
  std::uint32_t ripple = kNone;
  for (std::uint32_t k = 0; k < width; ++k) {
    const std::uint32_t above = k + 1 < width ? sum[k + 1] : kNone;
    const auto [bit, next] = build.add(name("t", k), above, carry[k], ripple);
    product.push_back(bit);
    ripple = next;
  }
  Circuit circuit = std::move(build.circuit);
  circuit.inputs = a;
  circuit.inputs.insert(circuit.inputs.end(), b.begin(), b.end());
  // Outputs get gates of their own, so that they have the names one expects.
  for (std::uint32_t k = 0; k < product.size(); ++k) {
    circuit.names.push_back(name("p", k));
    circuit.kinds.push_back(GateKind::buf);
    circuit.pins.push_back({product[k]});
    circuit.outputs.push_back(circuit.gates() - 1);
  }
  levelize(circuit);
  return circuit;
}

Circuit generate_circuit(const std::string& what) {
  std::string_view rest = what;
  std::uint32_t width = 0;
  if (rest.substr(0, 4) == "csa:") {
    rest.remove_prefix(4);
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), width);
    if (error == std::errc{} && end == rest.data() + rest.size() && width >= 2 && width <= kMaxWidth) {
      return generate_csa(width);
    }
  }
  throw InputError("--generate " + what + ": csa:WIDTH with a width of 2 to " + std::to_string(kMaxWidth) +
                   " bits (csa:32) was expected");
}

std::vector<std::uint8_t> multiply_bits(const std::vector<std::uint8_t>& a,
                                        const std::vector<std::uint8_t>& b) {
  std::vector<std::uint32_t> columns(a.size() + b.size() + 1, 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) columns[i + j] += std::uint32_t{a[i]} * b[j];
  }
  std::vector<std::uint8_t> product(a.size() + b.size());
  for (std::size_t k = 0; k < product.size(); ++k) {
    product[k] = static_cast<std::uint8_t>(columns[k] & 1);
    columns[k + 1] += columns[k] >> 1;
  }
  return product;
}

}  // namespace rubato::apps
