// SPDX-License-Identifier: MIT
#include "cached/core/cache.hpp"

#include <gtest/gtest.h>

#include <string>

#include "cached/discipline/locks.hpp"

namespace rubato::cached {
namespace {

/// A cache whose pages a test can hold in the state that a mover leaves them in.
class OpenCache : public Cache<Locks> {
 public:
  using Cache<Locks>::Cache;
  Slabs& slabs() { return slabs_; }
};

Key key_of(const std::string& name) { return {name, hash_murmur3(name)}; }

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

// Found by a load beside a page move: the oldest items were all in the page that moved, whose chunks are not
// given out.
TEST_F(CacheTest, StoresWhileAllOldItemsAreInAPageThatMoves) {
  EngineOptions options;
  options.limit = 2 << 20;
  OpenCache cache(options, clock);
  for (int n = 0; n < 2 * (1 << 20) / 96; ++n) ASSERT_TRUE(set(cache, std::to_string(n), "0123456789"));
  cache.slabs().begin_move(0);
  EXPECT_TRUE(set(cache, "new", "value"));
  EXPECT_EQ(get(cache, "new"), "value");
}

TEST_F(CacheTest, AMovedPageKeepsItsItemsWhereThereIsRoom) {
  EngineOptions options;
  options.limit = 4 << 20;
  OpenCache cache(options, clock);
  const int page = (1 << 20) / 96;
  for (int n = 0; n < 2 * page; ++n) ASSERT_TRUE(set(cache, std::to_string(n), "0123456789"));
  for (int n = 0; n < 2 * page; n += 2)
    ASSERT_EQ(cache.remove(counters, key_of(std::to_string(n)), {}), Deleted::deleted);
  ASSERT_EQ(cache.move_page(1, 5), MoveResult::done);
  for (int n = 0; n < 2 * page; ++n) EXPECT_EQ(get(cache, std::to_string(n)), n % 2 ? "0123456789" : "none");
  EXPECT_EQ(cache.slab_class(5).pages, 1u);
  EXPECT_GT(cache.mover().rescues, 0u);
  EXPECT_EQ(cache.mover().evictions, 0u);
}

TEST_F(CacheTest, APinnedValueStaysReadableAfterItsDeletion) {
  Cache<Locks> cache({}, clock);
  ASSERT_TRUE(set(cache, "a", "value"));
  const Found found = cache.get(counters, key_of("a"), {}, nullptr, 0);
  ASSERT_NE(found.pinned, nullptr);
  EXPECT_EQ(cache.remove(counters, key_of("a"), {}), Deleted::deleted);
  ASSERT_TRUE(set(cache, "b", "other"));
  EXPECT_EQ(std::string(found.pinned->data(), 5), "value");
  cache.release(found.pinned);
  EXPECT_EQ(cache.slab_class(1).used_chunks, 1u);
}

TEST_F(CacheTest, AllItemsAreFoundDuringAndAfterGrowth) {
  EngineOptions options;
  options.hash_power = 12;
  Cache<Locks> cache(options, clock);
  for (int n = 0; n < 7000; ++n) ASSERT_TRUE(set(cache, std::to_string(n), std::to_string(n)));
  ASSERT_TRUE(cache.wants_expansion());
  int slices = 0;
  while (cache.expand()) {
    if (slices++ % 8) continue;
    for (int n = 0; n < 7000; ++n) ASSERT_EQ(get(cache, std::to_string(n)), std::to_string(n));
  }
  EXPECT_GT(slices, 60);
  EXPECT_EQ(cache.memory().hash_power, 13u);
  for (int n = 0; n < 7000; ++n) EXPECT_EQ(get(cache, std::to_string(n)), std::to_string(n));
}

TEST_F(CacheTest, WithoutEvictionAFullCacheRefuses) {
  EngineOptions options;
  options.limit = 1 << 20;
  options.evict = false;
  Cache<Locks> cache(options, clock);
  int stored = 0;
  while (set(cache, std::to_string(stored), "0123456789")) ++stored;
  EXPECT_EQ(stored, (1 << 20) / 96);
  EXPECT_EQ(get(cache, "0"), "0123456789");
}

}  // namespace
}  // namespace rubato::cached
