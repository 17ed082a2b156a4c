// SPDX-License-Identifier: MIT
// Generator with a sequence of random numbers for each table: adding a column to one leaves the other as it
// is.
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "apps/common/input_error.hpp"
#include "apps/hashjoin/tpch.hpp"
#include "base/rng.hpp"

namespace rubato::apps {
namespace {

constexpr double kCustomersOfScale1 = 150'000;
constexpr std::uint64_t kOrdersOfCustomer = 10;
constexpr std::uint32_t kIdleCustomers = 3;  // multiples of this have no orders
// The range of o_totalprice in the qualification database.
constexpr std::uint64_t kLowestPrice = 85'771, kHighestPrice = 55'528'516;

/// The n-th order's key, n from 1: of 32 successive numbers the first 8 are used.
std::uint64_t sparse_key(std::uint64_t n) { return (n >> 3 << 5) | (n & 7); }

/// The customer of an order, of `customers`: the neighbour where the drawn one is to have no orders.
std::uint32_t ordering_customer(std::uint32_t drawn, std::uint32_t customers) {
  if (drawn % kIdleCustomers != 0) return drawn;
  return drawn < customers ? drawn + 1 : drawn - 1;
}

}  // namespace

TpchTables generate_tpch(double scale, std::uint64_t seed) {
  const double wanted = std::floor(scale * kCustomersOfScale1 + 0.5);
  if (!(wanted >= 1) || !(scale <= 1000)) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g", scale);
    throw InputError(std::string("--scale ") + text.data() +
                     ": a factor from 1/150000 (one customer) to 1000 was expected");
  }
  const auto customers = static_cast<std::uint32_t>(wanted);
  TpchTables tables;
  Rng rng(seed);
  tables.customers.reserve(customers);
  for (std::uint32_t key = 1; key <= customers; ++key) {
    tables.customers.push_back({key, static_cast<std::uint32_t>(rng.below(kNations))});
  }
  rng = Rng(~seed);
  tables.orders.reserve(customers * kOrdersOfCustomer);
  for (std::uint64_t n = 1; n <= customers * kOrdersOfCustomer; ++n) {
    const auto drawn = static_cast<std::uint32_t>(1 + rng.below(customers));
    const auto price = static_cast<std::uint32_t>(kLowestPrice + rng.below(kHighestPrice - kLowestPrice + 1));
    tables.orders.push_back({sparse_key(n), ordering_customer(drawn, customers), price});
  }
  return tables;
}

}  // namespace rubato::apps
