// The interface of a cache for protocols and maintainers: `CacheEngine`, one for each discipline (T83).
// Code above it does not know how critical sections are made.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "cached/core/clock.hpp"
#include "cached/core/executor.hpp"
#include "cached/core/hash.hpp"
#include "cached/core/item.hpp"
#include "cached/core/lru.hpp"
#include "cached/core/pure.hpp"
#include "cached/core/slab_sizes.hpp"
#include "cached/core/wake.hpp"
#include "cached/statistics/counters.hpp"

namespace rubato::cached {

struct Key {
  std::string_view bytes;
  std::uint32_t hash;
};

/// The options of a `get` of any protocol.
struct Lookup {
  bool with_value = true;
  bool is_get = true;    ///< counted as one; else as a touch alone
  bool counted = true;   ///< in the statistics at all
  bool bump = true;      ///< note the access
  bool touch = false;    ///< give it `expiry`
  bool vivify = false;   ///< on a miss make an empty item that expires at `vivify_expiry`
  bool decides = false;  ///< by `mg` alone: the first client that finds a stale item wins
  bool recache =
      false;  ///< with `decides`, the first client that finds less than `recache_below` seconds wins
  bool key_is_binary = false;  ///< of a vivified item
  std::uint32_t expiry = 0, vivify_expiry = 0;
  std::int64_t recache_below = 0;
  std::uint64_t new_cas = 0;  ///< of a vivified item; 0: the next
};

/// The result of a look-up. `time`, `fetched` and `expiry` are as before this access.
struct Found {
  bool hit = false, expired = false, flushed = false, no_memory = false, vivified = false;
  bool fetched = false, stale = false, won = false, token_sent = false, key_is_binary = false;
  std::uint8_t lru = 0;
  std::uint32_t flags = 0, length = 0, time = 0, expiry = 0;
  std::uint32_t size = 0;  ///< of the whole item
  std::uint64_t cas = 0;
  Item* pinned = nullptr;  ///< set if the value was larger than the room: `release` it when it is sent
};

enum class StoreMode : std::uint8_t { set, add, replace, append, prepend };
enum class Stored : std::uint8_t { stored, not_stored, exists, not_found };

struct StoreRequest {
  StoreMode mode = StoreMode::set;
  std::uint64_t cas = 0;      ///< to compare with, 0: none
  bool must_match = false;    ///< compare with 0, too, which no item has
  bool invalidate = false;    ///< a lower unique is stored as stale
  bool vivify = false;        ///< append to what is not there stores
  std::uint64_t new_cas = 0;  ///< the item's; 0: the next
};
struct StoreAnswer {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  Stored stored;
  std::uint64_t cas = 0;
  std::uint32_t old_length = kNone;  ///< of the item that was there
  std::uint32_t length = 0;          ///< of the stored item
  std::uint8_t lru = 0;              ///< its list, or else the new item's class
};

enum class Deleted : std::uint8_t { deleted, not_found, exists };
struct DeleteRequest {
  std::uint64_t cas = 0;    ///< to compare with, 0: none
  bool must_match = false;  ///< compare with 0, too, which no item has
  bool counted = true;      ///< in the statistics
  bool mark_stale = false, set_expiry = false;
  std::uint32_t expiry = 0;
  std::uint64_t new_cas = 0;  ///< of the item that is marked; 0: the next
};

enum class Counted : std::uint8_t { ok, not_found, non_numeric, exists, no_memory };
struct CountRequest {
  bool increment = true;
  std::uint64_t delta = 1, cas = 0;
  bool set_expiry = false;
  std::uint32_t expiry = 0;
  std::uint64_t new_cas = 0;  ///< the item's; 0: the next
};
struct CountAnswer {
  Counted counted;
  std::uint64_t value = 0, cas = 0;
  std::uint32_t expiry = 0;  ///< as before
};

struct ClassReport {
  std::size_t chunk_size, chunks_per_page, pages, used_chunks, free_chunks;
  std::size_t spare_pages;  ///< that another class may get
};
/// An item that has been evicted.
struct Evicted {
  char key[256];
  std::uint8_t key_length, slab_class;
  bool fetched;
  std::int64_t seconds_left;  ///< -1: it would not have expired
  std::uint32_t idle, length;
};
/// Is told of evictions, outside of all sections, if it wants to.
class EvictionWatch {
 public:
  RUBATO_CACHED_PURE bool is_wanted() const { return is_wanted_.load(std::memory_order_relaxed); }
  virtual void evicted(const Evicted& item) = 0;

 protected:
  ~EvictionWatch() = default;
  void want(bool on) { is_wanted_.store(on, std::memory_order_relaxed); }

 private:
  std::atomic<bool> is_wanted_{false};
};
/// The figures by which pages are balanced.
struct ClassLoad {
  std::uint64_t evicted = 0, out_of_memory = 0;  ///< counts since the statistics were reset
  std::uint64_t chunks_per_page = 0, pages = 0, free_chunks = 0, spare_pages = 0;
  std::uint32_t age = 0;  ///< of the cold list's tail

  /// Sums of what shards have; the age is the oldest.
  ClassLoad& operator+=(const ClassLoad& o) {
    evicted += o.evicted, out_of_memory += o.out_of_memory, pages += o.pages;
    free_chunks += o.free_chunks, spare_pages += o.spare_pages;
    chunks_per_page = o.chunks_per_page, age = std::max(age, o.age);
    return *this;
  }
};
using ClassLoads = std::array<ClassLoad, kMaxClasses>;
/// The census of a crawl, by class: it decides when the next crawl pays.
struct CrawlCensus {
  static constexpr unsigned kMinutes = 60;
  struct Class {
    std::uint64_t alive = 0, without_expiry = 0, reclaimed = 0;
    std::array<std::uint32_t, kMinutes> by_minute{};  ///< those that live, by the minutes they have left
  };
  std::array<Class, kMaxClasses> classes;
};
struct MemoryReport {
  std::size_t limit, allocated, pool_pages;
  unsigned hash_power;
  std::size_t hash_bytes;
  bool expanding;
};
struct ItemReport {
  std::string_view key;
  const Item* item;
};

/// An item as a file keeps it from one process to the next, without key and value.
struct KeptItem {
  std::uint64_t cas = 0;
  std::uint32_t time = 0, expiry = 0, flags = 0, length = 0;
  std::uint16_t bits = 0;
  std::uint8_t segment = 0;
};
/// The state of a cache that a file keeps beside its items.
struct KeptState {
  std::uint64_t cas = 0, flushed_cas = 0;
  std::uint32_t flushed_until = 0;
  unsigned hash_power = 0;
};

struct LruTuning {
  double hot_share = 0.2, warm_share = 0.4, hot_factor = 0.2, warm_factor = 2.0;
  bool segmented = true;
  std::int64_t temporary_ttl = -1;  ///< items with less to live go to the temporary segment; -1: none do
};

enum class MoveResult : std::uint8_t { done, busy, no_page };

struct MoverReport {
  std::uint64_t pages = 0, rescues = 0, chunk_rescues = 0, evictions = 0, inline_reclaims = 0, busy_items = 0,
                busy_deletes = 0;
};

class CacheEngine {
 public:
  virtual ~CacheEngine() = default;
  /// Starts threads of its own, if it has some: before the first request, and after the last fork.
  virtual void start() {}
  /// And ends them, when all that was asked for has been done: after the last request.
  virtual void stop() {}
  /// The executor of requests; null: they run in the thread that asks.
  virtual Executor* executor() { return nullptr; }

  // --- requests: any serving thread ------------------------------------------------------------------------
  /// A private item to fill with `length` bytes of data and CRLF; null if there is no memory.
  virtual Item* allocate(Key key, std::uint32_t flags, std::uint32_t expiry, std::uint32_t length) = 0;
  /// Whether such an item can be stored at all.
  virtual bool fits(std::size_t key_length, std::uint32_t flags, std::uint64_t length) const = 0;
  /// Takes the item over, stored or not.
  virtual StoreAnswer store(ThreadCounters& self, Item* item, std::uint32_t hash,
                            const StoreRequest& request) = 0;
  /// Copies a value of at most `room_size` bytes (with CRLF) into `room`, pins a larger one.
  virtual Found get(ThreadCounters& self, Key key, const Lookup& lookup, char* room,
                    std::size_t room_size) = 0;
  virtual Deleted remove(ThreadCounters& self, Key key, const DeleteRequest& request) = 0;
  virtual CountAnswer count(ThreadCounters& self, Key key, const CountRequest& request) = 0;
  /// Gives up a private or a pinned item.
  virtual void release(Item* item) = 0;
  /// All items stored before `when` (seconds since start) are gone from then on.
  virtual void flush(std::uint32_t when) = 0;

  // --- maintenance: one thread each; each call is one short slice (T87) ------------------------------------
  /// Moves and reclaims at the tails of one class; returns how many items it handled.
  virtual unsigned juggle(unsigned slab_class) = 0;
  /// Whether the table should grow; then `expand` a slice at a time until it returns false.
  virtual bool wants_expansion() const = 0;
  virtual bool expand() = 0;
  /// Visits a slice of buckets; reclaims what expired of the classes whose bit is set, and adds to the
  /// census, if there is one. Returns the next position, 0 at the end.
  virtual std::uint64_t crawl(std::uint64_t position, std::uint64_t classes,
                              const std::function<void(const ItemReport&)>& visit,
                              CrawlCensus* census = nullptr) = 0;
  /// Empties a page of class `from` (0: any) and gives it to `to` (0: the pool).
  virtual MoveResult move_page(unsigned from, unsigned to) = 0;
  virtual bool set_limit(std::size_t bytes) = 0;
  virtual void tune(const LruTuning& tuning) = 0;
  virtual LruTuning tuning() const = 0;

  /// Posted when there is work for the thread that calls `expand`; null if work is not announced.
  virtual Wake* wakes() { return nullptr; }

  // --- from one process to the next: before `start` or after `stop`, by the only thread there is
  // -------------
  virtual KeptState kept_state() = 0;
  /// The cache must not have items yet.
  virtual void take_back(const KeptState& state) = 0;
  /// Adds the newest item of each list; `next` leads to the older ones.
  virtual void newest(std::vector<const Item*>& to) const = 0;
  /// Whether it has expired or was flushed.
  virtual bool is_gone(const KeptItem& item) const = 0;
  /// A private item for that value. Null: there is no room. Nothing is evicted, since items come newest
  /// first.
  virtual Item* room_for(Key key, const KeptItem& item) = 0;
  /// Stores an item of `room_for` as the oldest of its list. False: there is one of that key, and `item` is
  /// freed.
  virtual bool take_back(Item* item, Key key, const KeptItem& kept) = 0;
  /// Frees an item of `room_for`.
  virtual void give_up(Item* item, Key key) = 0;

  // --- reports ---------------------------------------------------------------------------------------------
  virtual const SlabSizes& sizes() const = 0;
  virtual Lru::List lru(unsigned id) = 0;  ///< heads and tails in the copy are not to be followed
  virtual std::uint32_t tail_age(unsigned id) = 0;
  virtual ClassReport slab_class(unsigned c) = 0;
  virtual ClassLoads loads() = 0;
  virtual MemoryReport memory() = 0;
  virtual MoverReport mover() = 0;
  virtual std::uint64_t items() const = 0;
  virtual void reset_statistics() = 0;
  /// Counts of requests that are not in the counters of the threads that asked.
  virtual std::vector<const ThreadCounters*> own_counters() const { return {}; }
  /// At most `limit` items of one list, for `stats cachedump`.
  virtual void list_items(unsigned id, unsigned limit,
                          const std::function<void(const ItemReport&)>& visit) = 0;
  virtual const char* discipline() const = 0;
};

struct EngineOptions {
  std::size_t limit = std::size_t{64} << 20;
  std::size_t item_size_max = 1 << 20;
  SlabSizes sizes{1.25, 96, kPageSize / 2};
  bool preallocate = false, cas = true, evict = true, may_expand = true;
  /// A class takes its first page from another one when memory is at its limit; else it goes beyond.
  bool keep_to_limit = false;
  unsigned hash_power = 16, threads = 4;
  HashFunction hash = hash_murmur3;
  LruTuning lru;
  EvictionWatch* evictions = nullptr;
};

}  // namespace rubato::cached
