// SPDX-License-Identifier: MIT
// The carry-save array multiplier: WIDTH - 1 rows of adders that hand sums down and carries down-left, then a
// ripple-carry row.
#include <cstddef>
#include <tuple>
#include <utility>

#include "apps/des/builder.hpp"
#include "apps/des/generated.hpp"

namespace rubato::apps {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};  // a net that is constantly 0

/// Sum and carry of up to three bits; nets named after `cell`.
std::pair<std::uint32_t, std::uint32_t> add(CircuitBuilder& build, const std::string& cell, std::uint32_t a,
                                            std::uint32_t b, std::uint32_t c) {
  if (a == kNone) std::swap(a, c);
  if (b == kNone) std::swap(b, c);
  if (a == kNone) std::swap(a, b);
  if (b == kNone) return {a, kNone};
  const std::uint32_t half = build.gate(GateKind::xor_, cell + (c == kNone ? "_s" : "_x"), {a, b});
  const std::uint32_t both = build.gate(GateKind::and_, cell + (c == kNone ? "_c" : "_g"), {a, b});
  if (c == kNone) return {half, both};
  const std::uint32_t sum = build.gate(GateKind::xor_, cell + "_s", {half, c});
  const std::uint32_t passed = build.gate(GateKind::and_, cell + "_p", {half, c});
  return {sum, build.gate(GateKind::or_, cell + "_c", {both, passed})};
}

}  // namespace

Circuit generate_csa(std::uint32_t width) {
  CircuitBuilder build;
  std::vector<std::uint32_t> a(width), b(width), product;
  for (std::uint32_t i = 0; i < width; ++i) a[i] = build.input(numbered("a", i));
  for (std::uint32_t j = 0; j < width; ++j) b[j] = build.input(numbered("b", j));
  const auto partial = [&](std::uint32_t i, std::uint32_t j) {
    return build.gate(GateKind::and_, numbered("m", i) + "_" + std::to_string(j), {a[i], b[j]});
  };
  // Cell i of row j has weight i + j: its sum meets cell i - 1 of the next row, its carry cell i.
  std::vector<std::uint32_t> sum(width), carry(width, kNone);
  for (std::uint32_t i = 0; i < width; ++i) sum[i] = partial(i, 0);
  product.push_back(sum[0]);
  for (std::uint32_t j = 1; j < width; ++j) {
    std::vector<std::uint32_t> next_sum(width), next_carry(width);
    for (std::uint32_t i = 0; i < width; ++i) {
      const std::uint32_t above = i + 1 < width ? sum[i + 1] : kNone;
      const std::string cell = numbered("r", j) + "_" + std::to_string(i);
      const std::uint32_t here = partial(i, j);
      std::tie(next_sum[i], next_carry[i]) = add(build, cell, here, above, carry[i]);
    }
    sum = std::move(next_sum);
    carry = std::move(next_carry);
    product.push_back(sum[0]);
  }
  std::uint32_t ripple = kNone;
  for (std::uint32_t k = 0; k < width; ++k) {
    const std::uint32_t above = k + 1 < width ? sum[k + 1] : kNone;
    const auto [bit, next] = add(build, numbered("t", k), above, carry[k], ripple);
    product.push_back(bit);
    ripple = next;
  }
  for (std::uint32_t k = 0; k < product.size(); ++k) build.output(numbered("p", k), product[k]);
  return build.finish();
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

KnownOutputs products(const Circuit& circuit, const Stimulus& stimulus) {
  KnownOutputs known;
  const auto width = static_cast<std::ptrdiff_t>(circuit.inputs.size() / 2);
  for (const auto& bits : stimulus.vectors) {
    const auto middle = bits.begin() + width;
    known.push_back(multiply_bits({bits.begin(), middle}, {middle, bits.end()}));
  }
  return known;
}

}  // namespace rubato::apps
