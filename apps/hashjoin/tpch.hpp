// The two TPC-H tables that the join reads, reduced to the columns that it needs: made by dbgen's rules for
// keys, or read from dbgen's own files (TPC-H specification, Sec. 4.2.3; MxTasking, Sec. 5.3).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rubato::apps {

inline constexpr std::uint32_t kNations = 25;

struct Customer {
  std::uint32_t key;     ///< from 1, unique
  std::uint32_t nation;  ///< below kNations
};

struct Order {
  std::uint64_t key;
  std::uint32_t customer;  ///< key of the customer who placed it
  std::uint32_t price;     ///< in cents
};

struct TpchTables {
  std::vector<Customer> customers;
  std::vector<Order> orders;
};

/// 150,000 customers and ten times as many orders for a scale factor of 1. Order keys are sparse (8 of 32
/// numbers are used), and customers whose key is a multiple of 3 have no orders. Nations, customers of orders
/// and prices are uniform; prices are not sums over line items. A function of its arguments. `scale`: at
/// least 1/150,000, at most 1,000. @throws InputError beyond.
TpchTables generate_tpch(double scale, std::uint64_t seed);

/// Reads dbgen's customer.tbl and orders.tbl, plain or gzip.
/// @throws InputError with file and line; also for a customer who is there twice.
TpchTables read_tpch(const std::string& customers, const std::string& orders);

}  // namespace rubato::apps
