// Every discipline under threads: no update is lost, no value is another key's, whatever the maintainers do
// meanwhile.
// SPDX-License-Identifier: MIT
#include "cached/discipline/disciplines.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "rubato/tm/statistics.h"

namespace rubato::cached {
namespace {

Key named(const std::string& name) { return {name, hash_murmur3(name)}; }

bool put(CacheEngine& cache, ThreadCounters& counters, const std::string& name, const std::string& value) {
  const Key key = named(name);
  Item* item = cache.allocate(key, 0, 0, static_cast<std::uint32_t>(value.size()));
  if (!item) return false;
  Cursor(*item).write((value + "\r\n").data(), value.size() + 2);
  return cache.store(counters, item, key.hash, {}).stored == Stored::stored;
}

/// Other threads do `work(thread, n)` while this one maintains the cache until they are done.
template <class Work>
void run_beside_maintenance(CacheEngine& cache, unsigned rounds, Work work) {
  constexpr unsigned kThreads = 3;
  std::atomic<unsigned> left{kThreads}, ready{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      ThreadCounters counters;
      ++ready;
      while (ready < kThreads) std::this_thread::yield();  // so that they meet, however short they are
      for (unsigned n = 0; n < rounds; ++n) work(counters, t, n);
      --left;
    });
  for (unsigned turn = 0; left; ++turn) {
    for (unsigned c = 1; c <= cache.sizes().last(); ++c) cache.juggle(c);
    if (cache.wants_expansion()) cache.expand();
    cache.crawl(turn * 64 % 4096, ~std::uint64_t{0}, {});
    if (turn % 16 == 0) cache.move_page(0, 0);
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
}

class DisciplineTest : public testing::TestWithParam<Discipline> {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__  // T96: it does not see how transactions order accesses
    if (GetParam().name.starts_with("tm")) GTEST_SKIP() << "transactional units are built without sanitizers";
#endif
  }
  /// An engine whose threads have started.
  std::unique_ptr<CacheEngine> make(const EngineOptions& options) {
    auto engine = GetParam().make(options, clock);
    engine->start();
    return engine;
  }
  Clock clock;
  ThreadCounters counters;
};

TEST_P(DisciplineTest, NoIncrementIsLost) {
  EngineOptions options;
  options.hash_power = 12, options.evict = false;
  const auto cache = make(options);
  for (int k = 0; k < 2; ++k) ASSERT_TRUE(put(*cache, counters, "n" + std::to_string(k), "0"));
  constexpr unsigned kRounds = 30000;
  run_beside_maintenance(*cache, kRounds, [&](ThreadCounters& self, unsigned t, unsigned n) {
    const std::string name = "n" + std::to_string(n % 2);
    if (cache->count(self, named(name), {}).counted != Counted::ok) ADD_FAILURE() << name;
    if (n % 8 == 0)
      put(*cache, self, std::to_string(t) + "-" + std::to_string(n), "x");  // makes the table grow
  });
  std::uint64_t sum = 0;
  for (int k = 0; k < 2; ++k) {
    char room[64];
    const Found found = cache->get(counters, named("n" + std::to_string(k)), {}, room, sizeof room);
    ASSERT_TRUE(found.hit);
    sum += std::stoull(std::string(room, found.length));
  }
  EXPECT_EQ(sum, 3 * kRounds);
}

TEST_P(DisciplineTest, AValueIsItsKeysWhileItemsAreEvictedAndMoved) {
  EngineOptions options;
  options.hash_power = 12, options.limit = 4 << 20;
  const auto cache = make(options);
  std::atomic<unsigned> hits{0};
  const auto value_of = [](unsigned key) {
    return std::string(10 + key % 7 * 200, static_cast<char>('a' + key % 26));
  };
  run_beside_maintenance(*cache, 15000, [&](ThreadCounters& self, unsigned t, unsigned n) {
    const unsigned key = (n * 7919 + t * 104729) % 9000;
    const std::string name = "key" + std::to_string(key), value = value_of(key);
    if (n % 3 == 0) {
      put(*cache, self, name, value);
    } else if (n % 31 == 0) {
      cache->remove(self, named(name), {});
    } else {
      char room[512];
      const Found found = cache->get(self, named(name), {}, room, sizeof room);
      if (!found.hit) return;
      ++hits;
      const char* data = found.pinned ? found.pinned->data() : room;
      if (std::string_view(data, found.length) != value) ADD_FAILURE() << name;
      if (found.pinned) cache->release(found.pinned);
    }
  });
  EXPECT_GT(hits, 0u);
  std::uint64_t evicted = 0;
  for (unsigned id = 0; id < 256; ++id) evicted += cache->lru(id).statistics.evicted;
  EXPECT_GT(evicted + cache->mover().evictions, 0u);
}

// T92. With GCC's library, or without transactions, nothing is counted.
TEST_P(DisciplineTest, NothingRunsAloneInSteadyState) {
  if (!rubato_itm_statistics) GTEST_SKIP() << "the program is not linked with librubato_itm";
  EngineOptions options;
  options.limit = 4 << 20;
  const auto cache = make(options);
  const auto work = [&](ThreadCounters& self, unsigned t, unsigned n) {
    const std::string name = std::to_string(t) + "-" + std::to_string(n % 3000);
    put(*cache, self, name, std::string(n % 5 * 300, 'x'));
    char room[2048];
    cache->get(self, named(name), {}, room, sizeof room);
    if (n % 10 == 0) cache->remove(self, named(name), {});
  };
  run_beside_maintenance(*cache, 2000, work);
  rubato_itm_statistics_t before{}, after{};
  ASSERT_EQ(rubato_itm_statistics(&before, sizeof before), 0);
  run_beside_maintenance(*cache, 6000, work);
  ASSERT_EQ(rubato_itm_statistics(&after, sizeof after), 0);
  EXPECT_EQ(after.start_serial, before.start_serial);
  EXPECT_EQ(after.in_flight_switch, before.in_flight_switch);
  if (GetParam().name.starts_with("tm")) {
    EXPECT_GT(after.committed, before.committed);
  }
}

INSTANTIATE_TEST_SUITE_P(All, DisciplineTest, testing::ValuesIn(disciplines().begin(), disciplines().end()),
                         [](const auto& of) {
                           std::string name(of.param.name);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace rubato::cached
