// SPDX-License-Identifier: MIT
// Each transaction from its begin to its end, as clause 2 of the specification tells it.
#include "apps/silo/serial_silo.hpp"

namespace rubato::apps::silo {
namespace {

void new_order(Database& db, const Transaction& t, Answer& answer) {
  Store& store = *db.stores[t.warehouse];
  for (std::uint32_t l = 0; l < t.line_count; ++l) {
    if (db.items.find(t.lines[l].item) == nullptr) return;  // rolled back before anything was written
  }
  District& district = *store.districts.find(t.district);
  const std::uint32_t number = district.next_order;
  district.next_order = number + 1;
  answer.order = number;
  answer.warehouse_tax = db.warehouses.find(t.warehouse)->tax;
  answer.district_tax = district.tax;
  answer.discount = store.customers.find(district_key(t.district, t.customer))->discount;
  Order* const order = new_order_row(t);
  store.orders.insert(district_key(t.district, number), order);
  store.customer_orders.insert(customer_order_key(t.district, t.customer, number),
                               reinterpret_cast<std::uint64_t>(order));
  auto* const waiting = new NewOrder;
  waiting->order = number;
  store.new_orders.insert(district_key(t.district, number), waiting);
  for (std::uint32_t l = 0; l < t.line_count; ++l) {
    Stock& stock = *db.stores[t.lines[l].supplier]->stock.find(t.lines[l].item);
    order_from_stock(stock, t.lines[l], t.warehouse);
    const Money amount = db.items.find(t.lines[l].item)->price * t.lines[l].quantity;
    answer.amounts[l] = amount;
    store.lines.insert(line_key(t.district, number, l), new_line(t, l, amount, stock.info[t.district]));
  }
  answer.total = order_total(answer, t.line_count);
}

void payment(Database& db, const Transaction& t, Answer& answer) {
  Warehouse& warehouse = *db.warehouses.find(t.warehouse);
  District& district = *db.stores[t.warehouse]->districts.find(t.district);
  warehouse.ytd += t.payment;
  district.ytd += t.payment;
  Customer& customer = *find_customer(*db.stores[t.customer_warehouse], t);
  pay(customer, t);
  answer.total = customer.balance;
  History* const row = new_history(t, customer.number, warehouse.name, district.name);
  row->older = district.history;
  district.history = row;
}

void order_status(Database& db, const Transaction& t, Answer& answer) {
  const Store& store = *db.stores[t.warehouse];
  const Customer& customer = *find_customer(store, t);
  answer.total = customer.balance;
  const Entry last =
      store.customer_orders.last_at_most(customer_order_key(t.district, customer.number, ~std::uint32_t{0}));
  if (last.value == 0 || last.key >> 32 != customer_order_key(t.district, customer.number, 0) >> 32) return;
  const auto number = static_cast<std::uint32_t>(last.key);
  answer.order = number;
  for (std::uint32_t l = 0; l < Index<Order>::row_of(last.value)->lines; ++l)
    answer.amounts[l] = store.lines.find(line_key(t.district, number, l))->amount;
}

void delivery(Database& db, const Transaction& t, Answer& answer) {
  Store& store = *db.stores[t.warehouse];
  for (std::uint32_t d = 0; d < kDistricts; ++d) {
    const Entry oldest = store.new_orders.first_at_least(district_key(d, 0));
    if (oldest.value == 0 || oldest.key >> 32 != d) continue;
    delete store.new_orders.remove(oldest.key);
    const auto number = static_cast<std::uint32_t>(oldest.key);
    Order& order = *store.orders.find(oldest.key);
    order.carrier = t.carrier;
    Money sum = 0;
    for (std::uint32_t l = 0; l < order.lines; ++l) {
      OrderLine& line = *store.lines.find(line_key(d, number, l));
      line.delivered = t.number;
      sum += line.amount;
    }
    Customer& customer = *store.customers.find(district_key(d, order.customer));
    customer.balance += sum;
    customer.deliveries += 1;
    answer.amounts[d] = sum;
  }
}

void stock_level(Database& db, const Transaction& t, Answer& answer) {
  const Store& store = *db.stores[t.warehouse];
  const std::uint32_t next = store.districts.find(t.district)->next_order;
  std::vector<std::uint32_t> low;
  for (std::uint32_t number = next > kRecentOrders ? next - kRecentOrders : 1; number < next; ++number) {
    const Order& order = *store.orders.find(district_key(t.district, number));
    for (std::uint32_t l = 0; l < order.lines; ++l) {
      const std::uint32_t item = store.lines.find(line_key(t.district, number, l))->item;
      if (store.stock.find(item)->quantity < static_cast<std::int32_t>(t.threshold)) low.push_back(item);
    }
  }
  answer.total = count_different(low.data(), static_cast<std::uint32_t>(low.size()));
}

}  // namespace

std::vector<Answer> run_serially(Database& database, const std::vector<Transaction>& transactions) {
  std::vector<Answer> answers(transactions.size());
  constexpr void (*kPrograms[kKinds])(Database&, const Transaction&, Answer&) = {
      new_order, payment, order_status, delivery, stock_level};
  for (std::size_t i = 0; i < transactions.size(); ++i)
    kPrograms[static_cast<std::uint32_t>(transactions[i].kind)](database, transactions[i], answers[i]);
  return answers;
}

}  // namespace rubato::apps::silo
