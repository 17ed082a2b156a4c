// The tables of TPC-C (specification 5.11, clause 1.3): rows, keys, and the database of all warehouses.
// Columns that no transaction needs for anything but its output, such as addresses, are left out. Money is in
// cents, rates are in ten-thousandths, dates are the numbers of transactions, from 1 on, and 0 is null or the
// time before.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/silo/tree.hpp"

namespace rubato::apps::silo {

inline constexpr std::uint32_t kDistricts = 10;  // of a warehouse
inline constexpr std::uint32_t kMostLines = 15;  // of an order
inline constexpr std::size_t kDataWords = 62;    // of a customer's C_DATA
using Money = std::int64_t;
using DistrictInfo = std::array<std::uint64_t, 3>;  // 24 characters

struct Warehouse : WholeLines {
  std::uint32_t tax = 0;
  std::uint64_t name = 0;
  std::uint64_t rest_of_line[6]{};  // every payment writes what follows, and orders read what precedes
  tracked<Money> ytd = 0;
};

struct History : WholeLines {
  History* older = nullptr;
  std::uint32_t customer_warehouse = 0, customer_district = 0, customer = 0;
  std::uint32_t date = 0;
  Money amount = 0;
  std::uint64_t warehouse_name = 0, district_name = 0;
};

struct District : WholeLines {
  tracked<Money> ytd = 0;
  tracked<std::uint32_t> next_order = 1;
  std::uint32_t tax = 0;
  std::uint64_t name = 0;
  tracked<History*> history = nullptr;  // the table without a key: payments here, the newest first
};

struct Customer : WholeLines {
  tracked<Money> balance = 0;
  tracked<Money> ytd_payment = 0;
  tracked<std::uint32_t> payments = 0;
  tracked<std::uint32_t> deliveries = 0;
  std::uint32_t number = 0;
  std::uint32_t discount = 0;
  bool has_bad_credit = false;
  tracked<std::uint64_t> data[kDataWords];
};

struct Item : WholeLines {
  Money price = 0;
  std::uint32_t image = 0;
  bool is_original = false;
};

struct Stock : WholeLines {
  tracked<std::int32_t> quantity = 0;
  tracked<std::uint32_t> orders = 0;
  tracked<std::uint32_t> remote_orders = 0;
  bool is_original = false;
  tracked<std::int64_t> ytd = 0;
  DistrictInfo info[kDistricts]{};
};

struct Order : WholeLines {
  std::uint32_t customer = 0;
  std::uint32_t date = 0;
  std::uint32_t lines = 0;
  bool is_local = true;
  tracked<std::uint32_t> carrier = 0;
};

struct NewOrder : WholeLines {
  std::uint32_t order = 0;
};

struct OrderLine : WholeLines {
  std::uint32_t item = 0;
  std::uint32_t supplier = 0;  // warehouse
  std::uint32_t quantity = 0;
  tracked<std::uint32_t> delivered = 0;  // date
  Money amount = 0;
  DistrictInfo info{};
};

// Keys within a warehouse; districts and lines count from 0, customers, items and orders from 1.
inline std::uint64_t district_key(std::uint32_t district, std::uint32_t number) {
  return (std::uint64_t{district} << 32) | number;
}
inline std::uint64_t line_key(std::uint32_t district, std::uint32_t order, std::uint32_t line) {
  return (std::uint64_t{district} << 40) | (std::uint64_t{order} << 8) | line;
}
inline std::uint64_t customer_order_key(std::uint32_t district, std::uint32_t customer, std::uint32_t order) {
  return (std::uint64_t{district} << 56) | (std::uint64_t{customer} << 32) | order;
}
/// Sorted by last name, then by first.
inline std::uint64_t name_key(std::uint32_t district, std::uint32_t last, std::uint32_t first,
                              std::uint32_t customer) {
  return (std::uint64_t{district} << 60) | (std::uint64_t{last} << 48) | (std::uint64_t{first} << 32) |
         customer;
}

/// The rows of one warehouse.
struct Store {
  Index<District> districts;
  Index<Customer> customers;
  Tree names;  ///< customers by name_key()
  Index<Stock> stock;
  Index<Order> orders;
  Tree customer_orders;  ///< orders by customer_order_key()
  Index<NewOrder> new_orders;
  Index<OrderLine> lines;

  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();
};

/// How many rows there are at the beginning; the specification's are 100,000 and 3,000.
struct Scale {
  std::uint32_t warehouses = 1;
  std::uint32_t items = 1000;
  std::uint32_t customers = 30;  ///< of a district, which begins with as many orders
};

struct Database {
  Scale scale;
  Index<Warehouse> warehouses;
  Index<Item> items;
  std::vector<std::unique_ptr<Store>> stores;  // one a warehouse
};

/// The customers of a district have this many last names.
std::uint32_t last_names(const Scale& scale);

/// The initial database of clause 4.3.3, the same for the same seed.
std::unique_ptr<Database> populate(const Scale& scale, std::uint64_t seed);

/// A checksum of all rows.
std::uint64_t digest(const Database& database);

/// Consistency conditions 1 to 4 of clause 3.3.2, and 8. @returns a sentence on the first that does not hold
std::string inconsistency(const Database& database);

}  // namespace rubato::apps::silo
