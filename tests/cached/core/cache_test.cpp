// SPDX-License-Identifier: MIT
#include "cached/core/cache.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "cached/discipline/alone.hpp"
#include "cached/discipline/locks14.hpp"

namespace rubato::cached {
namespace {

/// A cache whose pages a test can hold in the state that a mover leaves them in.
template <class D>
class OpenCache : public Cache<D> {
 public:
  using Cache<D>::Cache;
  Slabs& slabs() { return this->slabs_; }
  std::uint32_t hash_seen(const Item& item) { return this->hash_of(item); }
};

Key key_of(const std::string& name) { return {name, hash_murmur3(name)}; }

template <class D>
class CacheTest : public testing::Test {
 protected:
  bool set(CacheEngine& cache, const std::string& name, const std::string& value) {
    const Key key = key_of(name);
    Item* item = cache.allocate(key, 0, 0, static_cast<std::uint32_t>(value.size()));
    if (!item) return false;
    Cursor(*item).write((value + "\r\n").data(), value.size() + 2);
    return cache.store(counters, item, key.hash, {}).stored == Stored::stored;
  }
  std::string get(CacheEngine& cache, const std::string& name) {
    char room[64] = {};
    const Found found = cache.get(counters, key_of(name), {}, room, sizeof room);
    return found.hit ? std::string(room, found.length) : "none";
  }
  Clock clock;
  ThreadCounters counters;
};
using Disciplines = testing::Types<Locks, Locks14>;
TYPED_TEST_SUITE(CacheTest, Disciplines);

// Found by a load beside a page move: the oldest items were all in the page that moved, whose chunks are not
// given out.
TYPED_TEST(CacheTest, StoresWhileAllOldItemsAreInAPageThatMoves) {
  EngineOptions options;
  options.limit = 2 << 20;
  OpenCache<TypeParam> cache(options, this->clock);
  for (int n = 0; n < 2 * (1 << 20) / 96; ++n) ASSERT_TRUE(this->set(cache, std::to_string(n), "0123456789"));
  cache.slabs().begin_move(0);
  EXPECT_TRUE(this->set(cache, "new", "value"));
  EXPECT_EQ(this->get(cache, "new"), "value");
}

TYPED_TEST(CacheTest, AMovedPageKeepsItsItemsWhereThereIsRoom) {
  EngineOptions options;
  options.limit = 4 << 20;
  OpenCache<TypeParam> cache(options, this->clock);
  const int page = (1 << 20) / 96;
  for (int n = 0; n < 2 * page; ++n) ASSERT_TRUE(this->set(cache, std::to_string(n), "0123456789"));
  for (int n = 0; n < 2 * page; n += 2)
    ASSERT_EQ(cache.remove(this->counters, key_of(std::to_string(n)), {}), Deleted::deleted);
  ASSERT_EQ(cache.move_page(1, 5), MoveResult::done);
  for (int n = 0; n < 2 * page; ++n)
    EXPECT_EQ(this->get(cache, std::to_string(n)), n % 2 ? "0123456789" : "none");
  EXPECT_EQ(cache.slab_class(5).pages, 1u);
  EXPECT_GT(cache.mover().rescues, 0u);
  EXPECT_EQ(cache.mover().evictions, 0u);
}

TYPED_TEST(CacheTest, APinnedValueStaysReadableAfterItsDeletion) {
  Cache<TypeParam> cache({}, this->clock);
  ASSERT_TRUE(this->set(cache, "a", "value"));
  const Found found = cache.get(this->counters, key_of("a"), {}, nullptr, 0);
  ASSERT_NE(found.pinned, nullptr);
  EXPECT_EQ(cache.remove(this->counters, key_of("a"), {}), Deleted::deleted);
  ASSERT_TRUE(this->set(cache, "b", "other"));
  EXPECT_EQ(std::string(found.pinned->data(), 5), "value");
  cache.release(found.pinned);
  EXPECT_EQ(cache.slab_class(1).used_chunks, 1u);
}

TYPED_TEST(CacheTest, AllItemsAreFoundDuringAndAfterGrowth) {
  EngineOptions options;
  options.hash_power = 12;
  Cache<TypeParam> cache(options, this->clock);
  for (int n = 0; n < 7000; ++n) ASSERT_TRUE(this->set(cache, std::to_string(n), std::to_string(n)));
  ASSERT_TRUE(cache.wants_expansion());
  int slices = 0;
  while (cache.expand()) {
    if (slices++ % 8) continue;
    for (int n = 0; n < 7000; ++n) ASSERT_EQ(this->get(cache, std::to_string(n)), std::to_string(n));
  }
  EXPECT_GT(slices, 60);
  EXPECT_EQ(cache.memory().hash_power, 13u);
  for (int n = 0; n < 7000; ++n) EXPECT_EQ(this->get(cache, std::to_string(n)), std::to_string(n));
}

/// Demotion is inside two LRU sections at once, which with `locks14` are one lock.
TYPED_TEST(CacheTest, TheMaintainerMovesItemsFromHotToCold) {
  Cache<TypeParam> cache({}, this->clock);
  for (int n = 0; n < 1000; ++n) ASSERT_TRUE(this->set(cache, std::to_string(n), "0123456789"));
  EXPECT_GT(cache.juggle(1), 0u);
  EXPECT_GT(cache.lru(1 | kCold).items, 0u);
  EXPECT_EQ(cache.items(), 1000u);
  for (int n = 0; n < 1000; ++n) EXPECT_EQ(this->get(cache, std::to_string(n)), "0123456789");
}

TYPED_TEST(CacheTest, AClassWithoutAPageTakesOneOfAnotherAtTheLimit) {
  EngineOptions options;
  options.limit = 16 << 20, options.keep_to_limit = true;
  Cache<TypeParam> cache(options, this->clock);
  for (int n = 0; n < 17 * (1 << 20) / 96; ++n)
    ASSERT_TRUE(this->set(cache, std::to_string(n), "0123456789"));
  for (std::size_t size = 100; size < 500'000; size *= 2) {
    ASSERT_TRUE(this->set(cache, "large", std::string(size, 'v'))) << size;
    EXPECT_LE(cache.memory().allocated, options.limit) << size;
  }
}

TYPED_TEST(CacheTest, ACrawlReclaimsTheDeadAndCountsTheOthersByTheMinutesTheyHave) {
  Cache<TypeParam> cache({}, this->clock);
  const auto set_until = [&](const std::string& name, std::uint32_t expiry) {
    const Key key = key_of(name);
    Item* item = cache.allocate(key, 0, expiry, 0);
    std::memcpy(item->data(), "\r\n", 2);
    ASSERT_EQ(cache.store(this->counters, item, key.hash, {}).stored, Stored::stored);
  };
  const std::uint32_t now = this->clock.now();
  set_until("forever", 0), set_until("soon", now + 59), set_until("later", now + 60);
  set_until("tomorrow", now + 86400);
  for (int n = 0; n < 10; ++n) set_until("dead" + std::to_string(n), now + 1);
  this->clock.pause(true);  // the test may take any time
  this->clock.move(now + 1 - std::int64_t{this->clock.now()});
  CrawlCensus census;
  std::uint64_t position = 0;
  do position = cache.crawl(position, ~std::uint64_t{0}, {}, &census);
  while (position);
  EXPECT_EQ(census.classes[1].reclaimed, 10u);
  EXPECT_EQ(census.classes[1].alive, 4u);
  EXPECT_EQ(census.classes[1].without_expiry, 1u);
  EXPECT_EQ(census.classes[1].by_minute[0], 2u);  // 58 and 59 seconds are left now
  EXPECT_EQ(cache.items(), 4u);
}

TYPED_TEST(CacheTest, WithoutEvictionAFullCacheRefuses) {
  EngineOptions options;
  options.limit = 1 << 20;
  options.evict = false;
  Cache<TypeParam> cache(options, this->clock);
  int stored = 0;
  while (this->set(cache, std::to_string(stored), "0123456789")) ++stored;
  EXPECT_EQ(stored, (1 << 20) / 96);
  EXPECT_EQ(this->get(cache, "0"), "0123456789");
}

// With `tasks` nothing changes while the mover tries, so an item that was being sent was given up at once.
TEST(Cache, AMovedPageLeavesAnItemThatIsBeingSentInItsPlace) {
  EngineOptions options;
  options.limit = 4 << 20;
  Clock clock;
  ThreadCounters counters;
  Cache<Alone> cache(options, clock);
  const auto set = [&](const std::string& name) {
    const Key key = key_of(name);
    Item* item = cache.allocate(key, 0, 0, 3);
    Cursor(*item).write("abc\r\n", 5);
    ASSERT_EQ(cache.store(counters, item, key.hash, {}).stored, Stored::stored);
  };
  set("sent");
  const Item* const pinned = cache.get(counters, key_of("sent"), {}, nullptr, 0).pinned;
  ASSERT_NE(pinned, nullptr);
  for (int n = 0; n < 2 * (1 << 20) / 96; ++n) set(std::to_string(n));
  for (int n = 0; n < 2 * (1 << 20) / 96; ++n) cache.remove(counters, key_of(std::to_string(n)), {});
  for (int n = 0; n < 10; ++n) cache.move_page(1, 0);
  EXPECT_TRUE(cache.get(counters, key_of("sent"), {.with_value = false}, nullptr, 0).hit);
  EXPECT_EQ(cache.mover().busy_deletes, 0u);
  EXPECT_GT(cache.mover().pages, 0u);
  cache.release(const_cast<Item*>(pinned));
}

// A page's mover looks for an item's bucket while a transaction that frees the item is under way, and is
// undone.
TEST(Cache, AnItemsHashDoesNotDependOnItsBits) {
  for (const bool cas : {true, false}) {
    EngineOptions options;
    options.cas = cas;
    Clock clock;
    OpenCache<Locks> cache(options, clock);
    const Key key = key_of("some-key");
    Item* item = cache.allocate(key, 7, 0, 3);
    ASSERT_TRUE(item);
    const std::uint16_t before = std::exchange(item->bits, Item::kFree);
    EXPECT_EQ(cache.hash_seen(*item), key.hash);
    item->bits = before;
    cache.release(item);
  }
}

}  // namespace
}  // namespace rubato::cached
