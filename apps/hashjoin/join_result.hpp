// Result of the join: sums over all pairs of an order and its customer, exact in any order of the pairs.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "apps/hashjoin/tpch.hpp"
#include "base/rng.hpp"

namespace rubato::apps {

/// Pairs, the price of their orders by the customer's nation, and a digest: the sum modulo 2^64 of a hash of
/// every pair, which a lost, doubled or wrong pair changes.
struct JoinResult {
  static constexpr std::size_t kMatches = 0, kDigest = 1, kRevenue = 2;
  std::array<std::uint64_t, kRevenue + kNations> sums{};

  void add(const Order& order, std::uint32_t nation) {
    ++sums[kMatches];
    sums[kDigest] += mix64(order.key ^ (std::uint64_t{order.customer} << 32 | nation));
    sums[kRevenue + nation] += order.price;
  }
  void add(const JoinResult& other) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += other.sums[i];
  }
  std::uint64_t matches() const { return sums[kMatches]; }
  std::uint64_t digest() const { return sums[kDigest]; }
  std::uint64_t revenue() const {
    std::uint64_t total = 0;
    for (std::size_t i = kRevenue; i < sums.size(); ++i) total += sums[i];
    return total;
  }
  bool operator==(const JoinResult&) const = default;
};

}  // namespace rubato::apps
