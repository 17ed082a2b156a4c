// hashjoin: the generated tables against dbgen's rules, every form of the join against the serial one, and
// files.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "apps/common/input_error.hpp"
#include "apps/hashjoin/customer_table.hpp"
#include "apps/hashjoin/join.hpp"
#include "apps/hashjoin/outbox.hpp"
#include "tests/temporary_folder.hpp"

namespace rubato::apps {
namespace {

using ::testing::HasSubstr;

TpchTables read_texts(const std::string& customers, const std::string& orders) {
  const TemporaryFolder folder;
  return read_tpch(folder.write("customer.tbl", customers), folder.write("orders.tbl", orders));
}

std::string error_of(const std::string& customers, const std::string& orders) {
  try {
    read_texts(customers, orders);
  } catch (const InputError& e) {
    return e.what();
  }
  return "none";
}

TEST(TpchGenerator, HasTheSizesOfTheScaleFactorAndSparseOrderKeys) {
  const TpchTables t = generate_tpch(0.01, 1);
  ASSERT_EQ(t.customers.size(), 1500u);
  ASSERT_EQ(t.orders.size(), 15000u);
  // The keys of dbgen's first orders: 1 to 7, then 32 to 39, then 64.
  EXPECT_EQ(t.orders[0].key, 1u);
  EXPECT_EQ(t.orders[6].key, 7u);
  EXPECT_EQ(t.orders[7].key, 32u);
  EXPECT_EQ(t.orders[14].key, 39u);
  EXPECT_EQ(t.orders[15].key, 64u);
  EXPECT_EQ(t.orders.back().key, 60000u);  // the largest key at scale 1 is 6,000,000
}

TEST(TpchGenerator, GivesOrdersToTwoThirdsOfTheCustomersAlone) {
  const TpchTables t = generate_tpch(0.01, 1);
  std::set<std::uint32_t> ordering;
  for (const Order& o : t.orders) {
    EXPECT_NE(o.customer % 3, 0u);
    EXPECT_GE(o.customer, 1u);
    EXPECT_LE(o.customer, 1500u);
    ordering.insert(o.customer);
  }
  EXPECT_GE(ordering.size(), 990u);  // of 1000, 15 orders each on average
}

TEST(TpchGenerator, IsAFunctionOfItsSeed) {
  const auto digest = [](std::uint64_t seed) { return join_serial(generate_tpch(0.001, seed)).digest(); };
  EXPECT_EQ(digest(5), digest(5));
  EXPECT_NE(digest(5), digest(6));
}

TEST(TpchGenerator, RefusesScalesWithoutACustomer) {
  EXPECT_THROW(generate_tpch(0.000001, 1), InputError);
  EXPECT_THROW(generate_tpch(-1, 1), InputError);
  EXPECT_THROW(generate_tpch(1001, 1), InputError);
  for (const Order& o : generate_tpch(1 / 150'000.0, 1).orders) EXPECT_EQ(o.customer, 1u);
}

TEST(JoinSerial, AddsUpAJoinDoneByHand) {
  const TpchTables t{{{1, 7}, {2, 24}, {3, 7}}, {{10, 1, 100}, {11, 2, 250}, {12, 9, 999}, {13, 1, 1}}};
  const JoinResult r = join_serial(t);
  EXPECT_EQ(r.matches(), 3u);  // no customer has number 9
  EXPECT_EQ(r.sums[JoinResult::kRevenue + 7], 101u);
  EXPECT_EQ(r.sums[JoinResult::kRevenue + 24], 250u);
  EXPECT_EQ(r.revenue(), 351u);
}

TEST(JoinResult, TellsADoubledPairFromALostOne) {
  JoinResult once, twice;
  once.add({1, 2, 3}, 4);
  twice.add({1, 2, 3}, 4);
  EXPECT_EQ(once, twice);
  twice.add({1, 2, 3}, 4);
  EXPECT_NE(once.digest(), twice.digest());
}

TEST(PartitionTable, UsesAtLeastAQuarterOfItsSlotsHoweverItHasGrown) {
  PartitionTable table(1);
  for (std::uint32_t size = 1; size <= 5000; ++size) {
    table.insert({size, size % kNations});
    ASSERT_GE(table.slots().count(), 2 * size);
    ASSERT_LE(table.slots().count(), 4 * size);
  }
}

TEST(PartitionTable, GrowsWhenMoreCustomersComeThanExpected) {
  PartitionTable table(1);
  for (std::uint32_t key = 1; key <= 1000; ++key) table.insert({key, key % kNations});
  EXPECT_GE(table.slots().count(), 2000u);
  for (std::uint32_t key = 1; key <= 1000; ++key) EXPECT_EQ(table.slots().find(key), key % kNations);
  EXPECT_EQ(table.slots().find(1001), std::nullopt);
}

TEST(OrdersAhead, FindsEveryOrderOnceHoweverTheyCome) {
  PartitionTable table(100);
  for (std::uint32_t key = 1; key <= 100; ++key) table.insert({key, key % kNations});
  std::vector<Order> orders;
  for (std::uint32_t n = 0; n < 100; ++n) orders.push_back({n, 1 + n * 37 % 100, n});
  for (const std::size_t piece : {1, 3, 16, 17, 50, 100}) {
    OrdersAhead ahead;
    std::vector<std::uint64_t> found;
    const auto note = [&](const Order& order, std::uint32_t nation) {
      found.push_back(order.key);
      EXPECT_EQ(nation, order.customer % kNations);
    };
    for (std::size_t i = 0; i < orders.size(); i += piece) {
      ahead.probe(table.slots(), &orders[i], std::min(piece, orders.size() - i), note);
    }
    EXPECT_LT(found.size(), orders.size());
    ahead.finish(table.slots(), note);
    ahead.finish(table.slots(), note);  // nothing is left
    ASSERT_EQ(found.size(), orders.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], orders[i].key);
  }
}

constexpr std::size_t kLarge = Outbox<int>::kChunkRecords;  // a batch that is a chunk

Batch<int> filled_from(Outbox<int>& outbox) {
  while (!outbox.push(7)) {
  }
  const Batch<int> batch = outbox.hand_over();
  EXPECT_EQ(outbox.filled(), 0u);
  return batch;
}

TEST(Outbox, IsFarAheadUntilTheOldestOfAllChunksThatMayBeOnTheirWayHasComeBack) {
  Outbox<int> outbox(kLarge, 3 * kLarge);
  std::vector<Batch<int>> sent{filled_from(outbox), filled_from(outbox)};
  EXPECT_FALSE(outbox.is_far_ahead());
  sent.push_back(filled_from(outbox));
  EXPECT_TRUE(outbox.is_far_ahead());
  sent[1].returns->add();
  EXPECT_TRUE(outbox.is_far_ahead());
  sent[0].returns->add();
  EXPECT_FALSE(outbox.is_far_ahead());
  EXPECT_EQ(filled_from(outbox).records, sent[1].records);  // handed over later, so filled first again
  EXPECT_EQ(filled_from(outbox).records, sent[0].records);
}

TEST(Outbox, FillsAChunkAgainWhenAllItsBatchesHaveComeBackInAnyOrder) {
  constexpr unsigned kBatches = Outbox<int>::kChunkBatches;
  for (const unsigned last : {0u, kBatches / 2, kBatches - 1}) {
    Outbox<int> outbox(4, 1);
    std::vector<Batch<int>> sent;
    for (unsigned i = 0; i < kBatches; ++i) sent.push_back(filled_from(outbox));
    for (unsigned i = 0; i < kBatches; ++i) {
      EXPECT_EQ(sent[i].records, sent[0].records + i * 4);
      if (i != last) sent[i].returns->add();
    }
    const Batch<int> beside = filled_from(outbox);
    for (const Batch<int>& batch : sent) EXPECT_NE(beside.records, batch.records);
    for (unsigned i = 1; i < kBatches; ++i) filled_from(outbox);
    EXPECT_TRUE(outbox.is_far_ahead());
    sent[last].returns->add();
    EXPECT_FALSE(outbox.is_far_ahead());
    EXPECT_EQ(filled_from(outbox).records, sent[0].records);
  }
}

TEST(Outbox, FillsNoBatchThatIsOnItsWay) {
  Outbox<int> outbox(2, 1);
  std::set<const int*> on_their_way;
  for (int n = 0; n < 100; ++n) EXPECT_TRUE(on_their_way.insert(filled_from(outbox).records).second);
}

TEST(Outbox, HandsOverABatchThatIsNotFull) {
  Outbox<int> outbox(4, 12);
  EXPECT_FALSE(outbox.push(7));
  EXPECT_FALSE(outbox.push(8));
  EXPECT_EQ(outbox.filled(), 2u);
  const Batch<int> batch = outbox.hand_over();
  ASSERT_EQ(batch.count, 2u);
  EXPECT_EQ(batch.records[1], 8);
  EXPECT_EQ(filled_from(outbox).records, batch.records + 4);
}

TEST(Outbox, MayAlwaysHaveTwoChunksOnTheirWayBesideTheOneThatIsFilled) {
  Outbox<int> outbox(kLarge, 1);
  for (int chunk = 0; chunk < 2; ++chunk) {
    EXPECT_FALSE(outbox.is_far_ahead());
    EXPECT_FALSE(outbox.push(1));
    EXPECT_FALSE(outbox.is_far_ahead());
    filled_from(outbox);
  }
  EXPECT_TRUE(outbox.is_far_ahead());
}

class EveryJoin : public ::testing::TestWithParam<std::tuple<std::uint32_t, std::uint32_t>> {};

TEST_P(EveryJoin, FindsTheSamePairsAsTheSerialOne) {
  const auto [parts, records] = GetParam();
  const JoinOptions options{records, parts};
  TpchTables tables = generate_tpch(0.005, 3);
  tables.customers.erase(tables.customers.begin() + 100,
                         tables.customers.begin() + 200);  // their orders stay
  const JoinResult expected = join_serial(tables);
  ASSERT_LT(expected.matches(), tables.orders.size());
  EXPECT_EQ(join_tasks(tables, options), expected);
  EXPECT_EQ(join_tasks(tables, {records, parts, 1}), expected);
  EXPECT_EQ(join_threads(tables, options), expected);
#if defined(RUBATO_HAS_TBB)
  EXPECT_EQ(join_tbb(tables, options), expected);
#endif
}

INSTANTIATE_TEST_SUITE_P(Join, EveryJoin,
                         ::testing::Combine(::testing::Values(1, 2, 7),
                                            ::testing::Values(1, 16, 1000, 1 << 20)));

TEST(JoinTasks, JoinsEmptyTables) {
  EXPECT_EQ(join_tasks({}, {16, 2}).matches(), 0u);
  EXPECT_EQ(join_tasks({{}, {{1, 1, 1}}}, {16, 2}).matches(), 0u);
  EXPECT_EQ(join_tasks({{{1, 1}}, {}}, {16, 2}).matches(), 0u);
}

TEST(TpchReader, ReadsDbgensFiles) {
  const TpchTables t = read_texts(
      "1|Customer#000000001|IVhzIApeRb|15|25-989-741-2988|711.56|BUILDING|to the even|\n"
      "2|Customer#000000002|XSTf4,NCwDVaW|13|23-768-687-3665|121.65|AUTOMOBILE|l accounts|\n",
      "1|2|O|173665.47|1996-01-02|5-LOW|Clerk#000000951|0|nstructions|\n"
      "32|1|F|46929.18|1996-12-01|1-URGENT|Clerk#000000880|0| foxes|\n");
  ASSERT_EQ(t.customers.size(), 2u);
  EXPECT_EQ(t.customers[1].key, 2u);
  EXPECT_EQ(t.customers[1].nation, 13u);
  ASSERT_EQ(t.orders.size(), 2u);
  EXPECT_EQ(t.orders[1].key, 32u);
  EXPECT_EQ(t.orders[0].customer, 2u);
  EXPECT_EQ(t.orders[0].price, 17366547u);
  EXPECT_EQ(join_serial(t).matches(), 2u);
}

TEST(TpchReader, SaysWhereAFileIsWrong) {
  const std::string customer = "1|a|b|3|\n", order = "1|1|O|1.00|\n";
  EXPECT_EQ(error_of(customer, order), "none");
  EXPECT_THAT(error_of("0|a|b|3|\n", order),
              HasSubstr("customer.tbl:1: c_custkey '0' is not a whole number"));
  EXPECT_THAT(error_of(customer + "2|a|b|25|\n", order), HasSubstr("customer.tbl:2: c_nationkey '25'"));
  EXPECT_THAT(error_of(customer + customer, order), HasSubstr("customer 1 is there more than once"));
  EXPECT_THAT(error_of(customer, "1|1|O|12.5|\n"), HasSubstr("o_totalprice '12.5' is not an amount"));
  EXPECT_THAT(error_of(customer, order + "2|x|O|1.00|\n"), HasSubstr("orders.tbl:2: o_custkey 'x'"));
  EXPECT_THAT(error_of(customer, "1|1|O\n"),
              HasSubstr("the field o_orderstatus with a '|' behind it is missing"));
  EXPECT_THAT(error_of(customer, "1|1|O|99999999999.00|\n"), HasSubstr("orders.tbl:1: o_totalprice"));
}

}  // namespace
}  // namespace rubato::apps
