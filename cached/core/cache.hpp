// What requests do to a cache. Templates over a discipline (rule T83): a lambda given to a section is the
// critical section, and touches nothing that the discipline could not undo.
// SPDX-License-Identifier: MIT
#pragma once

#include "cached/core/upkeep.hpp"

namespace rubato::cached {

/// Decimal digits of a value, without a system call or a locale; returns how many.
inline unsigned write_decimal(char* to, std::uint64_t value) {
  char digits[20];
  unsigned n = 0;
  do digits[n++] = static_cast<char>('0' + value % 10);
  while (value /= 10);
  for (unsigned i = 0; i < n; ++i) to[i] = digits[n - 1 - i];
  return n;
}

template <class D>
class Cache : public CacheUpkeep<D> {
  using Base = CacheUpkeep<D>;

 public:
  Cache(const EngineOptions& options, const Clock& clock) : Base(options, clock) {}

  Found get(ThreadCounters& self, Key key, const Lookup& lookup, char* room, std::size_t room_size) override {
    Found found;
    this->discipline_.item_section(key.hash, [&] {
      Item* item = this->find_live(key, &found);
      if (!item && lookup.vivify) item = vivify(key, lookup, found);
      if (!item) return;
      found.hit = !found.vivified;
      describe(*item, found);
      if (lookup.touch) item->expiry = found.expiry = lookup.expiry;
      if (!found.vivified) decide_winner(*item, lookup, found);
      if (lookup.bump) note_access(item, key.hash);
      if (!lookup.with_value) return;
      if (item->bytes <= room_size && !item->is(Item::kChained)) {
        D::copy(room, item->data(), item->bytes);
      } else if (item->references < kMostReferences) {
        ++item->references;
        found.pinned = item;
      } else {
        found.no_memory = true;
      }
    });
    count_lookup(self, lookup, found);
    return found;
  }

  StoreAnswer store(ThreadCounters& self, Item* item, std::uint32_t hash,
                    const StoreRequest& request) override {
    StoreAnswer answer{};
    bool compared = false;
    std::uint8_t lru = item->lru;
    Item* spare = nullptr;  // what is not linked in the end
    this->discipline_.item_section(hash, [&] {
      Item* old = this->find_live({item->key(), hash});
      compared = request.cas != 0 || request.must_match;
      if (old) lru = old->lru;
      answer.stored = permits(request, item, old);
      if (answer.stored != Stored::stored) {
        spare = item;
        // A failed `add` counts as an access of the item that was there.
        if (old && request.mode == StoreMode::add) note_access(old, hash);
        return;
      }
      Item* linked = item;
      if (old && (request.mode == StoreMode::append || request.mode == StoreMode::prepend)) {
        linked = joined(*old, *item, request.mode == StoreMode::append);
        spare = item;
        if (!linked) {
          answer.stored = Stored::no_memory;
          return;
        }
      }
      answer.cas = this->next_cas();
      this->link(linked, hash, old, answer.cas);
    });
    if (spare) this->discipline_.item_section(hash, [&] { this->drop(spare); });
    self.add(Count::set_commands);
    self.add(lru, ClassCount::set_commands);
    if (answer.stored == Stored::stored) self.add(Count::total_items);
    if (compared && answer.stored == Stored::not_found) self.add(Count::cas_misses);
    if (compared && answer.stored == Stored::stored) self.add(lru, ClassCount::cas_hits);
    if (compared && answer.stored == Stored::exists) self.add(lru, ClassCount::cas_badval);
    return answer;
  }

  Deleted remove(ThreadCounters& self, Key key, const DeleteRequest& request) override {
    Deleted deleted = Deleted::not_found;
    std::uint8_t lru = 0;
    this->discipline_.item_section(key.hash, [&] {
      Item* item = this->find_live(key);
      if (!item) return;
      lru = item->lru;
      if (request.cas && request.cas != item->cas()) {
        deleted = Deleted::exists;
        return;
      }
      deleted = Deleted::deleted;
      if (!request.mark_stale) return this->unlink(item, key.hash);
      D::set(item->bits, Item::kStale);
      D::clear(item->bits, Item::kTokenSent);
      item->set_cas(this->next_cas());
      if (request.set_expiry) item->expiry = request.expiry;
    });
    if (deleted == Deleted::deleted) self.add(lru, ClassCount::delete_hits);
    if (deleted == Deleted::not_found) self.add(Count::delete_misses);
    return deleted;
  }

  CountAnswer count(ThreadCounters& self, Key key, const CountRequest& request) override {
    CountAnswer answer{};
    std::uint8_t lru = 0;
    this->discipline_.item_section(key.hash, [&] {
      Item* item = this->find_live(key);
      if (!item) {
        answer.counted = Counted::not_found;
        return;
      }
      lru = item->lru;
      answer = count_in(item, key, request);
    });
    if (answer.counted == Counted::not_found)
      self.add(request.increment ? Count::incr_misses : Count::decr_misses);
    if (answer.counted == Counted::ok)
      self.add(lru, request.increment ? ClassCount::incr_hits : ClassCount::decr_hits);
    return answer;
  }

  void flush(std::uint32_t when) override {
    if (when <= this->clock_.now() && this->options_.cas) {
      // All that was stored so far has a lower unique; what is stored in this second after it stays.
      this->flushed_cas_ = this->next_cas();
      this->flushed_until_ = when - 1;
    } else {
      this->flushed_until_ = when - (this->options_.cas ? 1 : 0);
    }
  }

 private:
  static constexpr std::uint16_t kMostReferences = 60000;
  static constexpr std::uint32_t kBumpInterval = 60;

  static void describe(const Item& item, Found& found) {
    found.fetched = item.is(Item::kFetched), found.stale = item.is(Item::kStale);
    found.key_is_binary = item.is(Item::kKeyBinary);
    found.lru = item.lru, found.flags = item.client_flags(), found.length = item.bytes - 2;
    found.time = item.time, found.expiry = item.expiry, found.cas = item.cas();
    found.size = static_cast<std::uint32_t>(item.total());
  }

  /// Who may fetch anew what is stale or about to expire: the first that asks, until the item is stored.
  void decide_winner(Item& item, const Lookup& lookup, Found& found) {
    if (item.is(Item::kTokenSent)) {
      found.token_sent = true;
      return;
    }
    const bool aging = lookup.recache && item.expiry &&
                       std::int64_t{item.expiry} - this->clock_.now() < lookup.recache_below;
    if (!aging && !item.is(Item::kStale)) return;
    D::set(item.bits, Item::kTokenSent);
    found.won = true;
  }

  Item* vivify(Key key, const Lookup& lookup, Found& found) {
    Item* item = this->allocate(key, 0, lookup.vivify_expiry, 0);
    if (!item) {
      found.no_memory = true;
      return nullptr;
    }
    std::memcpy(item->data(), "\r\n", 2);
    item->set(Item::kTokenSent | (lookup.key_is_binary ? Item::kKeyBinary : 0));
    this->link(item, key.hash, nullptr, this->next_cas());
    found.vivified = found.won = true;
    return item;
  }

  /// The first access marks the item, the second makes it active; its time is written once a minute (T75), so
  /// that most gets write nothing that another get reads.
  void note_access(Item* item, std::uint32_t) {
    const std::uint32_t now = this->clock_.now();
    if (!item->is(Item::kFetched)) {
      D::set(item->bits, Item::kFetched);
      if (item->time != now && (item->lru & kSegmentMask) != kCold) item->time = now;
      return;
    }
    if (!this->segmented_.load(std::memory_order_relaxed)) {
      if (now - item->time >= kBumpInterval) move_to_head(item, item->lru, now);
      return;
    }
    if (!item->is(Item::kActive)) {
      D::set(item->bits, Item::kActive);
      if ((item->lru & kSegmentMask) == kCold) {
        // A cold item that is asked for twice is warm at once: the maintainer sees tails only.
        move_to_head(item, static_cast<std::uint8_t>((item->lru & kClassMask) | kWarm), now);
        return;
      }
    }
    if (now - item->time >= kBumpInterval) item->time = now;
  }
  void move_to_head(Item* item, std::uint8_t to, std::uint32_t now) {
    const std::uint8_t from = item->lru;
    this->leave_lru(item);
    item->lru = to, item->time = now;
    this->discipline_.lru_section(to, [&] {
      Lru::List& list = this->lru_.lists[to];
      ++(from == to ? list.statistics.moves_within : list.statistics.moves_to_warm);
      list.push(item);
    });
  }

  void count_lookup(ThreadCounters& self, const Lookup& lookup, const Found& found) {
    if (lookup.is_get) self.add(Count::get_commands);
    if (lookup.touch) self.add(Count::touch_commands);
    if (!found.hit) {
      if (lookup.is_get) self.add(Count::get_misses);
      if (lookup.touch) self.add(Count::touch_misses);
      if (found.expired) self.add(Count::get_expired);
      if (found.flushed) self.add(Count::get_flushed);
      return;
    }
    if (lookup.touch)
      self.add(found.lru, ClassCount::touch_hits);
    else
      self.lru_hits[found.lru].add();
    if (lookup.is_get) self.add(found.lru, ClassCount::get_hits);
  }

  Stored permits(const StoreRequest& request, Item* item, const Item* old) {
    const bool joins = request.mode == StoreMode::append || request.mode == StoreMode::prepend;
    if (request.must_match && !request.cas) return old ? Stored::exists : Stored::not_found;
    if (request.cas) {
      if (!old) return request.mode == StoreMode::set ? Stored::not_found : Stored::not_stored;
      if (request.cas != old->cas()) {
        if (!request.invalidate || request.cas >= old->cas()) return Stored::exists;
        item->set(Item::kStale);
      }
    }
    if (request.mode == StoreMode::add && old) return Stored::not_stored;
    if (request.mode == StoreMode::replace && !old) return Stored::not_stored;
    if (joins && !old && !request.vivify) return Stored::not_stored;
    return Stored::stored;
  }

  /// A new item with the data of both; flags and expiry are the old one's.
  Item* joined(Item& old, Item& added, bool append) {
    const std::uint64_t length = std::uint64_t{old.bytes} - 2 + added.bytes - 2;
    if (!this->fits(old.key_length, old.client_flags(), length)) return nullptr;
    Item* both =
        this->allocate({old.key(), 0}, old.client_flags(), old.expiry, static_cast<std::uint32_t>(length));
    if (!both) return nullptr;
    both->set(old.bits & Item::kKeyBinary);
    Cursor to(*both);
    const auto copy = [&](Item& from) {
      std::size_t left = from.bytes - 2;
      for_each_piece(from, [&](const char* piece, std::size_t n) {
        n = std::min(n, left);
        to.write(piece, n);
        left -= n;
      });
    };
    copy(append ? old : added);
    copy(append ? added : old);
    to.write("\r\n", 2);
    return both;
  }

  /// A number as memcached reads it: white space before it, and anything behind white space after it.
  static bool parse(const Item& item, std::uint64_t& value) {
    const auto space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
    const std::uint32_t n = item.bytes - 2;
    if (n == 0 || item.is(Item::kChained)) return false;
    const char* p = item.data();
    std::uint32_t first = 0;
    while (first < n && space(p[first])) ++first;
    std::uint32_t i = first;
    for (value = 0; i < n && p[i] >= '0' && p[i] <= '9'; ++i) {
      const auto digit = static_cast<std::uint64_t>(p[i] - '0');
      if (value > (~std::uint64_t{0} - digit) / 10) return false;
      value = value * 10 + digit;
    }
    return i != first && (i == n || space(p[i]));
  }

  CountAnswer count_in(Item* item, Key key, const CountRequest& request) {
    CountAnswer answer{};
    // What is no number by its size alone is said before a unique is compared, as memcached does.
    if (item->bytes == 2 || item->is(Item::kChained)) {
      answer.counted = Counted::non_numeric;
      return answer;
    }
    if (request.cas && request.cas != item->cas()) {
      answer.counted = Counted::exists;
      return answer;
    }
    std::uint64_t value = 0;
    if (!parse(*item, value)) {
      answer.counted = Counted::non_numeric;
      return answer;
    }
    value = request.increment ? value + request.delta : value < request.delta ? 0 : value - request.delta;
    char digits[20];
    const unsigned n = write_decimal(digits, value);
    if (request.set_expiry) item->expiry = request.expiry;
    answer.value = value, answer.cas = this->next_cas(), answer.expiry = item->expiry;
    if (item->references == 1 && n <= item->bytes - 2) {
      std::memcpy(item->data(), digits, n);
      std::memset(item->data() + n, ' ', item->bytes - 2 - n);
      item->set_cas(answer.cas);
      return answer;
    }
    Item* longer = this->allocate(key, item->client_flags(), item->expiry, n);
    if (!longer) {
      answer.counted = Counted::no_memory;
      return answer;
    }
    longer->set(item->bits & Item::kKeyBinary);
    std::memcpy(longer->data(), digits, n);
    std::memcpy(longer->data() + n, "\r\n", 2);
    this->link(longer, key.hash, item, answer.cas);
    return answer;
  }
};

}  // namespace rubato::cached
