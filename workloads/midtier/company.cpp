// SPDX-License-Identifier: MIT
#include "workloads/midtier/company.hpp"

#include <mutex>
#include <string>

#include "workloads/common/workload.hpp"

namespace rubato::workloads::midtier {

Company::Company(const Sizes& sizes, unsigned warehouses, std::uint64_t seed)
    : sizes_(sizes),
      seed_(seed),
      items_(sizes.items),
      prices_(std::size_t{kRegions} * sizes.items),
      warehouses_(warehouses) {
  Rng rng(seed);
  for (Item& item : items_) {
    for (std::uint64_t& word : item.name) word = rng();
    for (std::uint64_t& word : item.description) word = rng.below(100);
  }
  for (Price& price : prices_) {
    for (std::uint64_t& unit : price.unit) unit = 100 + rng.below(9'901);
    price.tax = rng.below(20);
  }
}

void Company::open(unsigned warehouse) {
  warehouses_[warehouse] = std::make_unique<Warehouse>(*this, warehouse, seed_ + 1 + warehouse);
}

unsigned Company::other(unsigned than, Rng& rng) const {
  const auto others = static_cast<unsigned>(warehouses_.size()) - 1;
  return others == 0 ? than : (than + 1 + static_cast<unsigned>(rng.below(others))) % (others + 1);
}

void Company::add(const Totals& totals) {
  const std::lock_guard<DataLatch> guard(latch_);
  totals_.orders += totals.orders;
  totals_.payments += totals.payments;
  totals_.paid += totals.paid;
  totals_.sold += totals.sold;
}

void Company::verify() {
  Totals own, taken;
  for (const auto& warehouse : warehouses_) {
    warehouse->verify();
    const Totals& of = warehouse->own();
    own.orders += of.orders;
    own.payments += of.payments;
    own.paid += of.paid;
    own.sold += of.sold;
    const Totals from = warehouse->taken();
    taken.payments += from.payments;
    taken.paid += from.paid;
    taken.sold += from.sold;
  }
  expect_equal(totals_.orders, own.orders, "the company's number of orders");
  expect_equal(totals_.payments, own.payments, "the company's number of payments");
  expect_equal(totals_.paid, own.paid, "what was paid to the company");
  expect_equal(totals_.sold, own.sold, "the quantity that the company has sold");
  expect_equal(taken.payments, own.payments, "the number of payments by customers");
  expect_equal(taken.paid, own.paid, "what was paid by customers");
  expect_equal(taken.sold, own.sold, "the quantity that was taken from stock");
}

}  // namespace rubato::workloads::midtier
