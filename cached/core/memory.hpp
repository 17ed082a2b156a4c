// Allocation and release of items: chunks, linking, eviction. Base of `Cache`, which adds requests.
//
// References: a private item has one, which `link` hands to the table; each pin adds one. An item whose last
// reference goes is freed. They are counted inside the item's section, a private item's by its owner.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "cached/core/engine.hpp"
#include "cached/core/pure.hpp"
#include "cached/core/slabs.hpp"
#include "cached/core/table.hpp"
#include "cached/fault.hpp"

namespace rubato::cached {

template <class D>
class CacheMemory : public CacheEngine {
 public:
  CacheMemory(const EngineOptions& options, const Clock& clock)
      : options_(options),
        clock_(clock),
        discipline_(options.threads, options.hash_power),
        slabs_(options.sizes, options.limit, options.preallocate, options.keep_to_limit),
        table_(options.hash_power),
        segmented_(options.lru.segmented),
        temporary_ttl_(options.lru.temporary_ttl) {}

  bool fits(std::size_t key_length, std::uint32_t flags, std::uint64_t length) const override {
    return item_head_size(key_length, options_.cas, flags != 0) + length + 2 <= options_.item_size_max;
  }

  Item* allocate(Key key, std::uint32_t flags, std::uint32_t expiry, std::uint32_t length) override {
    return make_item(key, flags, expiry, length,
                     [this](unsigned c, unsigned lru_class) { return take(c, lru_class); });
  }

  void release(Item* item) override {
    if (has_fault(Fault::unpinned) && D::peek(item->bits) & Item::kLinked) return;
    discipline_.item_section(options_.hash(item->key()), [&] { drop(item); });
  }

 protected:
  /// A private item whose chunks `take_chunk(class, class of the lists that may give one)` finds; null if it
  /// finds none.
  template <class TakeChunk>
  Item* make_item(Key key, std::uint32_t flags, std::uint32_t expiry, std::uint32_t length,
                  TakeChunk&& take_chunk) {
    const std::size_t head = item_head_size(key.bytes.size(), options_.cas, flags != 0);
    const std::size_t bytes = std::size_t{length} + 2;
    const bool chained = head + bytes > slabs_.sizes().largest();
    const unsigned c = slabs_.sizes().class_for(chained ? head + sizeof(Item*) : head + bytes);
    const unsigned lru_class = chained ? slabs_.sizes().last() : c;
    Item* item = take_chunk(c, lru_class);
    if (!item) return nullptr;
    item->references = 1;
    item->bits = static_cast<std::uint16_t>((options_.cas ? Item::kHasCas : 0) |
                                            (flags ? Item::kHasFlags : 0) | (chained ? Item::kChained : 0));
    item->key_length = static_cast<std::uint8_t>(key.bytes.size());
    item->expiry = expiry, item->time = now();
    item->bytes = static_cast<std::uint32_t>(bytes);
    item->lru = static_cast<std::uint8_t>(lru_class);
    item->set_cas(0);
    std::memcpy(item->key_bytes(), key.bytes.data(), key.bytes.size());
    item->key_bytes()[key.bytes.size()] = 0;
    if (flags) std::memcpy(item->flags_bytes(), &flags, 4);
    if (chained) {
      item->set_first_chunk(nullptr);
      if (!add_chunks(item, bytes, take_chunk)) {
        free(item);
        return nullptr;
      }
    }
    return item;
  }

  std::uint32_t now() const { return D::now(clock_); }
  Segment first_segment(const Item& item) const {
    if (!segmented_.get()) return kCold;
    const std::int64_t ttl = temporary_ttl_.get();
    if (ttl >= 0 && item.expiry && std::int64_t{item.expiry} - now() <= ttl) return kTemporary;
    return kHot;
  }

  /// The hash of an item that is linked or ours: its key does not change. The place of the key does not
  /// depend on the item's bits here. A transaction under way may have written these in place, to undo it
  /// later.
  RUBATO_CACHED_PURE std::uint32_t hash_of(const Item& item) const {
    return options_.hash({item.payload() + (options_.cas ? 8 : 0), item.key_length});
  }
  bool expired(const Item& item) const { return item.expiry && item.expiry <= now(); }
  bool flushed(const Item& item) const { return flushed(item.cas(), item.time); }
  bool flushed(std::uint64_t cas, std::uint32_t time) const {
    const std::uint32_t oldest = flushed_until_.get();
    if (cas && cas <= flushed_cas_.get()) return true;
    return oldest && time <= oldest && oldest <= now();
  }

  // --- inside the item's section ---------------------------------------------------------------------------
  /// Gives the item's own reference to the table; `old`, if any, is replaced.
  void link(Item* item, std::uint32_t hash, Item* old, std::uint64_t cas) {
    discipline_.cache_section([&] {
      item->time = now();
      item->lru = static_cast<std::uint8_t>((item->lru & kClassMask) | first_segment(*item));
      item->set_cas(cas);
      if (old) {
        table_.replace(old, item, hash);
        leave_lru(old);
        D::clear(old->bits, Item::kLinked);
        drop(old);
      } else {
        table_.insert(item, hash);
        discipline_.linked(table_.size());
      }
      discipline_.lru_section(item->lru, [&] { lru_.lists[item->lru].push(item); });
      D::set(item->bits, Item::kLinked);
    });
  }
  void unlink(Item* item, std::uint32_t hash) {
    discipline_.cache_section([&] {
      table_.remove(item, hash);
      discipline_.unlinked();
      leave_lru(item);
      D::clear(item->bits, Item::kLinked);
      drop(item);
    });
  }
  void leave_lru(Item* item) {
    discipline_.lru_section(item->lru, [&] { lru_.lists[item->lru].remove(item); });
  }
  void drop(Item* item) {
    if (D::unreference(*item)) free(item);
  }

  /// The item of that key if it lives; one that does not is unlinked.
  Item* find_live(Key key, Found* why = nullptr) {
    Item* item = discipline_.cache_section([&] { return table_.find(key.bytes, key.hash); });
    if (!item) return nullptr;
    const bool is_flushed = flushed(*item);
    if (!is_flushed && !expired(*item)) [[likely]]
      return item;
    if (why) why->flushed = is_flushed, why->expired = !is_flushed;
    unlink(item, key.hash);
    return nullptr;
  }

  // --- chunks ----------------------------------------------------------------------------------------------
  /// A chunk of class c; evicts from the lists of `lru_class` if memory is at its limit.
  Item* take(unsigned c, unsigned lru_class) {
    // Chunks of a page that is being moved are not given out: in the worst case all of its items go before
    // one of another page, hence the bound.
    if (!segmented_.get()) evict_from(lru_class | kCold, /*only_expired=*/true);  // nothing else looks at it
    for (unsigned futile = 0, evicted = 0; futile < 3 && evicted < 2 * (kPageSize / sizeof(Item));) {
      Item* chunk = discipline_.slabs_section([&] { return slabs_.allocate(c); });
      if (chunk) return chunk;
      if (options_.keep_to_limit && slabs_.slab_class(c).pages == 0) {
        if (options_.evict && steal_page(c)) continue;
        chunk = discipline_.slabs_section([&] { return slabs_.allocate_beyond(c); });
        if (chunk) return chunk;
      }
      // Large chunks of an item in the making are in no list, so its class may have nothing left to evict.
      if (evict(lru_class))
        ++evicted;
      else if (!options_.evict || !steal_page(c))
        ++futile;
    }
    discipline_.lru_section(lru_class, [&] { ++lru_.lists[lru_class].statistics.out_of_memory; });
    return nullptr;
  }
  /// The maintainers' part: a page of another class for class c, at once.
  virtual bool steal_page(unsigned c) = 0;

  /// Frees an item that is out of reach, with its chain.
  void free(Item* item) {
    Item* chunk = item->is(Item::kChained) ? item->first_chunk() : nullptr;
    discipline_.slabs_section([&] { slabs_.free(item); });
    while (chunk) {
      Item* next = chunk->next;
      discipline_.slabs_section([&] { slabs_.free(chunk); });
      chunk = next;
    }
  }

  /// Removes an item of the class, if possible; the oldest cold one first.
  bool evict(unsigned slab_class) {
    for (const Segment segment : {kTemporary, kCold, kHot, kWarm})
      if (evict_from(slab_class | segment, segment == kTemporary)) return true;
    return evict_from(slab_class | kTemporary, false);
  }

 private:
  template <class TakeChunk>
  bool add_chunks(Item* item, std::size_t bytes, TakeChunk&& take_chunk) {
    const SlabSizes& sizes = slabs_.sizes();
    const std::size_t most = sizes.largest() - sizeof(Item);
    Item* last = nullptr;
    while (bytes) {
      const std::size_t part = std::min(bytes, most);
      Item* chunk = take_chunk(sizes.class_for(part + sizeof(Item)), sizes.last());
      if (!chunk) return false;
      chunk->bits = Item::kChunk, chunk->references = 1;
      chunk->bytes = static_cast<std::uint32_t>(part);
      chunk->chain = item, chunk->previous = last;
      if (last)
        last->next = chunk;
      else
        item->set_first_chunk(chunk);
      last = chunk;
      bytes -= part;
    }
    return true;
  }

  bool evict_from(unsigned id, bool only_expired) {
    bool done = false;
    // Copied inside, told outside: what a watch does could not be undone.
    const bool is_watched = options_.evictions && options_.evictions->is_wanted();
    Evicted evicted;
    evicted.key_length = 0;
    discipline_.lru_section(id, [&] {
      Lru::List& list = lru_.lists[id];
      Item* item = list.tail;
      for (unsigned looked_at = 0; item && looked_at < 5 && !done; ++looked_at) {
        Item* before = item->previous;
        const std::uint32_t hash = hash_of(*item);
        const bool free_to_go = discipline_.try_item_section(hash, [&] {
          if (D::references(*item) != 1) {
            ++list.statistics.tail_locked;
            return;
          }
          const bool dead = expired(*item) || flushed(*item);
          if (!dead && (only_expired || !options_.evict)) return;
          note_eviction(list.statistics, *item, dead);
          if (is_watched && !dead) describe(*item, evicted);
          table_.remove(item, hash);
          discipline_.unlinked();
          list.remove(item);
          D::clear(item->bits, Item::kLinked);
          drop(item);
          done = true;
        });
        if (!free_to_go) ++list.statistics.tail_locked;
        item = before;
      }
    });
    if (is_watched && evicted.key_length) options_.evictions->evicted(evicted);
    return done;
  }
  void describe(const Item& item, Evicted& to) const {
    // A loop, since GCC makes a block with a memcpy of unknown length relaxed.
    const char* const key = item.payload() + (options_.cas ? 8 : 0);
    for (unsigned n = 0; n < item.key_length; ++n) to.key[n] = key[n];
    to.key_length = item.key_length, to.slab_class = item.lru & kClassMask;
    to.fetched = item.is(Item::kFetched), to.length = item.bytes - 2;
    to.seconds_left = item.expiry ? std::int64_t{item.expiry} - now() : -1;
    to.idle = now() - item.time;
  }
  void note_eviction(LruStatistics& statistics, const Item& item, bool dead) const {
    if (dead) {
      ++statistics.reclaimed;
      if (!item.is(Item::kFetched)) ++statistics.expired_unfetched;
      return;
    }
    ++statistics.evicted, ++statistics.direct_reclaims;
    statistics.evicted_time = now() - item.time;
    if (item.expiry) ++statistics.evicted_nonzero;
    if (!item.is(Item::kFetched)) ++statistics.evicted_unfetched;
    if (item.is(Item::kActive)) ++statistics.evicted_active;
  }

 protected:
  const EngineOptions options_;
  const Clock& clock_;
  D discipline_;
  Slabs slabs_;
  Table<D> table_;
  Lru lru_;
  // Settings that commands of administration change now and then.
  typename D::template Setting<bool> segmented_;
  typename D::template Setting<std::int64_t> temporary_ttl_;
  typename D::template Setting<std::uint32_t> flushed_until_{0};
  typename D::template Setting<std::uint64_t> flushed_cas_{0};
  typename D::Sequence cas_;
};

}  // namespace rubato::cached
