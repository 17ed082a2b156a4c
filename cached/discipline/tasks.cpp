// The cache with discipline `tasks` (T86): shards, each a whole cache with table, lists and classes, and
// a resource of the native engine. A request works on a shard in the shard's turn.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <mutex>
#include <numeric>

#include "cached/core/cache.hpp"
#include "cached/discipline/alone.hpp"
#include "cached/discipline/disciplines.hpp"
#include "cached/tasks/sections.hpp"

namespace rubato::cached {
namespace {

struct Shard {
  Shard(const EngineOptions& options, const Clock& clock) : cache(options, clock) {}
  Cache<Alone> cache;
  ThreadCounters counters;  ///< of what was asked of this shard
};

/// Four shards a worker, so that two requests seldom meet in one; but none smaller than 64 MiB, or than 64 of
/// the largest items: each class of a shard has a page at least, and what a shard holds varies with the hash.
unsigned shards_for(const EngineOptions& options) {
  const std::size_t least = std::max(std::size_t{64} << 20, 64 * options.item_size_max);
  return static_cast<unsigned>(std::clamp<std::size_t>(options.limit / least, 1, 4 * options.threads));
}

class ShardedCache final : public CacheEngine {
  static constexpr unsigned kPositionBits = 40;

  /// Shards by the upper bits of the hash, buckets by the lower ones.
  unsigned shard_of(std::uint32_t hash) const {
    return static_cast<unsigned>(std::uint64_t{hash} * sections_.size() >> 32);
  }
  Cache<Alone>& outside(Key key) const { return sections_.outside(shard_of(key.hash)).cache; }
  template <class F>
  auto in(std::uint32_t hash, F&& f) {
    return sections_.in(shard_of(hash), f);
  }
  template <class F>
  void for_each(F&& f) const {
    for (unsigned n = 0; n < sections_.size(); ++n) sections_.in(n, f);
  }

 public:
  ShardedCache(const EngineOptions& options, const Clock& clock)
      : hash_(options.hash),
        limit_(options.limit),
        shard_power_(static_cast<unsigned>(std::bit_width(shards_for(options))) - 1),
        workers_(options.threads) {
    EngineOptions each = options;
    const unsigned number = shards_for(options);
    each.limit = options.limit / number, each.keep_to_limit = number > 1;
    each.hash_power = std::max(options.hash_power - shard_power_, 6u);
    for (unsigned n = 0; n < number; ++n) sections_.add(each, clock);
  }
  void start() override { workers_.start(); }
  void stop() override { workers_.stop(); }
  Executor* executor() override { return &sections_; }

  // --- requests --------------------------------------------------------------------------------------------
  Item* allocate(Key key, std::uint32_t flags, std::uint32_t expiry, std::uint32_t length) override {
    return in(key.hash, [&](Shard& shard) { return shard.cache.allocate(key, flags, expiry, length); });
  }
  bool fits(std::size_t key_length, std::uint32_t flags, std::uint64_t length) const override {
    return sections_.outside(0).cache.fits(key_length, flags, length);
  }
  StoreAnswer store(ThreadCounters&, Item* item, std::uint32_t hash, const StoreRequest& request) override {
    return in(hash, [&](Shard& shard) { return shard.cache.store(shard.counters, item, hash, request); });
  }
  Found get(ThreadCounters&, Key key, const Lookup& lookup, char* room, std::size_t room_size) override {
    return in(key.hash,
              [&](Shard& shard) { return shard.cache.get(shard.counters, key, lookup, room, room_size); });
  }
  Deleted remove(ThreadCounters&, Key key, const DeleteRequest& request) override {
    return in(key.hash, [&](Shard& shard) { return shard.cache.remove(shard.counters, key, request); });
  }
  CountAnswer count(ThreadCounters&, Key key, const CountRequest& request) override {
    return in(key.hash, [&](Shard& shard) { return shard.cache.count(shard.counters, key, request); });
  }
  void release(Item* item) override {
    sections_.later(
        shard_of(hash_(item->key())), [](Shard& shard, Item* released) { shard.cache.release(released); },
        item);
  }
  /// Without their turns: a flush is two numbers that requests compare with.
  void flush(std::uint32_t when) override {
    for (unsigned n = 0; n < sections_.size(); ++n) sections_.outside(n).cache.flush(when);
  }

  // --- maintenance -----------------------------------------------------------------------------------------
  unsigned juggle(unsigned c) override {
    std::atomic<unsigned> handled{0};
    sections_.in_each([&](Shard& shard) { handled += shard.cache.juggle(c); });
    return handled;
  }
  bool wants_expansion() const override {
    std::atomic<bool> wanted{false};
    sections_.in_each([&](Shard& shard) {
      if (shard.cache.wants_expansion()) wanted = true;
    });
    return wanted;
  }
  bool expand() override {
    std::atomic<bool> more{false};
    sections_.in_each([&](Shard& shard) {
      if (shard.cache.wants_expansion() && shard.cache.expand()) more = true;
    });
    return more;
  }
  /// The position: the shard, and above it that in the shard.
  std::uint64_t crawl(std::uint64_t position, std::uint64_t classes,
                      const std::function<void(const ItemReport&)>& visit, CrawlCensus* census) override {
    const auto n = static_cast<unsigned>(position >> kPositionBits);
    const std::uint64_t inside = position & ((std::uint64_t{1} << kPositionBits) - 1);
    const std::uint64_t next =
        sections_.in(n, [&](Shard& shard) { return shard.cache.crawl(inside, classes, visit, census); });
    if (next) return std::uint64_t{n} << kPositionBits | next;
    return n + 1 < sections_.size() ? std::uint64_t{n + 1} << kPositionBits : 0;
  }
  /// The shard that has most pages of the class gives one, else the next.
  MoveResult move_page(unsigned from, unsigned to) override {
    std::vector<unsigned> order(sections_.size());
    std::vector<std::size_t> pages(sections_.size());
    for (unsigned n = 0; n < sections_.size(); ++n)
      pages[n] = sections_.in(n, [&](Shard& shard) {
        return from ? shard.cache.slab_class(from).pages : shard.cache.memory().allocated;
      });
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) { return pages[a] > pages[b]; });
    MoveResult result = MoveResult::no_page;
    for (const unsigned n : order) {
      result = sections_.in(n, [&](Shard& shard) { return shard.cache.move_page(from, to); });
      if (result == MoveResult::done) break;
    }
    return result;
  }
  bool set_limit(std::size_t bytes) override {
    std::atomic<bool> possible{true};
    sections_.in_each([&](Shard& shard) {
      if (!shard.cache.set_limit(bytes / sections_.size())) possible = false;
    });
    if (possible) limit_ = bytes;
    return possible;
  }
  void tune(const LruTuning& tuning) override {
    sections_.in_each([&](Shard& shard) { shard.cache.tune(tuning); });
  }
  LruTuning tuning() const override {
    return sections_.in(0, [](Shard& shard) { return shard.cache.tuning(); });
  }

  // --- from one process to the next, without turns
  // ----------------------------------------------------------
  /// Each shard has uniques of its own: the highest goes on for all. An item that a flush has spared may have
  /// a lower unique than another shard's flush, so the lowest of these holds.
  KeptState kept_state() override {
    KeptState all = sections_.outside(0).cache.kept_state();
    for (unsigned n = 1; n < sections_.size(); ++n) {
      const KeptState one = sections_.outside(n).cache.kept_state();
      all.cas = std::max(all.cas, one.cas), all.flushed_cas = std::min(all.flushed_cas, one.flushed_cas);
      all.flushed_until = std::max(all.flushed_until, one.flushed_until);
      all.hash_power = std::max(all.hash_power, one.hash_power);
    }
    all.hash_power += shard_power_;
    return all;
  }
  void take_back(const KeptState& state) override {
    KeptState each = state;
    each.hash_power -= std::min(shard_power_, state.hash_power);
    for (unsigned n = 0; n < sections_.size(); ++n) sections_.outside(n).cache.take_back(each);
  }
  void newest(std::vector<const Item*>& to) const override {
    for (unsigned n = 0; n < sections_.size(); ++n) sections_.outside(n).cache.newest(to);
  }
  bool is_gone(const KeptItem& item) const override { return sections_.outside(0).cache.is_gone(item); }
  Item* room_for(Key key, const KeptItem& item) override { return outside(key).room_for(key, item); }
  bool take_back(Item* item, Key key, const KeptItem& kept) override {
    return outside(key).take_back(item, key, kept);
  }
  void give_up(Item* item, Key key) override { outside(key).give_up(item, key); }

  // --- reports: sums, of one shard after the other ---------------------------------------------------------
  const SlabSizes& sizes() const override { return sections_.outside(0).cache.sizes(); }
  Lru::List lru(unsigned id) override {
    Lru::List sum;
    std::mutex mutex;
    sections_.in_each([&](Shard& shard) {  // at once, since the maintainer asks for every list each second
      const Lru::List one = shard.cache.lru(id);
      std::lock_guard guard(mutex);
      sum.items += one.items, sum.bytes += one.bytes, sum.statistics += one.statistics;
    });
    return sum;
  }
  std::uint32_t tail_age(unsigned id) override {
    std::uint32_t oldest = 0;
    for_each([&](Shard& shard) { oldest = std::max(oldest, shard.cache.tail_age(id)); });
    return oldest;
  }
  ClassReport slab_class(unsigned c) override {
    ClassReport sum{};
    for_each([&](Shard& shard) {
      const ClassReport one = shard.cache.slab_class(c);
      sum = {one.chunk_size,
             one.chunks_per_page,
             sum.pages + one.pages,
             sum.used_chunks + one.used_chunks,
             sum.free_chunks + one.free_chunks,
             sum.spare_pages + one.spare_pages};
    });
    return sum;
  }
  ClassLoads loads() override {
    ClassLoads sum;
    std::mutex mutex;
    sections_.in_each([&](Shard& shard) {  // at once, since the maintainer asks each second
      const ClassLoads one = shard.cache.loads();
      std::lock_guard guard(mutex);
      for (unsigned c = 1; c < kMaxClasses; ++c) sum[c] += one[c];
    });
    return sum;
  }
  MemoryReport memory() override {
    MemoryReport sum{};
    for_each([&](Shard& shard) {
      const MemoryReport one = shard.cache.memory();
      sum.allocated += one.allocated, sum.pool_pages += one.pool_pages, sum.hash_bytes += one.hash_bytes;
      sum.hash_power = std::max(sum.hash_power, one.hash_power + shard_power_);
      sum.expanding |= one.expanding;
    });
    sum.limit = limit_;
    return sum;
  }
  MoverReport mover() override {
    MoverReport sum;
    for_each([&](Shard& shard) {
      const MoverReport one = shard.cache.mover();
      sum.pages += one.pages, sum.rescues += one.rescues, sum.chunk_rescues += one.chunk_rescues;
      sum.evictions += one.evictions, sum.inline_reclaims += one.inline_reclaims;
      sum.busy_items += one.busy_items, sum.busy_deletes += one.busy_deletes;
    });
    return sum;
  }
  std::uint64_t items() const override {
    std::uint64_t sum = 0;
    for_each([&](Shard& shard) { sum += shard.cache.items(); });
    return sum;
  }
  void reset_statistics() override {
    for_each([](Shard& shard) {
      shard.cache.reset_statistics();
      shard.counters.reset();
    });
  }
  std::vector<const ThreadCounters*> own_counters() const override {
    std::vector<const ThreadCounters*> all;
    for (unsigned n = 0; n < sections_.size(); ++n) all.push_back(&sections_.outside(n).counters);
    return all;
  }
  void list_items(unsigned id, unsigned limit, const std::function<void(const ItemReport&)>& visit) override {
    unsigned visited = 0;
    for_each([&](Shard& shard) {
      if (limit && visited == limit) return;
      shard.cache.list_items(id, limit ? limit - visited : 0, [&](const ItemReport& report) {
        ++visited;
        visit(report);
      });
    });
  }
  const char* discipline() const override { return Alone::kName; }

 private:
  HashFunction hash_;
  std::atomic<std::size_t> limit_;
  unsigned shard_power_;
  mutable Sections<Shard> sections_;
  TaskWorkers workers_;  // end before the shards go
};

}  // namespace

std::unique_ptr<CacheEngine> make_tasks_engine(const EngineOptions& options, const Clock& clock) {
  return std::make_unique<ShardedCache>(options, clock);
}

}  // namespace rubato::cached
