// SPDX-License-Identifier: MIT
#include "apps/silo/transactions.hpp"

#include <algorithm>

#include "apps/silo/random.hpp"

namespace rubato::apps::silo {
namespace {

class Terminals {
 public:
  Terminals(const Scale& scale, std::uint64_t seed) : scale_(scale), rng_(mix64(seed)) {
    const std::uint32_t cards[kKinds] = {10, 10, 1, 1, 1};
    for (std::uint32_t k = 0; k < kKinds; ++k) deck_.insert(deck_.end(), cards[k], static_cast<Kind>(k));
  }

  Transaction next(std::uint32_t number) {
    if ((number - 1) % deck_.size() == 0) {
      for (std::size_t i = deck_.size(); i > 1; --i) std::swap(deck_[i - 1], deck_[rng_.below(i)]);
    }
    Transaction t;
    t.kind = deck_[(number - 1) % deck_.size()];
    t.number = number;
    t.warehouse = t.customer_warehouse = below(scale_.warehouses);
    t.district = t.customer_district = below(kDistricts);
    switch (t.kind) {
      case Kind::new_order:
        want_lines(t);
        break;
      case Kind::payment:
        if (scale_.warehouses > 1 && rng_.below(100) < 15) {
          t.customer_warehouse = another(t.warehouse);
          t.customer_district = below(kDistricts);
        }
        t.payment = between(rng_, 100, 500'000);
        choose_customer(t);
        break;
      case Kind::order_status:
        choose_customer(t);
        break;
      case Kind::delivery:
        t.carrier = below(10) + 1;
        break;
      case Kind::stock_level:
        t.threshold = below(11) + 10;
        break;
    }
    return t;
  }

 private:
  std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(rng_.below(count)); }
  std::uint32_t another(std::uint32_t warehouse) {
    return (warehouse + 1 + below(scale_.warehouses - 1)) % scale_.warehouses;
  }
  void choose_customer(Transaction& t) {
    if (rng_.below(100) < 60) {
      t.name = random_name(rng_, scale_);
    } else {
      t.customer = random_customer(rng_, scale_);
    }
  }
  void want_lines(Transaction& t) {
    t.customer = random_customer(rng_, scale_);
    t.line_count = static_cast<std::uint32_t>(between(rng_, 5, kMostLines));
    for (std::uint32_t l = 0; l < t.line_count; ++l) {
      const bool is_remote = scale_.warehouses > 1 && rng_.below(100) == 0;
      t.lines[l] = {random_item(rng_, scale_), is_remote ? another(t.warehouse) : t.warehouse, below(10) + 1};
    }
    if (rng_.below(100) == 0) t.lines[t.line_count - 1].item = 0;
  }

  Scale scale_;
  Rng rng_;
  std::vector<Kind> deck_;
};

}  // namespace

std::vector<Transaction> random_transactions(const Scale& scale, std::uint32_t count, std::uint64_t seed) {
  Terminals terminals(scale, seed);
  std::vector<Transaction> transactions;
  transactions.reserve(count);
  for (std::uint32_t n = 1; n <= count; ++n) transactions.push_back(terminals.next(n));
  return transactions;
}

std::uint64_t digest(const std::vector<Answer>& answers) {
  std::uint64_t sum = 0;
  const auto add = [&](std::uint64_t word) { sum = mix64(sum ^ word); };
  for (const Answer& a : answers) {
    add(static_cast<std::uint64_t>(a.total.get()));
    add(static_cast<std::uint64_t>(a.order.get()));
    for (const auto& amount : a.amounts) add(static_cast<std::uint64_t>(amount.get()));
  }
  return sum;
}

Customer* find_customer(const Store& store, const Transaction& t) {
  if (t.customer != 0) return store.customers.find(district_key(t.customer_district, t.customer));
  const std::uint64_t begin = name_key(t.customer_district, t.name, 0, 0);
  const std::uint64_t end = name_key(t.customer_district, t.name + 1, 0, 0);
  std::uint32_t count = 0;
  for (Entry e = store.names.first_at_least(begin); e.value != 0 && e.key < end;
       e = store.names.first_at_least(e.key + 1)) {
    ++count;
  }
  Entry middle = store.names.first_at_least(begin);
  for (std::uint32_t i = 1; i < (count + 1) / 2; ++i) middle = store.names.first_at_least(middle.key + 1);
  return count == 0 ? nullptr : Index<Customer>::row_of(middle.value);
}

void order_from_stock(Stock& stock, const WantedLine& wanted, std::uint32_t home) {
  const auto quantity = static_cast<std::int32_t>(wanted.quantity);
  const std::int32_t left = stock.quantity - quantity;
  stock.quantity = left >= 10 ? left : left + 91;
  stock.ytd += quantity;
  stock.orders += 1;
  if (wanted.supplier != home) stock.remote_orders += 1;
}

void pay(Customer& customer, const Transaction& t) {
  customer.balance -= t.payment;
  customer.ytd_payment += t.payment;
  customer.payments += 1;
  if (!customer.has_bad_credit) return;
  // The payment goes in front of C_DATA, the end of which is lost.
  constexpr std::size_t kAdded = 3;
  for (std::size_t i = kDataWords; i > kAdded; --i) customer.data[i - 1] = customer.data[i - 1 - kAdded];
  customer.data[0] =
      (std::uint64_t{customer.number} << 32) | (t.customer_district << 16) | t.customer_warehouse;
  customer.data[1] = (std::uint64_t{t.district} << 32) | t.warehouse;
  customer.data[2] = static_cast<std::uint64_t>(t.payment);
}

History* new_history(const Transaction& t, std::uint32_t customer, std::uint64_t warehouse_name,
                     std::uint64_t district_name) {
  auto* const row = new History;
  row->customer_warehouse = t.customer_warehouse;
  row->customer_district = t.customer_district;
  row->customer = customer;
  row->date = t.number;
  row->amount = t.payment;
  row->warehouse_name = warehouse_name;
  row->district_name = district_name;
  return row;
}

Order* new_order_row(const Transaction& t) {
  auto* const row = new Order;
  row->customer = t.customer;
  row->date = t.number;
  row->lines = t.line_count;
  for (std::uint32_t l = 0; l < t.line_count; ++l) row->is_local &= t.lines[l].supplier == t.warehouse;
  return row;
}

OrderLine* new_line(const Transaction& t, std::uint32_t line, Money amount, const DistrictInfo& info) {
  auto* const row = new OrderLine;
  row->item = t.lines[line].item;
  row->supplier = t.lines[line].supplier;
  row->quantity = t.lines[line].quantity;
  row->amount = amount;
  row->info = info;
  return row;
}

Money order_total(const Answer& answer, std::uint32_t lines) {
  constexpr Money kWhole = 10'000;
  Money sum = 0;
  for (std::uint32_t l = 0; l < lines; ++l) sum += answer.amounts[l];
  return sum * (kWhole - answer.discount.get()) / kWhole *
         (kWhole + answer.warehouse_tax.get() + answer.district_tax.get()) / kWhole;
}

std::uint32_t count_different(std::uint32_t* items, std::uint32_t count) {
  std::sort(items, items + count);
  const std::uint32_t* const end = std::unique(items, items + count);
  const std::uint32_t* const first = std::find_if(const_cast<const std::uint32_t*>(items), end,
                                                  [](std::uint32_t item) { return item != 0; });
  return static_cast<std::uint32_t>(end - first);
}

}  // namespace rubato::apps::silo
