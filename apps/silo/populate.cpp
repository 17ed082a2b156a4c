// SPDX-License-Identifier: MIT
#include <algorithm>
#include <numeric>

#include "apps/silo/random.hpp"
#include "apps/silo/tables.hpp"

namespace rubato::apps::silo {
namespace {

constexpr Money kFirstPayment = 1000;  // of each customer
constexpr std::uint32_t kMostNames = 1000;

class Population {
 public:
  Population(Database& database, std::uint64_t seed) : db_(database), rng_(seed) {}

  void run() {
    for (std::uint32_t i = 1; i <= db_.scale.items; ++i) {
      auto* const item = new Item;
      item->price = between(rng_, 100, 10'000);
      item->image = static_cast<std::uint32_t>(between(rng_, 1, 10'000));
      item->is_original = rng_.below(10) == 0;
      db_.items.insert(i, item);
    }
    for (std::uint32_t w = 0; w < db_.scale.warehouses; ++w) add_warehouse(w);
  }

 private:
  void add_warehouse(std::uint32_t w) {
    auto* const warehouse = new Warehouse;
    warehouse->ytd = Money{kDistricts} * db_.scale.customers * kFirstPayment;
    warehouse->tax = static_cast<std::uint32_t>(rng_.below(2001));
    warehouse->name = rng_();
    db_.warehouses.insert(w, warehouse);
    Store& store = *db_.stores.emplace_back(std::make_unique<Store>());
    for (std::uint32_t i = 1; i <= db_.scale.items; ++i) {
      auto* const stock = new Stock;
      stock->quantity = static_cast<std::int32_t>(between(rng_, 10, 100));
      stock->is_original = rng_.below(10) == 0;
      for (DistrictInfo& info : stock->info) info = {rng_(), rng_(), rng_()};
      store.stock.insert(i, stock);
    }
    for (std::uint32_t d = 0; d < kDistricts; ++d) {
      auto* const district = new District;
      district->ytd = Money{db_.scale.customers} * kFirstPayment;
      district->next_order = db_.scale.customers + 1;
      district->tax = static_cast<std::uint32_t>(rng_.below(2001));
      district->name = rng_();
      store.districts.insert(d, district);
      for (std::uint32_t c = 1; c <= db_.scale.customers; ++c) add_customer(store, *district, w, d, c);
      add_orders(store, w, d);
    }
  }

  void add_customer(Store& store, District& district, std::uint32_t w, std::uint32_t d, std::uint32_t c) {
    auto* const customer = new Customer;
    customer->balance = -kFirstPayment;
    customer->ytd_payment = kFirstPayment;
    customer->payments = 1;
    customer->number = c;
    customer->discount = static_cast<std::uint32_t>(rng_.below(5001));
    customer->has_bad_credit = rng_.below(10) == 0;
    for (auto& word : customer->data) word = rng_();
    store.customers.insert(district_key(d, c), customer);
    const std::uint32_t last = c <= kMostNames ? c - 1 : random_name(rng_, db_.scale);
    const auto first = static_cast<std::uint32_t>(rng_.below(1 << 16));
    store.names.insert(name_key(d, last, first, c), reinterpret_cast<std::uint64_t>(customer));
    auto* const payment = new History;
    payment->older = district.history;
    payment->customer_warehouse = w;
    payment->customer_district = d;
    payment->customer = c;
    payment->amount = kFirstPayment;
    district.history = payment;
  }

  /// Adds one order for each customer, in random order. The last three in ten are not delivered yet.
  void add_orders(Store& store, std::uint32_t w, std::uint32_t d) {
    const std::uint32_t count = db_.scale.customers;
    std::vector<std::uint32_t> customers(count);
    std::iota(customers.begin(), customers.end(), 1);
    for (std::size_t i = count; i > 1; --i) std::swap(customers[i - 1], customers[rng_.below(i)]);
    const std::uint32_t delivered = count - count * 3 / 10;
    for (std::uint32_t o = 1; o <= count; ++o) {
      auto* const order = new Order;
      order->customer = customers[o - 1];
      order->lines = static_cast<std::uint32_t>(between(rng_, 5, kMostLines));
      order->carrier = o <= delivered ? static_cast<std::uint32_t>(between(rng_, 1, 10)) : 0;
      store.orders.insert(district_key(d, o), order);
      store.customer_orders.insert(customer_order_key(d, order->customer, o),
                                   reinterpret_cast<std::uint64_t>(order));
      for (std::uint32_t l = 0; l < order->lines; ++l) {
        auto* const line = new OrderLine;
        line->item = static_cast<std::uint32_t>(between(rng_, 1, db_.scale.items));
        line->supplier = w;
        line->quantity = 5;
        line->amount = o <= delivered ? 0 : between(rng_, 1, 999'999);
        line->info = {rng_(), rng_(), rng_()};
        store.lines.insert(line_key(d, o, l), line);
      }
      if (o <= delivered) continue;
      auto* const new_order = new NewOrder;
      new_order->order = o;
      store.new_orders.insert(district_key(d, o), new_order);
    }
  }

  Database& db_;
  Rng rng_;
};

}  // namespace

Store::~Store() {
  districts.for_each([](std::uint64_t, District* district) {
    for (const History* row = district->history; row != nullptr;) {
      const History* const older = row->older;
      delete row;
      row = older;
    }
  });
}

std::uint32_t last_names(const Scale& scale) { return std::min(scale.customers, kMostNames); }

std::unique_ptr<Database> populate(const Scale& scale, std::uint64_t seed) {
  auto database = std::make_unique<Database>();
  database->scale = scale;
  Population(*database, seed).run();
  return database;
}

}  // namespace rubato::apps::silo
