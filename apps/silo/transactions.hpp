// TPC-C's transactions (specification 5.11, clause 2): requests of terminals, their answers, and the changes
// of single rows that both the tasks and the serial reference make.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/silo/tables.hpp"

namespace rubato::apps::silo {

enum class Kind : std::uint32_t { new_order, payment, order_status, delivery, stock_level };
inline constexpr std::uint32_t kKinds = 5;
inline constexpr std::uint32_t kRecentOrders = 20;  // that a stock level looks at

struct WantedLine {
  std::uint32_t item = 0;  ///< 0: there is none, so the transaction is rolled back
  std::uint32_t supplier = 0;
  std::uint32_t quantity = 0;
};

/// A request; each kind uses some of the members.
struct Transaction {
  Kind kind = Kind::new_order;
  std::uint32_t number = 1;  ///< in the order of execution, from 1 on
  std::uint32_t warehouse = 0, district = 0;
  std::uint32_t customer_warehouse = 0, customer_district = 0;
  std::uint32_t customer = 0;  ///< 0: by name
  std::uint32_t name = 0;
  Money payment = 0;
  std::uint32_t carrier = 0;
  std::uint32_t threshold = 0;
  std::uint32_t line_count = 0;
  WantedLine lines[kMostLines]{};
};

/// A number that a terminal shows, on a line of its own: different tasks of a transaction write them.
struct alignas(64) Shown : tracked<Money> {
  using tracked<Money>::operator=;
};

/// Answer that a terminal shows.
struct Answer {
  Shown total;  ///< of an order; balance; items whose stock is low
  Shown order;
  Shown warehouse_tax, district_tax, discount;
  Shown amounts[kMostLines];  ///< of lines; of deliveries, by district
};

/// `count` requests in the mix of clause 5.2.4, by a shuffled deck of 23 cards.
std::vector<Transaction> random_transactions(const Scale& scale, std::uint32_t count, std::uint64_t seed);

std::uint64_t digest(const std::vector<Answer>& answers);

/// The customer that is asked for: by number, or the middle one of those with a last name, by first names.
Customer* find_customer(const Store& store, const Transaction& t);

/// Takes from the stock; at less than 10 left, 91 more arrive.
void order_from_stock(Stock& stock, const WantedLine& wanted, std::uint32_t home);

/// Books the payment in the customer's row.
void pay(Customer& customer, const Transaction& t);

History* new_history(const Transaction& t, std::uint32_t customer, std::uint64_t warehouse_name,
                     std::uint64_t district_name);
Order* new_order_row(const Transaction& t);
OrderLine* new_line(const Transaction& t, std::uint32_t line, Money amount, const DistrictInfo& info);

/// With taxes and discount.
Money order_total(const Answer& answer, std::uint32_t lines);

/// How many of `count` item numbers are different; 0 is no item. Sorts them.
std::uint32_t count_different(std::uint32_t* items, std::uint32_t count);

}  // namespace rubato::apps::silo
