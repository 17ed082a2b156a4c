// SPDX-License-Identifier: MIT
#include <algorithm>

#include "apps/silo/tables.hpp"
#include "base/rng.hpp"

namespace rubato::apps::silo {
namespace {

class Digest {
 public:
  template <class... Words>
  void add(Words... words) {
    ((value_ = mix64(value_ ^ static_cast<std::uint64_t>(words))), ...);
  }
  void add(const DistrictInfo& info) { add(info[0], info[1], info[2]); }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

void add_store(Digest& sum, const Store& store) {
  store.districts.for_each([&](std::uint64_t key, const District* row) {
    sum.add(key, row->ytd.get(), row->next_order.get(), row->tax, row->name);
    for (const History* h = row->history; h != nullptr; h = h->older) {
      sum.add(h->customer_warehouse, h->customer_district, h->customer, h->date, h->amount, h->warehouse_name,
              h->district_name);
    }
  });
  store.customers.for_each([&](std::uint64_t key, const Customer* row) {
    sum.add(key, row->balance.get(), row->ytd_payment.get(), row->payments.get(), row->deliveries.get());
    for (const auto& word : row->data) sum.add(word.get());
  });
  store.stock.for_each([&](std::uint64_t key, const Stock* row) {
    sum.add(key, row->quantity.get(), row->ytd.get(), row->orders.get(), row->remote_orders.get());
  });
  store.orders.for_each([&](std::uint64_t key, const Order* row) {
    sum.add(key, row->customer, row->date, row->lines, row->is_local, row->carrier.get());
    const std::uint64_t by_customer = customer_order_key(static_cast<std::uint32_t>(key >> 32), row->customer,
                                                         static_cast<std::uint32_t>(key));
    sum.add(store.customer_orders.find(by_customer) == reinterpret_cast<std::uint64_t>(row));
  });
  store.new_orders.for_each([&](std::uint64_t key, const NewOrder* row) { sum.add(key, row->order); });
  store.lines.for_each([&](std::uint64_t key, const OrderLine* row) {
    sum.add(key, row->item, row->supplier, row->quantity, row->delivered.get(), row->amount);
    sum.add(row->info);
  });
}

/// Counts of one district, which conditions 2 to 4 compare.
struct Counts {
  std::uint32_t last_order = 0;
  std::uint64_t first_new = 0, last_new = 0, new_orders = 0;
  std::uint64_t lines_of_orders = 0, lines = 0;
};

std::string wrong(std::uint32_t condition, std::size_t warehouse, std::size_t district,
                  const std::string& what) {
  return "consistency condition " + std::to_string(condition) + " does not hold in warehouse " +
         std::to_string(warehouse) + ", district " + std::to_string(district) + ": " + what;
}

std::string inconsistency_of(const Counts& c, std::uint32_t next_order, std::size_t w, std::size_t d) {
  if (c.last_order + 1 != next_order || (c.new_orders != 0 && c.last_new != c.last_order)) {
    return wrong(2, w, d,
                 "the next order is " + std::to_string(next_order) + ", the last " +
                     std::to_string(c.last_order) + ", the last new one " + std::to_string(c.last_new));
  }
  if (c.new_orders != 0 && c.last_new - c.first_new + 1 != c.new_orders) {
    return wrong(3, w, d,
                 std::to_string(c.new_orders) + " new orders from " + std::to_string(c.first_new) + " to " +
                     std::to_string(c.last_new));
  }
  if (c.lines_of_orders != c.lines) {
    return wrong(
        4, w, d,
        std::to_string(c.lines) + " order lines, but orders have " + std::to_string(c.lines_of_orders));
  }
  return "";
}

std::string inconsistency_of(const Store& store, Money warehouse_ytd, std::size_t w) {
  std::vector<Counts> counts(kDistricts);
  store.orders.for_each([&](std::uint64_t key, const Order* row) {
    Counts& c = counts[key >> 32];
    c.last_order = std::max(c.last_order, static_cast<std::uint32_t>(key));
    c.lines_of_orders += row->lines;
  });
  store.new_orders.for_each([&](std::uint64_t key, const NewOrder* row) {
    Counts& c = counts[key >> 32];
    if (c.new_orders++ == 0) c.first_new = row->order;
    c.last_new = row->order;
  });
  store.lines.for_each([&](std::uint64_t key, const OrderLine*) { ++counts[key >> 40].lines; });
  Money districts = 0, payments = 0;
  std::string found;
  store.districts.for_each([&](std::uint64_t d, const District* row) {
    districts += row->ytd;
    for (const History* h = row->history; h != nullptr; h = h->older) payments += h->amount;
    if (found.empty()) found = inconsistency_of(counts[d], row->next_order, w, d);
  });
  const auto sums = [&](const char* condition, Money sum) {
    return std::string("consistency condition ") + condition + " does not hold in warehouse " +
           std::to_string(w) + ": it has " + std::to_string(warehouse_ytd) + ", the sum is " +
           std::to_string(sum);
  };
  if (districts != warehouse_ytd) return sums("1", districts);
  if (!found.empty()) return found;
  return payments != warehouse_ytd ? sums("8", payments) : "";
}

}  // namespace

std::uint64_t digest(const Database& database) {
  Digest sum;
  database.items.for_each([&](std::uint64_t key, const Item* row) { sum.add(key, row->price, row->image); });
  database.warehouses.for_each(
      [&](std::uint64_t key, const Warehouse* row) { sum.add(key, row->ytd.get(), row->tax, row->name); });
  for (const auto& store : database.stores) add_store(sum, *store);
  return sum.value();
}

std::string inconsistency(const Database& database) {
  std::string found;
  database.warehouses.for_each([&](std::uint64_t w, const Warehouse* row) {
    if (found.empty()) found = inconsistency_of(*database.stores[w], row->ytd, w);
  });
  return found;
}

}  // namespace rubato::apps::silo
