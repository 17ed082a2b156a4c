// A warehouse's transactions. Each begins with room for all that it may make; the collection runs between
// two.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "workloads/common/workload.hpp"
#include "workloads/midtier/company.hpp"
#include "workloads/midtier/tree.hpp"

namespace rubato::workloads::midtier {
namespace {

constexpr unsigned kMinLines = 5, kMaxLines = 15;
constexpr unsigned kMostWords = 1200;      // of a transaction's new objects
constexpr unsigned kDeliveredAtOnce = 12;  // more than orders come, so that few wait
constexpr unsigned kScreenWords = 240;     // 24 lines of 80 characters
constexpr std::uint64_t kOriginal = 7;     // in the description of an item that is no copy

// Words of objects, behind their references.
enum CustomerWord : unsigned { kBalance, kPaid, kPayments, kDeliveries, kCustomerWords };
enum StockWord : unsigned { kQuantity, kTaken, kTakenOrders, kStockWords };
enum OrderWord : unsigned { kId, kBuyer, kTotal, kCarrier, kIsFirst, kOrderWords };
enum LineWord : unsigned { kItem, kOf, kLineQuantity, kAmount, kOriginals, kLineWords };

// The most words of each, with its node in a tree.
constexpr std::size_t kWordsOfCustomer = 36, kWordsOfStock = 14, kWordsOfOrder = 193;

}  // namespace

std::size_t words_of_half(const Sizes& sizes) {
  // As many orders are kept as there are customers; about as many wait for delivery, and ever fewer.
  const std::size_t orders = 2 * std::size_t{sizes.customers} + 100;
  return sizes.customers * kWordsOfCustomer + sizes.items * kWordsOfStock + orders * kWordsOfOrder +
         kMostWords + std::size_t{sizes.room_kib} * 128;
}

Warehouse::Warehouse(Company& company, unsigned number, std::uint64_t seed)
    : company_(company),
      number_(number),
      rng_(seed),
      heap_(words_of_half(company.sizes())),
      root_(heap_.make(kWarehouse, kRefs, 0)) {
  const Sizes& sizes = company.sizes();
  std::array<std::uint64_t, 16> words{};
  for (unsigned c = 0; c < sizes.customers; ++c) {
    Object* customer = heap_.make(kCustomer, 2, kCustomerWords);
    for (std::uint64_t& word : words) word = rng_();
    customer->set_ref(0, text(words.data(), 6));
    customer->set_ref(1, text(words.data(), words.size()));
    root_->set_ref(kCustomers, tree::insert(heap_, root_->ref(kCustomers), c, customer));
  }
  for (unsigned i = 0; i < sizes.items; ++i) {
    Object* stock = heap_.make(kStock, 1, kStockWords);
    stock->word(kQuantity) = 10 + rng_.below(91);
    for (std::uint64_t& word : words) word = rng_();
    stock->set_ref(0, text(words.data(), 3));
    root_->set_ref(kStocks, tree::insert(heap_, root_->ref(kStocks), i, stock));
  }
  for (unsigned o = 0; o < sizes.customers; ++o) make_order(o, true);
}

Object* Warehouse::text(const std::uint64_t* words, unsigned count) {
  Object* text = heap_.make(kText, 0, count);
  for (unsigned i = 0; i < count; ++i) text->word(i) = words[i];
  return text;
}

void Warehouse::make_room() {
  if (heap_.has_room(kMostWords)) return;
  root_ = heap_.collect(root_);
}

void Warehouse::run(std::uint64_t transactions) {
  for (; transactions > 0; --transactions) {
    const std::uint64_t draw = rng_.below(23);
    if (draw < 10)
      new_order();
    else if (draw < 20)
      payment();
    else if (draw == 20)
      order_status();
    else if (draw == 21)
      delivery();
    else
      stock_level();
  }
}

Object* Warehouse::make_order(std::uint64_t customer, bool is_first) {
  const std::uint64_t count = kMinLines + rng_.below(kMaxLines - kMinLines + 1);
  Object* order = heap_.make(kOrder, 1, kOrderWords);
  Object* lines = heap_.make(kLines, static_cast<unsigned>(count), 0);
  order->set_ref(0, lines);
  order->word(kId) = next_order_;
  order->word(kBuyer) = customer;
  order->word(kIsFirst) = is_first ? 1 : 0;
  elsewhere_ = 0;
  for (unsigned n = 0; n < count; ++n) {
    Object* line = heap_.make(kLine, 1, kLineWords);
    lines->set_ref(n, line);
    const std::uint64_t item = rng_.below(company_.sizes().items), quantity = 1 + rng_.below(kMostQuantity);
    const Item& of = company_.item(item);
    const auto originals = std::count(of.description.begin(), of.description.end(), kOriginal);
    line->word(kItem) = item;
    line->word(kOf) = number_;
    line->word(kLineQuantity) = quantity;
    const std::uint64_t amount = company_.price(item, customer).of(quantity);
    line->word(kAmount) = amount;
    line->word(kOriginals) = static_cast<std::uint64_t>(originals);
    order->word(kTotal) += amount;
    if (!is_first && elsewhere_ < elsewhere_item_.size() && rng_.below(100) < company_.sizes().cross) {
      elsewhere_item_[elsewhere_] = item;
      elsewhere_quantity_[elsewhere_++] = quantity;
      line->set_ref(0, text(of.name.data(), 3));
      continue;
    }
    Object* stock = tree::find(root_->ref(kStocks), item);
    if (!is_first) {
      const std::uint64_t have = stock->word(kQuantity);
      stock->word(kQuantity) = have >= quantity + 10 ? have - quantity : have - quantity + 91;
      stock->word(kTaken) += quantity;
      ++stock->word(kTakenOrders);
    }
    std::array<std::uint64_t, 3> info;
    for (unsigned i = 0; i < info.size(); ++i) info[i] = stock->ref(0)->word(i) ^ of.name[i];
    line->set_ref(0, text(info.data(), info.size()));
  }
  root_->set_ref(kOrders, tree::insert(heap_, root_->ref(kOrders), next_order_++, order));
  return order;
}

/// Draws the screen of a terminal into a new object, which becomes garbage at once.
void Warehouse::draw_screen(const Object& order) {
  Object* screen = heap_.make(kScreen, 0, kScreenWords);
  const Object& lines = *order.ref(0);
  unsigned at = 0;
  for (unsigned n = 0; n < lines.refs(); ++n) {
    const Object& line = *lines.ref(n);
    for (unsigned i = 0; i < kLineWords; ++i) {
      std::uint64_t digits = 0, rest = line.word(i);
      for (unsigned k = 0; k < 8; ++k, rest /= 10) digits = digits << 8 | ('0' + rest % 10);
      screen->word(at++) = digits;
    }
    for (unsigned i = 0; i < 3; ++i) screen->word(at++) = line.ref(0)->word(i) | 0x2020202020202020ULL;
  }
  for (; at < kScreenWords; ++at) screen->word(at) = 0x2020202020202020ULL;
  screens_ += screen->word(0) != 0 ? 1 : 0;
}

void Warehouse::new_order() {
  Totals totals;
  {
    const std::lock_guard<Latch> guard(latch_);
    make_room();
    const Object& order = *make_order(rng_.below(company_.sizes().customers), false);
    const Object& lines = *order.ref(0);
    totals.orders = 1;
    for (unsigned n = 0; n < lines.refs(); ++n) totals.sold += lines.ref(n)->word(kLineQuantity);
    draw_screen(order);
    // Only the last ones of the delivered orders are kept.
    while (first_order_ + company_.sizes().customers < next_delivery_)
      root_->set_ref(kOrders, tree::erase(root_->ref(kOrders), first_order_++));
  }
  for (unsigned i = 0; i < elsewhere_; ++i)
    company_.warehouse(company_.other(number_, rng_)).take_stock(elsewhere_item_[i], elsewhere_quantity_[i]);
  own_.orders += totals.orders;
  own_.sold += totals.sold;
  company_.add(totals);
}

void Warehouse::take_stock(std::uint64_t item, std::uint64_t quantity) {
  const std::lock_guard<Latch> guard(latch_);
  Object& stock = *tree::find(root_->ref(kStocks), item);
  const std::uint64_t have = stock.word(kQuantity);
  stock.word(kQuantity) = have >= quantity + 10 ? have - quantity : have - quantity + 91;
  stock.word(kTaken) += quantity;
  ++stock.word(kTakenOrders);
}

void Warehouse::take_payment(std::uint64_t customer_number, std::uint64_t amount) {
  const std::lock_guard<Latch> guard(latch_);
  Object& customer = *tree::find(root_->ref(kCustomers), customer_number);
  customer.word(kBalance) -= amount;
  customer.word(kPaid) += amount;
  ++customer.word(kPayments);
}

void Warehouse::payment() {
  const std::uint64_t amount = 100 + rng_.below(499'901);
  const unsigned of = rng_.below(100) < company_.sizes().cross ? company_.other(number_, rng_) : number_;
  company_.warehouse(of).take_payment(rng_.below(company_.sizes().customers), amount);
  const Totals totals{.orders = 0, .payments = 1, .paid = amount, .sold = 0};
  own_.payments += 1;
  own_.paid += amount;
  company_.add(totals);
}

void Warehouse::order_status() {
  const std::lock_guard<Latch> guard(latch_);
  make_room();
  const std::uint64_t from = first_order_ + rng_.below(next_order_ - first_order_);
  draw_screen(*tree::first_from(root_->ref(kOrders), from));
}

void Warehouse::delivery() {
  const std::lock_guard<Latch> guard(latch_);
  for (unsigned n = 0; n < kDeliveredAtOnce && next_delivery_ < next_order_; ++n) {
    Object& order = *tree::find(root_->ref(kOrders), next_delivery_++);
    order.word(kCarrier) = 1 + rng_.below(10);
    Object& customer = *tree::find(root_->ref(kCustomers), order.word(kBuyer));
    customer.word(kBalance) += order.word(kTotal);
    ++customer.word(kDeliveries);
  }
}

void Warehouse::stock_level() {
  const std::lock_guard<Latch> guard(latch_);
  std::uint64_t low = 0;
  const std::uint64_t from = next_order_ > first_order_ + 20 ? next_order_ - 20 : first_order_;
  for (std::uint64_t id = from; id < next_order_; ++id) {
    const Object& lines = *tree::find(root_->ref(kOrders), id)->ref(0);
    for (unsigned n = 0; n < lines.refs(); ++n)
      if (tree::find(root_->ref(kStocks), lines.ref(n)->word(kItem))->word(kQuantity) < 20) ++low;
  }
  screens_ += low > 0 ? 1 : 0;
}

Totals Warehouse::taken() {
  Totals taken;
  tree::for_each(root_->ref(kStocks),
                 [&](std::uint64_t, const Object* stock) { taken.sold += stock->word(kTaken); });
  tree::for_each(root_->ref(kCustomers), [&](std::uint64_t, const Object* customer) {
    taken.paid += customer->word(kPaid);
    taken.payments += customer->word(kPayments);
  });
  return taken;
}

void Warehouse::verify() {
  const std::string place = "warehouse " + std::to_string(number_) + ": ";
  const auto expect = [&](std::uint64_t found, std::uint64_t expected, const char* what) {
    expect_equal(found, expected, place + what);
  };
  root_ = heap_.collect(root_);
  // The reachable objects are all that the collection has kept, and lie in the half in use; no object has two
  // references.
  std::size_t words = 0;
  std::vector<const Object*> open{root_};
  while (!open.empty()) {
    const Object& object = *open.back();
    open.pop_back();
    if (!heap_.has(&object)) throw WrongResult(place + "an object is outside of the heap in use");
    words += object.size();
    if (words > heap_.used()) throw WrongResult(place + "more can be reached than the collection has kept");
    for (unsigned i = 0; i < object.refs(); ++i)
      if (object.ref(i) != nullptr) open.push_back(object.ref(i));
  }
  expect(words, heap_.used(), "the number of words that can be reached");

  std::uint64_t next = first_order_, delivered = 0;
  tree::for_each(root_->ref(kOrders), [&](std::uint64_t id, const Object* order) {
    expect(id, next++, "an order's number");
    expect(order->word(kId), id, "an order's own number");
    expect(order->word(kCarrier) != 0 ? 1 : 0, id < next_delivery_ ? 1 : 0, "whether an order is delivered");
    std::uint64_t total = 0;
    for (unsigned n = 0; n < order->ref(0)->refs(); ++n) {
      const Object& line = *order->ref(0)->ref(n);
      expect(line.word(kAmount),
             company_.price(line.word(kItem), order->word(kBuyer)).of(line.word(kLineQuantity)),
             "a line's amount");
      total += line.word(kAmount);
    }
    expect(order->word(kTotal), total, "an order's total");
  });
  expect(next, next_order_, "the number after the last order's");
  std::uint64_t customers = 0, items = 0;
  tree::for_each(root_->ref(kCustomers), [&](std::uint64_t number, const Object* customer) {
    expect(number, customers++, "a customer's number");
    delivered += customer->word(kDeliveries);
  });
  tree::for_each(root_->ref(kStocks),
                 [&](std::uint64_t number, const Object*) { expect(number, items++, "an item's number"); });
  expect(customers, company_.sizes().customers, "the number of customers");
  expect(items, company_.sizes().items, "the number of items in stock");
  expect(delivered, next_delivery_ - 1, "the number of deliveries");
}

}  // namespace rubato::workloads::midtier
