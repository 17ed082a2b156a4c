// TPC-C's consistency conditions (3.3.2), and further invariants: every row agrees with its checksum, and
// sums of money and goods with the transactions' totals.
// SPDX-License-Identifier: MIT
#include <memory>
#include <string>

#include "workloads/common/workload.hpp"
#include "workloads/oltp/session.hpp"

namespace rubato::workloads::oltp {
namespace {

template <Table T>
void expect_whole(const Row<T>& row, const std::string& what) {
  expect_equal(row.computed_check(), row.check, "the checksum of " + what);
}

struct CustomerSums {
  std::uint64_t paid = kFirstPayment, payments = 1, delivered = 0, deliveries = 0;
};
struct StockSums {
  std::uint64_t quantity = 0, orders = 0, remote_orders = 0;
};

class Verifier {
 public:
  explicit Verifier(Database& db) : db_(db), warehouses_(db.sizes().warehouses) {
    for (Sums& sums : warehouses_) {
      sums.customers.resize(std::size_t{kDistricts} * db.sizes().customers);
      sums.stock.resize(db.sizes().items);
    }
  }

  void add_payment(const Row<Table::history>& row) {
    expect_whole(row, "a payment");
    const std::uint64_t amount = row.get<history::Amount>();
    warehouses_[row.get<history::Warehouse>()].paid[row.get<history::District>()] += amount;
    Sums& payer = warehouses_[row.get<history::CustomerWarehouse>()];
    CustomerSums& customer = payer.customers[row.get<history::CustomerDistrict>() * db_.sizes().customers +
                                             row.get<history::Customer>()];
    customer.paid += amount;
    ++customer.payments;
  }

  void verify_district(unsigned w, unsigned d) {
    Warehouse& of = db_.warehouse(w);
    const Row<Table::district>& row = of.districts[d];
    const std::string place = "warehouse " + std::to_string(w) + ", district " + std::to_string(d) + ": ";
    expect_whole(row, place + "the district");
    expect_equal(row.get<district::Ytd>(), kFirstDistrictYtd + warehouses_[w].paid[d],
                 place + "what was paid");
    std::uint64_t orders = 0, last_order = 0, waiting = 0, first_waiting = 0, last_waiting = 0;
    of.orders.scan(order_key(d, 0), order_key(d + 1, 0), [&](std::uint64_t, std::uint64_t pointer) {
      const auto& order = *Database::pointer<Table::order>(pointer);
      ++orders;
      last_order = order.get<order::Id>();
      verify_order(w, d, order, place + "order " + std::to_string(last_order) + ": ");
      return true;
    });
    of.new_orders.scan(order_key(d, 0), order_key(d + 1, 0), [&](std::uint64_t, std::uint64_t pointer) {
      last_waiting = Database::pointer<Table::order>(pointer)->get<order::Id>();
      if (waiting++ == 0) first_waiting = last_waiting;
      return true;
    });
    expect_equal(orders, row.get<district::NextOrder>() - 1, place + "the number of orders");
    expect_equal(last_order, row.get<district::NextOrder>() - 1, place + "the last order");
    if (waiting > 0) {
      expect_equal(last_waiting, last_order, place + "the last order that waits for delivery");
      expect_equal(waiting, last_waiting - first_waiting + 1,
                   place + "the number of orders that wait for delivery");
    }
  }

  void verify_warehouse(unsigned w) {
    Warehouse& of = db_.warehouse(w);
    const std::string place = "warehouse " + std::to_string(w) + ": ";
    expect_whole(of.row, place + "the warehouse");
    std::uint64_t paid = 0;
    for (const Row<Table::district>& district : of.districts) paid += district.get<district::Ytd>();
    expect_equal(of.row.get<warehouse::Ytd>(), paid, place + "what was paid, in all districts,");
    for (unsigned c = 0; c < kDistricts * db_.sizes().customers; ++c) {
      const Row<Table::customer>& row = *of.customers.find(c);
      const CustomerSums& sums = warehouses_[w].customers[c];
      const std::string who = place + "customer " + std::to_string(c) + ": ";
      expect_whole(row, who + "the row");
      expect_equal(row.get<customer::YtdPayment>(), sums.paid, who + "what was paid");
      expect_equal(row.get<customer::Payments>(), sums.payments, who + "the number of payments");
      expect_equal(row.get<customer::Deliveries>(), sums.deliveries, who + "the number of deliveries");
      expect_equal(row.get<customer::Balance>(), sums.delivered - sums.paid, who + "the balance");
    }
    for (unsigned i = 0; i < db_.sizes().items; ++i) {
      const Row<Table::stock>& row = *of.stock.find(i);
      const StockSums& sums = warehouses_[w].stock[i];
      const std::string what = place + "stock of item " + std::to_string(i) + ": ";
      expect_whole(row, what + "the row");
      expect_equal(row.get<stock::Ytd>(), sums.quantity, what + "the quantity that was sold");
      expect_equal(row.get<stock::Orders>(), sums.orders, what + "the number of orders");
      expect_equal(row.get<stock::RemoteOrders>(), sums.remote_orders,
                   what + "the number of orders from elsewhere");
    }
  }

 private:
  struct Sums {
    std::array<std::uint64_t, kDistricts> paid{};
    std::vector<CustomerSums> customers;
    std::vector<StockSums> stock;
  };

  void verify_order(unsigned w, unsigned d, const Row<Table::order>& order, const std::string& place) {
    Warehouse& of = db_.warehouse(w);
    expect_whole(order, place + "the row");
    const std::uint64_t id = order.get<order::Id>();
    const bool is_delivered = order.get<order::Carrier>() != 0;
    expect_equal(of.new_orders.find(order_key(d, id)).has_value() ? 1 : 0, is_delivered ? 0 : 1,
                 place + "whether it waits for delivery");
    const bool is_new = id > db_.sizes().customers;
    std::uint64_t lines = 0, total = 0;
    of.order_lines.scan(
        line_key(d, id, 0), line_key(d, id + 1, 0), [&](std::uint64_t, std::uint64_t pointer) {
          const auto& line = *Database::pointer<Table::order_line>(pointer);
          expect_whole(line, place + "a line");
          expect_equal(line.get<order_line::Delivered>() != 0 ? 1 : 0, is_delivered ? 1 : 0,
                       place + "whether a line is delivered");
          ++lines;
          total += line.get<order_line::Amount>();
          if (is_new) {
            StockSums& stock =
                warehouses_[line.get<order_line::Supplier>()].stock[line.get<order_line::Item>()];
            stock.quantity += line.get<order_line::Quantity>();
            ++stock.orders;
            if (line.get<order_line::Supplier>() != w) ++stock.remote_orders;
          }
          return true;
        });
    expect_equal(lines, order.get<order::Lines>(), place + "the number of lines");
    const bool was_delivered_first = !is_new && total == 0;
    if (is_delivered && !was_delivered_first) {
      CustomerSums& customer =
          warehouses_[w].customers[d * db_.sizes().customers + order.get<order::Customer>()];
      customer.delivered += total;
      ++customer.deliveries;
    }
  }

  Database& db_;
  std::vector<Sums> warehouses_;
};

}  // namespace

void verify(Database& db, const std::vector<std::unique_ptr<Session>>& sessions) {
  std::vector<std::uint64_t> commits(kTransactions);
  Verifier verifier(db);
  for (const auto& s : sessions) {
    expect_equal(s->duplicates, 0, "the number of orders with a number that was given before");
    expect_equal(s->wrong_rows, 0, "the number of rows read that did not agree with their checksums");
    for (unsigned t = 0; t < kTransactions; ++t) commits[t] += s->commits[t];
    for (const Row<Table::history>* row : s->payments) verifier.add_payment(*row);
  }
  for (unsigned w = 0; w < db.sizes().warehouses; ++w)
    for (unsigned d = 0; d < kDistricts; ++d) verifier.verify_district(w, d);
  for (unsigned w = 0; w < db.sizes().warehouses; ++w) verifier.verify_warehouse(w);
  db.log().verify(commits);
}

}  // namespace rubato::workloads::oltp
