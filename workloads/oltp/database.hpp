// The database: warehouses with their districts, customers, stock and orders; items; the log.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/rng.hpp"
#include "workloads/oltp/arena.hpp"
#include "workloads/oltp/btree.hpp"
#include "workloads/oltp/hash_index.hpp"
#include "workloads/oltp/log.hpp"
#include "workloads/oltp/schema.hpp"

namespace rubato::workloads::oltp {

constexpr unsigned kDistricts = 10, kMaxLines = 15;

struct Sizes {
  unsigned warehouses = 16;
  unsigned customers = 120;  ///< of a district, and its first orders
  unsigned items = 4000;

  [[nodiscard]] unsigned names() const { return (customers + 2) / 3; }
};

/// Keys of trees: the district, then the number that orders its entries. `order` counts from 1.
constexpr std::uint64_t order_key(unsigned district, std::uint64_t order) {
  return static_cast<std::uint64_t>(district) << 56 | order << 8;
}
constexpr std::uint64_t line_key(unsigned district, std::uint64_t order, std::uint64_t line) {
  return order_key(district, order) | line;
}
/// The newest order of a customer comes first.
constexpr std::uint64_t customer_order_key(unsigned district, std::uint64_t customer, std::uint64_t order) {
  return static_cast<std::uint64_t>(district) << 56 | customer << 32 | (0xffffffffU - order);
}
/// Customers of one last name come in the order of their first names.
constexpr std::uint64_t name_key(unsigned district, std::uint64_t name, std::uint64_t first_two,
                                 std::uint64_t customer) {
  return static_cast<std::uint64_t>(district) << 56 | name << 40 | first_two << 24 | customer;
}

struct Warehouse {
  explicit Warehouse(const Sizes& sizes);

  Row<Table::warehouse> row;
  std::array<Row<Table::district>, kDistricts> districts;
  HashIndex<Row<Table::customer>> customers;  // by district * customers + customer
  HashIndex<Row<Table::stock>> stock;         // by item
  BTree names;                                // of customers
  BTree orders, customer_orders, order_lines, new_orders;
  /// For each district the order that is delivered next, even if younger ones are ready: transactions hold no
  /// latch from an order's number to its entry in `new_orders`, and TPC-C 3.3.2.3 wants no gaps.
  std::array<std::atomic<std::uint64_t>, kDistricts> next_delivery{};
  Arena first_rows;  // of the load
};

class Database {
 public:
  Database(const Sizes& sizes, std::uint64_t seed);

  /// Fills the warehouse; a thread each, at once. `load_items()`: beside them.
  void load(unsigned warehouse);
  void load_items();

  [[nodiscard]] Warehouse& warehouse(unsigned w) { return *warehouses_[w]; }
  [[nodiscard]] Row<Table::item>* find_item(std::uint64_t id) const { return items_.find(id); }
  [[nodiscard]] const Sizes& sizes() const { return sizes_; }
  Log& log() { return log_; }

  /// The latches of rows are in a table that all threads share; rows of one hash share one, so a thread holds
  /// at most one.
  template <Table T>
  DataLatch& latch_of(const Row<T>& row) {
    const std::uint64_t third =
        T == Table::stock ? 0 : row.words[2];  // numbers of the row, which never change
    const std::uint64_t key = row.words[0] << 40 ^ row.words[1] << 24 ^ third << 8 ^ static_cast<unsigned>(T);
    return latches_[mix64(key) % latches_.size()].latch;
  }

  template <Table T>
  static Row<T>* pointer(std::uint64_t value) {
    return reinterpret_cast<Row<T>*>(value);  // NOLINT: what a tree keeps is a pointer of a row
  }

 private:
  void load_customer(Warehouse& w, unsigned warehouse, unsigned district, unsigned customer, Rng& rng);
  void load_order(Warehouse& w, unsigned warehouse, unsigned district, unsigned order, unsigned customer,
                  Rng& rng);

  struct alignas(64) RowLatch {
    DataLatch latch;
  };
  static constexpr std::size_t kRowLatches = 4096;

  Sizes sizes_;
  std::uint64_t seed_;
  std::vector<RowLatch> latches_;
  std::vector<std::unique_ptr<Warehouse>> warehouses_;
  HashIndex<Row<Table::item>> items_;
  Arena item_rows_;
  Log log_;
};

/// Prices and amounts are in cents, taxes and discounts in hundredths of a percent.
constexpr std::uint64_t kFirstDistrictYtd = 3'000'000, kFirstBalance = 0 - std::uint64_t{1000},
                        kFirstPayment = 1000;
/// A text that shows that goods are not copies.
constexpr std::uint64_t kOriginal = 0x4c414e494749524fULL;  // "ORIGINAL"

}  // namespace rubato::workloads::oltp
