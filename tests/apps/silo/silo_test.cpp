// silo: the tree against std::map, single rows by hand, consistency conditions that notice planted faults,
// and the tasks against the serial execution.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <map>

#include "apps/silo/serial_silo.hpp"
#include "apps/silo/silo_tasks.hpp"
#include "base/rng.hpp"

namespace rubato::apps::silo {
namespace {

std::map<std::uint64_t, std::uint64_t> contents(const Tree& tree) {
  std::map<std::uint64_t, std::uint64_t> found;
  for (Entry e = tree.first_at_least(0); e.value != 0; e = tree.first_at_least(e.key + 1))
    found[e.key] = e.value;
  return found;
}

TEST(SiloTree, HoldsWhatAMapHoldsWhileRandomKeysComeAndGo) {
  for (const std::uint64_t keys : {20, 400, 5000}) {
    Tree tree;
    std::map<std::uint64_t, std::uint64_t> expected;
    Rng rng(keys);
    for (std::uint64_t i = 1; i <= 8 * keys; ++i) {
      const std::uint64_t key = rng.below(keys);
      const bool removes_more = i / keys % 2 == 1;  // in turns it grows and shrinks
      if (rng.below(4) < (removes_more ? 1U : 3U)) {
        if (expected.emplace(key, i).second) tree.insert(key, i);
      } else {
        const auto at = expected.find(key);
        EXPECT_EQ(tree.remove(key), at == expected.end() ? 0 : at->second);
        if (at != expected.end()) expected.erase(at);
      }
      const std::uint64_t asked = rng.below(keys);
      const auto next = expected.lower_bound(asked);
      EXPECT_EQ(tree.first_at_least(asked).value, next == expected.end() ? 0 : next->second);
      const auto behind = expected.upper_bound(asked);
      EXPECT_EQ(tree.last_at_most(asked).value, behind == expected.begin() ? 0 : std::prev(behind)->second);
      EXPECT_EQ(tree.find(asked), expected.count(asked) != 0 ? expected.at(asked) : 0);
    }
    EXPECT_EQ(contents(tree), expected);
    while (!expected.empty()) {
      EXPECT_EQ(tree.remove(expected.begin()->first), expected.begin()->second);
      expected.erase(expected.begin());
    }
    EXPECT_TRUE(contents(tree).empty());
    tree.insert(7, 1);
    EXPECT_EQ(tree.find(7), 1u);
  }
}

TEST(SiloRows, StockBelowTenIsRefilledBy91) {
  Stock stock;
  stock.quantity = 20;
  order_from_stock(stock, {.item = 1, .supplier = 0, .quantity = 10}, 0);
  EXPECT_EQ(stock.quantity, 10);
  order_from_stock(stock, {.item = 1, .supplier = 0, .quantity = 1}, 1);
  EXPECT_EQ(stock.quantity, 100);
  EXPECT_EQ(stock.ytd, 11);
  EXPECT_EQ(stock.orders, 2u);
  EXPECT_EQ(stock.remote_orders, 1u);
}

TEST(SiloRows, AnOrdersTotalHasTaxesAndDiscount) {
  Answer answer;
  answer.amounts[0] = 60'000;
  answer.amounts[1] = 40'000;
  answer.amounts[2] = 5;  // no line of this order
  answer.discount = 5000;
  answer.warehouse_tax = 1000;
  answer.district_tax = 1000;
  EXPECT_EQ(order_total(answer, 2), 60'000);  // half of 100,000 and a fifth of that
}

TEST(SiloRows, APaymentGoesInFrontOfBadCreditData) {
  Customer good, bad;
  bad.has_bad_credit = true;
  for (Customer* const c : {&good, &bad}) {
    c->data[0] = 5;
    pay(*c, {.payment = 700});
    EXPECT_EQ(c->balance, -700);
    EXPECT_EQ(c->payments, 1u);
  }
  EXPECT_EQ(good.data[0], 5u);
  EXPECT_EQ(bad.data[2], 700u);
  EXPECT_EQ(bad.data[3], 5u);
}

TEST(SiloRows, DifferentItemsAreCountedOnceAndNoneNever) {
  std::uint32_t items[] = {0, 4, 9, 4, 0, 9, 9};
  EXPECT_EQ(count_different(items, 7), 2u);
  EXPECT_EQ(count_different(items, 0), 0u);
  std::uint32_t none[] = {0, 0};
  EXPECT_EQ(count_different(none, 2), 0u);
}

TEST(SiloRows, ByNameTheMiddleCustomerByFirstNameIsFound) {
  Store store;
  Customer rows[4];
  for (std::uint32_t i = 0; i < 4; ++i)
    store.names.insert(name_key(3, i == 3 ? 8 : 7, 100 - i, i), reinterpret_cast<std::uint64_t>(rows + i));
  Transaction t;
  t.customer_district = 3;
  t.name = 7;
  EXPECT_EQ(find_customer(store, t), rows + 1);  // of three: the second
  t.name = 8;
  EXPECT_EQ(find_customer(store, t), rows + 3);
  t.name = 9;
  EXPECT_EQ(find_customer(store, t), nullptr);
}

TEST(SiloTransactions, ComeInTheSpecifiedMixAndSomeAreRolledBack) {
  std::map<Kind, std::uint32_t> kinds;
  std::uint32_t rolled_back = 0;
  for (const Transaction& t : random_transactions({.warehouses = 4}, 23'000, 1)) {
    ++kinds[t.kind];
    if (t.kind == Kind::new_order && t.lines[t.line_count - 1].item == 0) ++rolled_back;
  }
  EXPECT_EQ(kinds[Kind::new_order], 10'000u);
  EXPECT_EQ(kinds[Kind::payment], 10'000u);
  EXPECT_EQ(kinds[Kind::delivery], 1000u);
  EXPECT_GT(rolled_back, 60u);
  EXPECT_LT(rolled_back, 140u);
}

TEST(SiloConsistency, NoticesOneWrongRow) {
  const auto with = [](void (*spoil)(Database&)) {
    const auto database = populate({.warehouses = 2, .items = 20, .customers = 10}, 1);
    spoil(*database);
    return inconsistency(*database);
  };
  EXPECT_EQ(with([](Database&) {}), "");
  EXPECT_NE(with([](Database& db) { db.warehouses.find(1)->ytd += 1; }).find("condition 1 "),
            std::string::npos);
  EXPECT_NE(with([](Database& db) { db.stores[1]->districts.find(4)->next_order += 1; }).find("condition 2 "),
            std::string::npos);
  EXPECT_NE(with([](Database& db) {
              delete db.stores[0]->new_orders.remove(district_key(4, 9));
            }).find("condition 3 "),
            std::string::npos);
  EXPECT_NE(
      with([](Database& db) { delete db.stores[0]->lines.remove(line_key(4, 9, 2)); }).find("condition 4 "),
      std::string::npos);
  EXPECT_NE(
      with([](Database& db) { db.stores[0]->districts.find(4)->history->amount += 1; }).find("condition 8 "),
      std::string::npos);
}

TEST(SerialSilo, ADeliveryTakesTheOldestOrderOfEveryDistrict) {
  const auto database = populate({.warehouses = 1, .items = 20, .customers = 10}, 1);
  Store& store = *database->stores[0];
  const std::uint32_t owner = store.orders.find(district_key(6, 8))->customer;
  Transaction t;
  t.kind = Kind::delivery;
  t.carrier = 3;
  const std::vector<Answer> answers = run_serially(*database, {t});
  for (std::uint32_t d = 0; d < kDistricts; ++d) EXPECT_GT(answers[0].amounts[d], 0);
  EXPECT_EQ(store.new_orders.first_at_least(district_key(6, 0)).key, district_key(6, 9));
  EXPECT_EQ(store.orders.find(district_key(6, 8))->carrier, 3u);
  EXPECT_EQ(store.lines.find(line_key(6, 8, 4))->delivered, 1u);
  EXPECT_EQ(store.customers.find(district_key(6, owner))->balance, answers[0].amounts[6] - 1000);
}

TEST(Silo, AgreesWithTheSerialExecutionForEveryTypeAndSeed) {
  for (const Scale& scale : {Scale{.warehouses = 1, .items = 100, .customers = 20},
                             Scale{.warehouses = 3, .items = 5, .customers = 3}}) {
    for (const std::uint64_t seed : {1, 2}) {
      serial::set_seed(seed);
      const std::vector<Transaction> transactions = random_transactions(scale, 120, seed);
      const auto expected = populate(scale, seed);
      const std::uint64_t before = digest(*expected);
      const std::uint64_t answers = digest(run_serially(*expected, transactions));
      EXPECT_EQ(inconsistency(*expected), "");
      EXPECT_NE(digest(*expected), before);
      for (const TaskType type : {spec, nonspec, mayspec}) {
        const auto database = populate(scale, seed);
        EXPECT_EQ(digest(run_by_tasks(*database, transactions, type)), answers);
        EXPECT_EQ(digest(*database), digest(*expected));
      }
    }
  }
}

}  // namespace
}  // namespace rubato::apps::silo
