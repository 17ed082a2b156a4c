// The company: items, totals, and a warehouse for each thread, whose customers, stock and orders are trees of
// objects on the warehouse's own heap. A hundredth of the work is for another warehouse.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/rng.hpp"
#include "workloads/common/latch.hpp"
#include "workloads/midtier/heap.hpp"

namespace rubato::workloads::midtier {

struct Sizes {
  unsigned customers = 120;  ///< of a warehouse, and its first orders
  unsigned items = 2000;
  unsigned room_kib = 256;  ///< of each half of a heap, beside what lives
  unsigned cross = 1;       ///< percent of order lines and payments for another warehouse
};

/// Words of a heap's half.
std::size_t words_of_half(const Sizes& sizes);

constexpr unsigned kRegions = 8, kMostQuantity = 10;

/// Kinds of objects beside nodes of trees.
enum Kind : unsigned { kWarehouse = 2, kCustomer, kStock, kOrder, kLines, kLine, kText, kScreen };

struct alignas(64) Item {
  std::array<std::uint64_t, 8> name{};
  std::array<std::uint64_t, 16> description{};
};

/// Price of an item in a region: by quantity, with a tax in percent.
struct alignas(64) Price {
  std::array<std::uint64_t, kMostQuantity + 1> unit{};
  std::uint64_t tax = 0;
  [[nodiscard]] std::uint64_t of(std::uint64_t quantity) const {
    return quantity * unit[quantity] * (100 + tax) / 100;
  }
};

/// Kept up by all threads.
struct Totals {
  std::uint64_t orders = 0, payments = 0, paid = 0, sold = 0;
  bool operator==(const Totals&) const = default;
};

class Company;

class Warehouse {
 public:
  Warehouse(Company& company, unsigned number, std::uint64_t seed);

  /// So many transactions; of the thread that has this warehouse.
  void run(std::uint64_t transactions);
  /// For another warehouse's thread.
  void take_stock(std::uint64_t item, std::uint64_t quantity);
  void take_payment(std::uint64_t customer, std::uint64_t amount);

  /// Collects, and compares the reachable objects with those that were made. @throws WrongResult
  void verify();
  /// Amounts that this warehouse's thread has added to the company's totals.
  [[nodiscard]] const Totals& own() const { return own_; }
  [[nodiscard]] std::uint64_t collections() const { return heap_.collections(); }
  [[nodiscard]] std::uint64_t screens() const { return screens_; }
  /// Amounts that were taken from this warehouse's stock, and paid by its customers.
  [[nodiscard]] Totals taken();

 private:
  // The warehouse object's references.
  enum Ref : unsigned { kCustomers, kStocks, kOrders, kRefs };

  Object* text(const std::uint64_t* words, unsigned count);
  void new_order();
  void payment();
  void order_status();
  void delivery();
  void stock_level();
  Object* make_order(std::uint64_t customer, bool is_first);
  void draw_screen(const Object& order);
  void make_room();

  Company& company_;
  unsigned number_;
  Rng rng_;
  Heap heap_;
  alignas(64) Latch latch_;  // of the heap
  Object* root_;
  std::uint64_t next_order_ = 1, first_order_ = 1, next_delivery_ = 1;
  Totals own_;
  std::uint64_t screens_ = 0;
  std::array<std::uint64_t, 8> elsewhere_item_{}, elsewhere_quantity_{};
  unsigned elsewhere_ = 0;  ///< lines of the current order for other warehouses
};

class Company {
 public:
  Company(const Sizes& sizes, unsigned warehouses, std::uint64_t seed);
  /// Each by its own thread.
  void open(unsigned warehouse);
  Warehouse& warehouse(unsigned number) { return *warehouses_[number]; }

  [[nodiscard]] const Sizes& sizes() const { return sizes_; }
  [[nodiscard]] const Item& item(std::uint64_t number) const { return items_[number]; }
  [[nodiscard]] const Price& price(std::uint64_t item, std::uint64_t customer) const {
    return prices_[customer % kRegions * items_.size() + item];
  }
  /// Another warehouse than this one, if there is another.
  [[nodiscard]] unsigned other(unsigned than, Rng& rng) const;
  void add(const Totals& totals);
  /// @throws WrongResult
  void verify();
  [[nodiscard]] const Totals& totals() const { return totals_; }

 private:
  Sizes sizes_;
  std::uint64_t seed_;
  std::vector<Item> items_;
  std::vector<Price> prices_;  // of a region after another
  std::vector<std::unique_ptr<Warehouse>> warehouses_;
  alignas(64) DataLatch latch_;
  Totals totals_;
};

}  // namespace rubato::workloads::midtier
