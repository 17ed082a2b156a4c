// Tuples, queries and the store of apps/kvstore on the serial engine.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "apps/common/input_error.hpp"
#include "apps/kvstore/fetch.hpp"
#include "apps/kvstore/kvstore_tasks.hpp"

namespace rubato::apps::kvstore {
namespace {

using Words = std::vector<std::uint64_t>;

Words tuple_of(Key key) {
  Words words(kWords, 7);
  fill(words.data(), key);
  return words;
}

TEST(KvstoreTuple, IsRightWithItsOwnKeyAlone) {
  const Words words = tuple_of(17);
  EXPECT_TRUE(is_right(words.data(), 17));
  EXPECT_FALSE(is_right(words.data(), 18));
}

TEST(KvstoreTuple, AnyChangedWordIsWrong) {
  for (std::uint32_t i = 0; i < kWords; ++i) {
    Words words = tuple_of(3);
    words[i] ^= 1;
    EXPECT_FALSE(is_right(words.data(), 3)) << i;
  }
}

TEST(KvstoreTuple, AWriteChangesOneFieldTheVersionAndTheChecksum) {
  const Words before = tuple_of(5);
  Words after = before;
  for (std::uint64_t version = 1; version <= 25; ++version) {
    const Words last = after;
    write_field(after.data());
    EXPECT_TRUE(is_right(after.data(), 5));
    EXPECT_EQ(after[kVersion], version);
    const std::uint32_t field = first_word_of_field(version);
    for (std::uint32_t i = kFirstField; i < kWords; ++i)
      EXPECT_EQ(after[i] != last[i], i >= field && i < field + kFieldWords) << version << ' ' << i;
  }
}

TEST(KvstoreQueries, HaveTheSharesAskedFor) {
  const auto queries = random_queries({.tuples = 100, .queries = 20'000, .write_percent = 20, .seed = 4});
  const auto writes = std::count_if(queries.begin(), queries.end(), [](const Query& q) { return q.writes; });
  EXPECT_NEAR(static_cast<double>(writes), 4000, 4 * 57);  // four standard deviations
  std::map<std::uint32_t, int> of_key;
  for (const Query& q : queries) ++of_key[q.key];
  EXPECT_EQ(of_key.size(), 100u);
  EXPECT_EQ(of_key.rbegin()->first, 99u);
  for (const auto& [key, count] : of_key) EXPECT_NEAR(count, 200, 5 * 14.1) << key;
}

TEST(KvstoreQueries, ZipfianAskMostForOneTuple) {
  const auto queries =
      random_queries({.tuples = 100, .queries = 20'000, .distribution = Distribution::zipfian, .seed = 4});
  std::map<std::uint32_t, int> of_key;
  for (const Query& q : queries) ++of_key[q.key];
  int most = 0;
  for (const auto& [key, count] : of_key) most = std::max(most, count);
  // The first of 100 ranks with exponent 0.99 has 1 / 5.2955 of the queries.
  EXPECT_NEAR(most, 20'000 / 5.2955, 4 * 56);
}

TEST(KvstoreSerially, CountsTheWritesOfEachTuple) {
  const Contents contents = answer_serially(3, {{0, true}, {2, false}, {0, true}, {1, true}});
  EXPECT_EQ(contents.versions, (std::vector<std::uint64_t>{2, 1, 0}));
  EXPECT_EQ(contents.wrong_reads, 0u);
}

TEST(KvstoreStore, HasTheFirstTuplesInFramesAndTheOthersInTheFile) {
  Store store({.tuples = 200, .frames = 110, .free = 10}, Variant::capsule, "");
  EXPECT_EQ(store.in_use(), 100u);
  EXPECT_EQ(store.partitions(), 64u);
  Words words(kWords);
  store.leave_disk();
  for (Key key = 0; key < 200; ++key) {
    EXPECT_EQ(Place::has_frame(store.entry(store.find(key)).word), key < 100);
    store.read(key, words.data());
    EXPECT_EQ(words, tuple_of(key)) << key;
  }
}

TEST(KvstoreStore, RefusesFramesThatAreAllFree) {
  EXPECT_THROW(Store({.tuples = 20, .frames = 10, .free = 10}, Variant::capsule, ""), InputError);
  EXPECT_NO_THROW(Store({.tuples = 20, .frames = 11, .free = 10}, Variant::capsule, ""));
}

TEST(KvstorePlace, NoWordComesTwice) {
  const std::uint64_t first = Place::next(0, Place::kNoFrame, 0);
  const std::uint64_t second = Place::next(first, 5, Place::kReferenced | Place::kDirty);
  const std::uint64_t third = Place::next(second, 5, Place::kReferenced | Place::kDirty);
  EXPECT_FALSE(Place::has_frame(first));
  EXPECT_EQ(Place::frame(second), 5u);
  EXPECT_NE(second, third);
  EXPECT_EQ(third - second, Place::kCount);
}

struct Case {
  std::uint32_t frames, free;
  Variant variant;
};

class KvstoreTasks : public testing::TestWithParam<Case> {};

TEST_P(KvstoreTasks, LeaveWhatASerialExecutionLeaves) {
  for (const bool is_ordered : {false, true}) {
    const auto queries = random_queries({.tuples = 150, .queries = 1000, .write_percent = 50, .seed = 9});
    const Case& c = GetParam();
    Store store({.tuples = 150, .frames = c.frames, .free = c.free}, c.variant, "");
    const Contents expected = answer_serially(150, queries);
    EXPECT_EQ(answer_by_tasks(store, queries, c.variant, is_ordered), expected);
    EXPECT_EQ(what_is_wrong(store, expected), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, KvstoreTasks,
                         testing::Values(Case{20, 4, Variant::capsule}, Case{2, 1, Variant::capsule},
                                         Case{200, 1, Variant::capsule}, Case{20, 4, Variant::promote},
                                         Case{2, 1, Variant::promote}, Case{0, 1, Variant::memory}));

TEST(KvstoreCheck, SaysWhatIsWrong) {
  const std::vector<Query> queries = {{1, true}, {1, true}};
  Store store({.tuples = 4, .frames = 3, .free = 1}, Variant::capsule, "");
  const Contents contents = answer_by_tasks(store, queries, Variant::capsule, false);
  EXPECT_EQ(contents.versions[1], 2u);
  store.frame(Place::frame(store.entry(store.find(1)).word))[100] += 1;
  EXPECT_NE(what_is_wrong(store, contents).find("word 100 of tuple 1 is "), std::string::npos);
}

}  // namespace
}  // namespace rubato::apps::kvstore
