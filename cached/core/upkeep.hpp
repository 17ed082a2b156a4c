// Maintenance of a cache, in slices: juggling of the LRU segments, growth of the table, the crawler, reports.
// The page mover is in mover.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <limits>

#include "cached/core/mover.hpp"

namespace rubato::cached {

template <class D>
class CacheUpkeep : public CacheMover<D> {
  using Base = CacheMover<D>;

 public:
  CacheUpkeep(const EngineOptions& options, const Clock& clock)
      : Base(options, clock), tuning_(options.lru) {}

  /// Segments give to the next colder one what is above their share or too old compared with the cold tail.
  unsigned juggle(unsigned c) override {
    unsigned handled = reclaim_tail(c | kTemporary);
    if (!this->segmented_.get()) return handled + reclaim_tail(c | kCold);
    const LruTuning tuning = this->tuning();
    const std::uint64_t hot = bytes_of(c | kHot), warm = bytes_of(c | kWarm), cold = bytes_of(c | kCold);
    const auto total = static_cast<double>(hot + warm + cold);
    if (total == 0) return handled;
    const double cold_age = tail_age(c | kCold);
    const auto oldest = [&](double factor) { return std::max(cold_age * factor, 1.0); };
    handled +=
        shrink(c | kHot, static_cast<std::uint64_t>(total * tuning.hot_share), oldest(tuning.hot_factor));
    handled +=
        shrink(c | kWarm, static_cast<std::uint64_t>(total * tuning.warm_share), oldest(tuning.warm_factor));
    return handled + reclaim_tail(c | kCold);
  }

  bool wants_expansion() const override {
    return this->options_.may_expand &&
           (this->table_.expanding() ||
            (this->table_.power() < 32 && items() > most_items(this->table_.size())));
  }
  bool expand() override {
    auto& table = this->table_;
    if (!table.expanding()) {
      if (!wants_expansion()) return false;
      std::vector<Item*> larger;
      try {
        larger.resize(table.size() * 2);
      } catch (const std::bad_alloc&) {
        return false;  // it works as well with longer chains, and is tried again
      }
      this->discipline_.all_items_section([&] { table.begin_expansion(std::move(larger)); });
      return true;
    }
    for (unsigned n = 0; n < 64 && table.next_bucket() < table.old_size(); ++n) {
      const auto hash = static_cast<std::uint32_t>(table.next_bucket());
      if (has_fault(Fault::bucket_said_moved)) {
        table.say_moved(hash);
        let_others_in();
      }
      this->discipline_.item_section(
          hash, [&] { table.move_bucket(hash, [&](const Item& item) { return this->hash_of(item); }); });
    }
    if (table.next_bucket() < table.old_size()) return true;
    std::vector<Item*> old;
    this->discipline_.all_items_section([&] { table.end_expansion(old); });
    this->discipline_.has_grown();
    return false;
  }

  Wake* wakes() override { return this->discipline_.wakes(); }

  std::uint64_t crawl(std::uint64_t position, std::uint64_t classes,
                      const std::function<void(const ItemReport&)>& visit, CrawlCensus* census) override {
    // The position is a hash: of growing tables it covers all buckets, some perhaps twice.
    std::vector<Copy> copies(visit ? 16 : 0);
    for (unsigned n = 0; n < 64; ++n, ++position) {
      if (position >= this->table_.size()) return 0;
      const auto hash = static_cast<std::uint32_t>(position);
      // Copied inside, visited outside: what a visitor does could not be undone.
      std::size_t alive = 0;
      for (bool again = visit != nullptr; again;) {
        this->discipline_.item_section(hash, [&] {
          alive = 0;
          this->table_.for_each_in(hash, [&](Item* item) {
            if (!(classes >> (item->lru & kClassMask) & 1) || this->expired(*item) || this->flushed(*item))
              return;
            if (alive < copies.size()) copies[alive].take(*item);
            ++alive;
          });
        });
        again = alive > copies.size();
        if (again) copies.resize(alive);
      }
      for (std::size_t i = 0; i < alive; ++i) visit({copies[i].item.key(), &copies[i].item});
      this->discipline_.item_section(hash, [&] {
        this->table_.for_each_in(hash, [&](Item* item) {
          if (!(classes >> (item->lru & kClassMask) & 1)) return;
          const bool dead = this->expired(*item) || this->flushed(*item);
          const std::uint8_t id = item->lru;
          const bool unfetched = !item->is(Item::kFetched);
          if (census) note_crawled(census->classes[id & kClassMask], *item, dead);
          if (dead) this->unlink(item, this->hash_of(*item));
          this->discipline_.lru_section(id, [&] {
            LruStatistics& statistics = this->lru_.lists[id].statistics;
            ++statistics.crawler_checked;
            if (dead) ++statistics.crawler_reclaimed, statistics.expired_unfetched += unfetched;
          });
        });
      });
    }
    return position;
  }

  void tune(const LruTuning& tuning) override {
    this->discipline_.slabs_section([&] { tuning_ = tuning; });
    this->segmented_.set(tuning.segmented);
    this->temporary_ttl_.set(tuning.temporary_ttl);
  }
  LruTuning tuning() const override {
    return const_cast<CacheUpkeep*>(this)->discipline_.slabs_section([&] { return tuning_; });
  }
  bool set_limit(std::size_t bytes) override {
    return this->discipline_.slabs_section([&] { return this->slabs_.set_limit(bytes); });
  }

  // --- reports ---------------------------------------------------------------------------------------------
  const SlabSizes& sizes() const override { return this->slabs_.sizes(); }
  Lru::List lru(unsigned id) override {
    return this->discipline_.lru_section(id, [&] { return this->lru_.lists[id]; });
  }
  std::uint32_t tail_age(unsigned id) override {
    return this->discipline_.lru_section(id, [&] {
      const Item* tail = this->lru_.lists[id].tail;
      const std::uint32_t now = this->now();
      // The time of a tail that is bumped at this moment may be ahead of the clock that was read.
      return tail && tail->time < now ? now - tail->time : 0u;
    });
  }
  ClassReport slab_class(unsigned c) override {
    return this->discipline_.slabs_section([&] {
      const Slabs::Class& k = this->slabs_.slab_class(c);
      const std::uint64_t total = k.pages * k.chunks_per_page, free = this->slabs_.free_in(c);
      return ClassReport{this->slabs_.sizes().size_of(c), k.chunks_per_page, k.pages, total - free, free,
                         k.pages - (k.pages != 0)};
    });
  }
  ClassLoads loads() override {
    ClassLoads loads;
    for (unsigned c = 1; c <= sizes().last(); ++c) {
      const ClassReport pages = slab_class(c);
      ClassLoad& load = loads[c];
      load.chunks_per_page = pages.chunks_per_page, load.pages = pages.pages;
      load.free_chunks = pages.free_chunks, load.spare_pages = pages.spare_pages;
      if (!pages.pages) continue;
      for (const Segment segment : {kHot, kWarm, kCold, kTemporary}) {
        const LruStatistics statistics = this->discipline_.lru_section(
            c | segment, [&] { return this->lru_.lists[c | segment].statistics; });
        load.evicted += statistics.evicted, load.out_of_memory += statistics.out_of_memory;
      }
      load.age = tail_age(c | kCold);
    }
    return loads;
  }
  MemoryReport memory() override {
    return this->discipline_.slabs_section([&] {
      return MemoryReport{this->slabs_.limit(), this->slabs_.allocated(), this->slabs_.pool_pages(),
                          this->table_.power(), this->table_.memory(),    this->table_.expanding()};
    });
  }
  std::uint64_t items() const override {
    std::uint64_t sum = 0;
    auto& self = const_cast<CacheUpkeep&>(*this);
    for (unsigned c = 1; c <= sizes().last(); ++c)
      for (const Segment segment : {kHot, kWarm, kCold, kTemporary})
        sum += self.discipline_.lru_section(c | segment, [&] { return self.lru_.lists[c | segment].items; });
    return sum;
  }
  void reset_statistics() override {
    for (unsigned id = 0; id < 256; ++id)
      this->discipline_.lru_section(id, [&] { this->lru_.lists[id].statistics = {}; });
  }
  void list_items(unsigned id, unsigned limit, const std::function<void(const ItemReport&)>& visit) override {
    const std::uint64_t there = lru(id).items;
    std::vector<Copy> copies(limit ? std::min<std::uint64_t>(limit, there) : there);
    const std::size_t n = this->discipline_.lru_section(id, [&] {
      std::size_t used = 0;
      for (Item* item = this->lru_.lists[id].head; item && used < copies.size(); item = item->next) {
        copies[used++].take(*item);
      }
      return used;
    });
    for (std::size_t i = 0; i < n; ++i) visit({copies[i].item.key(), &copies[i].item});
  }
  const char* discipline() const override { return D::kName; }

 private:
  void note_crawled(CrawlCensus::Class& census, const Item& item, bool dead) const {
    if (dead) {
      ++census.reclaimed;
      return;
    }
    ++census.alive;
    if (!item.expiry) {
      ++census.without_expiry;
      return;
    }
    const std::uint32_t minute = (item.expiry - this->now()) / 60;
    if (minute < CrawlCensus::kMinutes) ++census.by_minute[minute];
  }

  /// A copy of an item, without its value.
  struct Copy {
    Item item;
    char room[8 + 256 + 4];
    void take(const Item& from) {
      item = from;
      // A loop, since GCC makes a block with a memcpy of unknown length relaxed.
      const unsigned length =
          (from.is(Item::kHasCas) ? 8u : 0u) + from.key_length + 1u + (from.is(Item::kHasFlags) ? 4u : 0u);
      for (unsigned i = 0; i < length; ++i) room[i] = from.payload()[i];
    }
  };
  std::uint64_t bytes_of(unsigned id) {
    return this->discipline_.lru_section(id, [&] { return this->lru_.lists[id].bytes; });
  }

  /// Moves items from the tail of the hot or warm list while it is larger or older than it may be. Only this
  /// function nests two LRU sections, and one thread calls it.
  unsigned shrink(unsigned id, std::uint64_t most, double oldest) {
    unsigned handled = 0;
    this->discipline_.lru_section(id, [&] {
      Lru::List& list = this->lru_.lists[id];
      while (handled < 64 && list.tail) {
        Item* item = list.tail;
        const double age = static_cast<double>(this->now()) - item->time;
        if (list.bytes <= most && age <= oldest) break;
        if (!this->discipline_.try_item_section(this->hash_of(*item), [&] { demote(list, id, item); })) break;
        ++handled;
      }
    });
    return handled;
  }
  void demote(Lru::List& list, unsigned id, Item* item) {
    const bool active = item->is(Item::kActive);
    list.remove(item);
    if (active && (id & kSegmentMask) == kWarm) {
      D::clear(item->bits, Item::kActive);
      ++list.statistics.moves_within;
      list.push(item);
      return;
    }
    D::clear(item->bits, Item::kActive);
    ++(active ? list.statistics.moves_to_warm : list.statistics.moves_to_cold);
    item->lru = static_cast<std::uint8_t>((id & kClassMask) | (active ? kWarm : kCold));
    this->discipline_.lru_section(item->lru, [&] { this->lru_.lists[item->lru].push(item); });
  }

  /// Takes away what expired at a tail.
  unsigned reclaim_tail(unsigned id) {
    unsigned handled = 0;
    this->discipline_.lru_section(id, [&] {
      Lru::List& list = this->lru_.lists[id];
      while (handled < 64 && list.tail) {
        Item* item = list.tail;
        if (!this->expired(*item) && !this->flushed(*item)) break;
        const std::uint32_t hash = this->hash_of(*item);
        const bool inside = this->discipline_.try_item_section(hash, [&] {
          ++list.statistics.reclaimed;
          if (!item->is(Item::kFetched)) ++list.statistics.expired_unfetched;
          this->table_.remove(item, hash);
          this->discipline_.unlinked();
          list.remove(item);
          D::clear(item->bits, Item::kLinked);
          this->drop(item);
        });
        if (!inside) break;
        ++handled;
      }
    });
    return handled;
  }

  LruTuning tuning_;
};

}  // namespace rubato::cached
