// SPDX-License-Identifier: MIT
// A task is one operation on an index or a row. Its locale, a hint, names the table and the key, or the
// district for insertions at the end of a district's keys. A speculative task may run before what it looks
// for is there. It then ends, since it is aborted by the insertion.
#include "apps/silo/silo_tasks.hpp"

#include <cstddef>

#include "apps/common/task_type.hpp"
#include "base/line_allocator.hpp"
#include "base/rng.hpp"

namespace rubato::apps::silo {
namespace {

constexpr std::uint64_t kSteps = 64;  // timestamps of a transaction
constexpr std::uint64_t kLastStep = kSteps - 1;

enum class Table : std::uint64_t {
  warehouse,
  district,
  customer,
  stock,
  order,
  customer_order,
  new_order,
  line,
  none
};

/// The database and the answers, as the tasks see them.
Database* db = nullptr;
Answer* answers = nullptr;
tracked<std::uint32_t>* low_items = nullptr;    // of all stock levels; 0: none
const std::uint32_t* first_low_item = nullptr;  // of each transaction, in `low_items`
constexpr std::uint32_t kLowOfOrder = 16;       // a line
constexpr std::uint32_t kLowItems = kRecentOrders * kLowOfOrder;
static_assert(kMostLines <= kLowOfOrder);

Locale locale_of(Table table, std::uint64_t warehouse, std::uint64_t key) {
  return mix64(static_cast<std::uint64_t>(table) << 56 ^ warehouse << 48 ^ key);
}
Store& store_of(const Transaction* t) { return *db->stores[t->warehouse]; }
Answer& answer_of(const Transaction* t) { return answers[t->number - 1]; }
/// Timestamp of a step of the running task's transaction.
std::uint64_t at_step(std::uint64_t step) { return timestamp() / kSteps * kSteps + step; }

template <TaskType type>
struct NewOrderTasks {
  static constexpr std::uint64_t kWarehouse = 1, kDistrict = 2, kCustomer = 3, kOrder = 4, kIndex = 5,
                                 kWaiting = 6, kLines = 7, kFirstLine = 8, kTotal = kLastStep;
  static_assert(kFirstLine + 2 * kMostLines <= kTotal);

  static void begin(const Transaction* t) {
    for (std::uint32_t l = 0; l < t->line_count; ++l) {
      if (db->items.find(t->lines[l].item) == nullptr) return;  // rolled back
    }
    create<type>(read_warehouse,
                 {.at = at_step(kWarehouse), .on = locale_of(Table::warehouse, t->warehouse, 0)}, t);
    create<type>(take_number,
                 {.at = at_step(kDistrict), .on = locale_of(Table::district, t->warehouse, t->district)}, t);
    const std::uint64_t customer = district_key(t->district, t->customer);
    create<type>(read_customer,
                 {.at = at_step(kCustomer), .on = locale_of(Table::customer, t->warehouse, customer)}, t);
  }
  static void read_warehouse(const Transaction* t) {
    answer_of(t).warehouse_tax = db->warehouses.find(t->warehouse)->tax;
  }
  static void read_customer(const Transaction* t) {
    answer_of(t).discount = store_of(t).customers.find(district_key(t->district, t->customer))->discount;
  }
  static void take_number(const Transaction* t) {
    District* const district = store_of(t).districts.find(t->district);
    const std::uint32_t number = district->next_order;
    district->next_order = number + 1;
    answer_of(t).order = number;
    answer_of(t).district_tax = district->tax;
    create<type>(insert_order,
                 {.at = at_step(kOrder), .on = locale_of(Table::order, t->warehouse, t->district)}, t,
                 number);
    create<type>(insert_waiting,
                 {.at = at_step(kWaiting), .on = locale_of(Table::new_order, t->warehouse, t->district)}, t,
                 number);
    create<type>(create_lines, {.at = at_step(kLines)}, t, number);
  }
  static void insert_order(const Transaction* t, std::uint32_t number) {
    Order* const order = new_order_row(*t);
    store_of(t).orders.insert(district_key(t->district, number), order);
    const std::uint64_t key = customer_order_key(t->district, t->customer, number);
    create<type>(insert_customer_order,
                 {.at = at_step(kIndex), .on = locale_of(Table::customer_order, t->warehouse, key)}, t, order,
                 key);
  }
  static void insert_customer_order(const Transaction* t, Order* order, std::uint64_t key) {
    store_of(t).customer_orders.insert(key, reinterpret_cast<std::uint64_t>(order));
  }
  static void insert_waiting(const Transaction* t, std::uint32_t number) {
    auto* const row = new NewOrder;
    row->order = number;
    store_of(t).new_orders.insert(district_key(t->district, number), row);
  }
  static void create_lines(const Transaction* t, std::uint32_t number) {
    create_all<type>(
        std::uint32_t{0}, t->line_count,
        [](std::uint32_t l, const Transaction* of, std::uint32_t order) {
          const WantedLine& wanted = of->lines[l];
          create<type>(order_line,
                       {.at = at_step(kFirstLine + 2 * l),
                        .on = locale_of(Table::stock, wanted.supplier, wanted.item)},
                       of, order, l);
        },
        t, number);
  }
  static void order_line(const Transaction* t, std::uint32_t number, std::uint32_t l) {
    const WantedLine& wanted = t->lines[l];
    Stock* const stock = db->stores[wanted.supplier]->stock.find(wanted.item);
    order_from_stock(*stock, wanted, t->warehouse);
    const Money amount = db->items.find(wanted.item)->price * wanted.quantity;
    answer_of(t).amounts[l] = amount;
    create<type>(insert_line,
                 {.at = timestamp() + 1, .on = locale_of(Table::line, t->warehouse, t->district)}, t, number,
                 l, amount, static_cast<const DistrictInfo*>(stock->info + t->district));
    // The last line comes late, so attempts to add up before the other lines are rare.
    if (l + 1 != t->line_count) return;
    create<type>(add_up, {.at = at_step(kTotal), .on = locale_of(Table::none, 0, t->number)}, t);
  }
  static void insert_line(const Transaction* t, std::uint32_t number, std::uint32_t l, Money amount,
                          const DistrictInfo* info) {
    store_of(t).lines.insert(line_key(t->district, number, l), new_line(*t, l, amount, *info));
  }
  static void add_up(const Transaction* t) { answer_of(t).total = order_total(answer_of(t), t->line_count); }
};

template <TaskType type>
struct PaymentTasks {
  static void begin(const Transaction* t) {
    create<type>(to_warehouse, {.at = at_step(1), .on = locale_of(Table::warehouse, t->warehouse, 0)}, t);
    create<type>(to_district, {.at = at_step(2), .on = locale_of(Table::district, t->warehouse, t->district)},
                 t);
    const std::uint64_t key = t->customer != 0 ? district_key(t->customer_district, t->customer)
                                               : name_key(t->customer_district, t->name, 0, 0);
    create<type>(from_customer,
                 {.at = at_step(3), .on = locale_of(Table::customer, t->customer_warehouse, key)}, t);
  }
  static void to_warehouse(const Transaction* t) { db->warehouses.find(t->warehouse)->ytd += t->payment; }
  static void to_district(const Transaction* t) {
    store_of(t).districts.find(t->district)->ytd += t->payment;
  }
  static void from_customer(const Transaction* t) {
    Customer* const customer = find_customer(*db->stores[t->customer_warehouse], *t);
    pay(*customer, *t);
    answer_of(t).total = customer->balance;
    create<type>(insert_history,
                 {.at = at_step(4), .on = locale_of(Table::district, t->warehouse, t->district)}, t,
                 customer->number);
  }
  static void insert_history(const Transaction* t, std::uint32_t customer) {
    District* const district = store_of(t).districts.find(t->district);
    History* const row = new_history(*t, customer, db->warehouses.find(t->warehouse)->name, district->name);
    row->older = district->history;
    district->history = row;
  }
};

template <TaskType type>
struct OrderStatusTasks {
  static void begin(const Transaction* t) {
    const std::uint64_t key =
        t->customer != 0 ? district_key(t->district, t->customer) : name_key(t->district, t->name, 0, 0);
    create<type>(read_customer, {.at = at_step(1), .on = locale_of(Table::customer, t->warehouse, key)}, t);
  }
  static void read_customer(const Transaction* t) {
    const Customer* const customer = find_customer(store_of(t), *t);
    answer_of(t).total = customer->balance;
    const std::uint64_t first = customer_order_key(t->district, customer->number, 0);
    create<type>(find_last, {.at = at_step(2), .on = locale_of(Table::customer_order, t->warehouse, first)},
                 t, first);
  }
  static void find_last(const Transaction* t, std::uint64_t first) {
    const Entry last = store_of(t).customer_orders.last_at_most(first | ~std::uint32_t{0});
    if (last.value == 0 || last.key >> 32 != first >> 32) return;
    const auto number = static_cast<std::uint32_t>(last.key);
    answer_of(t).order = number;
    create_all<type>(
        std::uint32_t{0}, Index<Order>::row_of(last.value)->lines,
        [](std::uint32_t l, const Transaction* of, std::uint32_t order) {
          create<type>(read_line,
                       {.at = at_step(3 + l), .on = locale_of(Table::line, of->warehouse, of->district)}, of,
                       order, l);
        },
        t, number);
  }
  static void read_line(const Transaction* t, std::uint32_t number, std::uint32_t l) {
    const OrderLine* const line = store_of(t).lines.find(line_key(t->district, number, l));
    if (line != nullptr) answer_of(t).amounts[l] = line->amount;
  }
};

template <TaskType type>
struct DeliveryTasks {
  static constexpr std::uint64_t kTasks = 4;  // of a district

  static void begin(const Transaction* t) {
    create_all<type>(
        std::uint32_t{0}, kDistricts,
        [](std::uint32_t d, const Transaction* of) {
          create<type>(take_oldest,
                       {.at = at_step(1 + kTasks * d), .on = locale_of(Table::new_order, of->warehouse, d)},
                       of, d);
        },
        t);
  }
  static void take_oldest(const Transaction* t, std::uint32_t d) {
    const Entry oldest = store_of(t).new_orders.first_at_least(district_key(d, 0));
    if (oldest.value == 0 || oldest.key >> 32 != d) return;
    delete store_of(t).new_orders.remove(oldest.key);
    create<type>(deliver, {.at = timestamp() + 1, .on = locale_of(Table::order, t->warehouse, d)}, t, d,
                 oldest.key);
  }
  static void deliver(const Transaction* t, std::uint32_t d, std::uint64_t key) {
    Order* const order = store_of(t).orders.find(key);
    if (order == nullptr) return;
    order->carrier = t->carrier;
    create<type>(deliver_lines, {.at = timestamp() + 1, .on = locale_of(Table::line, t->warehouse, d)}, t, d,
                 static_cast<std::uint32_t>(key), static_cast<const Order*>(order));
  }
  static void deliver_lines(const Transaction* t, std::uint32_t d, std::uint32_t number, const Order* order) {
    Money sum = 0;
    for (std::uint32_t l = 0; l < order->lines; ++l) {
      OrderLine* const line = store_of(t).lines.find(line_key(d, number, l));
      if (line == nullptr) return;
      line->delivered = t->number;
      sum += line->amount;
    }
    const std::uint64_t customer = district_key(d, order->customer);
    create<type>(credit, {.at = timestamp() + 1, .on = locale_of(Table::customer, t->warehouse, customer)}, t,
                 d, customer, sum);
  }
  static void credit(const Transaction* t, std::uint32_t d, std::uint64_t key, Money sum) {
    Customer* const customer = store_of(t).customers.find(key);
    customer->balance += sum;
    customer->deliveries += 1;
    answer_of(t).amounts[d] = sum;
  }
  static_assert(kTasks * kDistricts < kSteps && kDistricts <= kMostLines);
};

template <TaskType type>
struct StockLevelTasks {
  static void begin(const Transaction* t) {
    create<type>(find_recent, {.at = at_step(1), .on = locale_of(Table::district, t->warehouse, t->district)},
                 t);
  }
  static void find_recent(const Transaction* t) {
    const std::uint32_t next = store_of(t).districts.find(t->district)->next_order;
    create_all<type>(
        next > kRecentOrders ? next - kRecentOrders : 1, next,
        [](std::uint32_t number, const Transaction* of, std::uint32_t end) {
          create<type>(examine,
                       {.at = at_step(2 + number % kRecentOrders),
                        .on = locale_of(Table::line, of->warehouse, of->district)},
                       of, number, end);
        },
        t, next);
  }
  /// Notes the items of an order of which few are left. The last one has them counted.
  static void examine(const Transaction* t, std::uint32_t number, std::uint32_t next) {
    if (number + 1 == next)
      create<type>(count, {.at = at_step(kLastStep), .on = locale_of(Table::none, 0, t->number)}, t);
    const Store& store = store_of(t);
    const Order* const order = store.orders.find(district_key(t->district, number));
    if (order == nullptr) return;
    tracked<std::uint32_t>* const low =
        low_items + first_low_item[t->number - 1] + number % kRecentOrders * kLowOfOrder;
    for (std::uint32_t l = 0; l < order->lines; ++l) {
      const OrderLine* const line = store.lines.find(line_key(t->district, number, l));
      if (line == nullptr) return;
      const Stock* const stock = store.stock.find(line->item);
      if (stock->quantity < static_cast<std::int32_t>(t->threshold)) low[l] = line->item;
    }
  }
  static void count(const Transaction* t) {
    std::uint32_t items[kLowItems];
    for (std::uint32_t i = 0; i < kLowItems; ++i) items[i] = low_items[first_low_item[t->number - 1] + i];
    answer_of(t).total = count_different(items, kLowItems);
  }
};

template <TaskType type>
void begin_transaction(const Transaction* t) {
  const auto create_at = [t](void (*begin)(const Transaction*)) {
    create<type>(begin, {.at = t->number * kSteps, .on = locale_of(Table::none, 0, t->number)}, t);
  };
  switch (t->kind) {
    case Kind::new_order:
      return create_at(NewOrderTasks<type>::begin);
    case Kind::payment:
      return create_at(PaymentTasks<type>::begin);
    case Kind::order_status:
      return create_at(OrderStatusTasks<type>::begin);
    case Kind::delivery:
      return create_at(DeliveryTasks<type>::begin);
    case Kind::stock_level:
      return create_at(StockLevelTasks<type>::begin);
  }
}

template <TaskType type>
void run_all(const Transaction* first, const Transaction* last) {
  create<type>(
      [](const Transaction* from, const Transaction* to) {
        create_all<type>(from, to, [](const Transaction* t) { begin_transaction<type>(t); });
      },
      {.at = 0}, first, last);
  run();
}

}  // namespace

std::vector<Answer> run_by_tasks(Database& database, const std::vector<Transaction>& transactions,
                                 TaskType type) {
  std::vector<Answer> given(transactions.size());
  std::vector<std::uint32_t> first_low;
  std::uint32_t low_count = 0;
  for (const Transaction& t : transactions) {
    first_low.push_back(low_count);
    if (t.kind == Kind::stock_level) low_count += kLowItems;
  }
  std::vector<tracked<std::uint32_t>, LineAllocator<tracked<std::uint32_t>>> low(low_count);
  db = &database;
  answers = given.data();
  low_items = low.data();
  first_low_item = first_low.data();
  const Transaction* const first = transactions.data();
  with_type(type, [&]<TaskType chosen> { run_all<chosen>(first, first + transactions.size()); });
  return given;
}

}  // namespace rubato::apps::silo
