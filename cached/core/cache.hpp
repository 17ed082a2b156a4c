// Requests on a cache. Templates over a discipline (T83): a lambda given to a section is the critical
// section, and touches only state that the discipline could undo.
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <utility>

#include "cached/core/handover.hpp"

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
class Cache : public CacheHandover<D> {
  using Base = CacheHandover<D>;

 public:
  Cache(const EngineOptions& options, const Clock& clock) : Base(options, clock) {}

  Found get(ThreadCounters& self, Key key, const Lookup& lookup, char* room, std::size_t room_size) override {
    Found found;
    // Made outside of the section, which takes no memory (T87); null until it is seen that it is needed.
    Item* empty = nullptr;
    bool wanted = false;
    const auto look = [&] {
      Item* item = this->find_live(key, &found);
      wanted = !item && lookup.vivify && !empty;
      if (!item && empty) {
        item = std::exchange(empty, nullptr);
        this->link(item, key.hash, nullptr, unique(lookup.new_cas));
        found.vivified = found.won = true;
      }
      if (!item) return;
      found.hit = !found.vivified;
      describe(*item, found);
      if (lookup.touch && !found.vivified) item->expiry = lookup.expiry;
      if (lookup.decides && !found.vivified) decide_winner(*item, lookup, found);
      if (lookup.bump) note_access(item, key.hash);
      if (!lookup.with_value) return;
      if (item->bytes <= room_size && !item->is(Item::kChained)) {
        D::copy(room, item->data(), item->bytes);
      } else if (D::references(*item) < kMostReferences) {
        if (!has_fault(Fault::unpinned)) D::reference(*item);
        found.pinned = item;
      } else {
        found.no_memory = true;
      }
    };
    this->discipline_.item_section(key.hash, look);
    if (wanted) {
      empty = empty_item(key, lookup);
      if (empty)
        this->discipline_.item_section(key.hash, look);
      else
        found.no_memory = true;
      if (empty) this->release(empty);
    }
    if (lookup.counted) this->discipline_.statistics_section([&] { count_lookup(self, lookup, found); });
    return found;
  }

  StoreAnswer store(ThreadCounters& self, Item* item, std::uint32_t hash,
                    const StoreRequest& request) override {
    StoreAnswer answer{};
    bool compared = false;
    std::uint8_t lru = item->lru;
    Item* spare = nullptr;  // what is not linked in the end
    // For an item with the data of both; made outside of the section, when it is seen how large it must be.
    Item* both = nullptr;
    std::optional<Shape> wanted;
    const auto link = [&] {
      wanted.reset();
      Item* old = this->find_live({item->key(), hash});
      compared = request.cas != 0 || request.must_match;
      if (old) lru = old->lru, answer.old_length = old->bytes - 2;
      answer.stored = permits(request, item, old);
      if (answer.stored != Stored::stored) {
        spare = item;
        if (old && request.mode == StoreMode::add) note_refused_add(old);
        return;
      }
      Item* linked = item;
      if (old && (request.mode == StoreMode::append || request.mode == StoreMode::prepend)) {
        const Shape shape{old->client_flags(), std::uint64_t{old->bytes} - 2 + item->bytes - 2};
        if (!both || !has_shape(*both, shape)) {
          wanted = shape;
          return;
        }
        join(*both, *old, *item, request.mode == StoreMode::append);
        linked = std::exchange(both, nullptr);
        spare = item;
      }
      answer.cas = unique(request.new_cas), answer.length = linked->bytes - 2;
      this->link(linked, hash, old, answer.cas);
    };
    this->discipline_.item_section(hash, link);
    while (wanted) {
      if (both) this->release(both);
      both = item_of({item->key(), hash}, *wanted);
      if (!both) {
        answer.stored = Stored::not_stored, spare = item;  // as memcached: the old item stays
        break;
      }
      this->discipline_.item_section(hash, link);
    }
    if (both) this->release(both);
    if (spare) this->discipline_.item_section(hash, [&] { this->drop(spare); });
    answer.lru = lru;
    this->discipline_.statistics_section([&] {
      D::count(self, Count::set_commands);
      D::count(self, lru, ClassCount::set_commands);
      if (answer.stored == Stored::stored) D::count(self, Count::total_items);
      if (compared && answer.stored == Stored::not_found) D::count(self, Count::cas_misses);
      if (compared && answer.stored == Stored::stored) D::count(self, lru, ClassCount::cas_hits);
      if (compared && answer.stored == Stored::exists) D::count(self, lru, ClassCount::cas_badval);
    });
    return answer;
  }

  Deleted remove(ThreadCounters& self, Key key, const DeleteRequest& request) override {
    Deleted deleted = Deleted::not_found;
    std::uint8_t lru = 0;
    this->discipline_.item_section(key.hash, [&] {
      Item* item = this->find_live(key);
      if (!item) return;
      lru = item->lru;
      if ((request.cas || request.must_match) && request.cas != item->cas()) {
        deleted = Deleted::exists;
        return;
      }
      deleted = Deleted::deleted;
      if (!request.mark_stale && !has_fault(Fault::unlinked_outside)) return this->unlink(item, key.hash);
      if (has_fault(Fault::unlinked_outside)) return;
      D::set(item->bits, Item::kStale);
      D::clear(item->bits, Item::kTokenSent);
      item->set_cas(unique(request.new_cas));
      if (request.set_expiry) item->expiry = request.expiry;
    });
    if (has_fault(Fault::unlinked_outside)) {
      let_others_in();
      this->discipline_.item_section(key.hash, [&] {
        if (Item* item = deleted == Deleted::deleted ? this->find_live(key) : nullptr)
          this->unlink(item, key.hash);
      });
    }
    if (!request.counted) return deleted;
    this->discipline_.statistics_section([&] {
      if (deleted == Deleted::deleted) D::count(self, lru, ClassCount::delete_hits);
      if (deleted == Deleted::not_found) D::count(self, Count::delete_misses);
    });
    return deleted;
  }

  CountAnswer count(ThreadCounters& self, Key key, const CountRequest& request) override {
    CountAnswer answer{};
    std::uint8_t lru = 0;
    Item* longer = nullptr;  // where the number needs more room, as in `store`
    std::optional<Shape> wanted;
    const auto look = [&] {
      wanted.reset();
      Item* item = this->find_live(key);
      if (!item) {
        answer.counted = Counted::not_found;
        return;
      }
      lru = item->lru;
      answer = count_in(item, key.hash, request, longer, wanted);
    };
    this->discipline_.item_section(key.hash, look);
    while (wanted) {
      if (longer) this->release(longer);
      longer = item_of(key, *wanted);
      if (!longer) {
        answer.counted = Counted::no_memory;
        break;
      }
      this->discipline_.item_section(key.hash, look);
    }
    if (longer) this->release(longer);
    this->discipline_.statistics_section([&] {
      if (answer.counted == Counted::not_found)
        D::count(self, request.increment ? Count::incr_misses : Count::decr_misses);
      if (answer.counted == Counted::ok)
        D::count(self, lru, request.increment ? ClassCount::incr_hits : ClassCount::decr_hits);
    });
    return answer;
  }

  void flush(std::uint32_t when) override {
    if (when <= this->now() && this->options_.cas) {
      // All that was stored so far has a lower unique; what is stored in this second after it stays.
      this->flushed_cas_.set(this->cas_.next());
      this->flushed_until_.set(when - 1);
    } else {
      this->flushed_until_.set(when - (this->options_.cas ? 1 : 0));
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

  /// Decides which client may fetch a stale or expiring item anew: the first one that asks, until the item is
  /// stored.
  void decide_winner(Item& item, const Lookup& lookup, Found& found) {
    if (item.is(Item::kTokenSent)) {
      found.token_sent = true;
      return;
    }
    const bool aging =
        lookup.recache && item.expiry && std::int64_t{item.expiry} - this->now() < lookup.recache_below;
    if (!aging && !item.is(Item::kStale)) return;
    D::set(item.bits, Item::kTokenSent);
    found.won = true;
  }

  /// The shape that an item must have for a section that expects it.
  struct Shape {
    std::uint32_t client_flags;
    std::uint64_t length;
  };
  static bool has_shape(const Item& item, const Shape& shape) {
    return item.bytes == shape.length + 2 && item.client_flags() == shape.client_flags;
  }
  Item* item_of(Key key, const Shape& shape) {
    if (!this->fits(key.bytes.size(), shape.client_flags, shape.length)) return nullptr;
    return this->allocate(key, shape.client_flags, 0, static_cast<std::uint32_t>(shape.length));
  }

  Item* empty_item(Key key, const Lookup& lookup) {
    Item* item = this->allocate(key, 0, lookup.vivify_expiry, 0);
    if (!item) return nullptr;
    std::memcpy(item->data(), "\r\n", 2);
    item->set(Item::kTokenSent | (lookup.key_is_binary && keeps_base64(key.bytes) ? Item::kKeyBinary : 0));
    return item;
  }

  /// The first access marks the item, the second makes it active; its time is written once a minute (T75), so
  /// that most gets write nothing that another get reads.
  void note_access(Item* item, std::uint32_t) {
    const std::uint32_t now = this->now();
    if (!item->is(Item::kFetched)) {
      D::set(item->bits, Item::kFetched);
      if (item->time != now && (item->lru & kSegmentMask) != kCold) item->time = now;
      return;
    }
    if (!this->segmented_.get()) {
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
  /// A failed `add` keeps the item that was there from growing old, but is no fetch of it.
  void note_refused_add(Item* item) {
    const std::uint32_t now = this->now();
    const bool is_segmented = this->segmented_.get();
    if (is_segmented && (item->lru & kSegmentMask) == kCold && item->is(Item::kActive))
      move_to_head(item, static_cast<std::uint8_t>((item->lru & kClassMask) | kWarm), now);
    else if (is_segmented)
      item->time = now;
    else if (now - item->time >= kBumpInterval)
      move_to_head(item, item->lru, now);
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
    if (lookup.is_get) D::count(self, Count::get_commands);
    if (lookup.touch) D::count(self, Count::touch_commands);
    if (!found.hit) {
      if (lookup.is_get) D::count(self, Count::get_misses);
      if (lookup.touch) D::count(self, Count::touch_misses);
      if (found.expired) D::count(self, Count::get_expired);
      if (found.flushed) D::count(self, Count::get_flushed);
      return;
    }
    if (lookup.touch)
      D::count(self, found.lru, ClassCount::touch_hits);
    else
      D::count(self, found.lru);
    if (lookup.is_get) D::count(self, found.lru, ClassCount::get_hits);
  }

  /// The unique that the client chose, or else the next.
  std::uint64_t unique(std::uint64_t chosen) { return chosen ? chosen : this->cas_.next(); }

  Stored permits(const StoreRequest& request, Item* item, const Item* old) {
    const bool joins = request.mode == StoreMode::append || request.mode == StoreMode::prepend;
    if (request.must_match && !request.cas) return old ? Stored::exists : Stored::not_found;
    if (request.cas) {
      if (request.mode == StoreMode::add) return old ? Stored::not_stored : Stored::stored;
      const bool replaces = request.mode == StoreMode::set || request.mode == StoreMode::replace;
      if (!old) return replaces ? Stored::not_found : Stored::not_stored;
      if (request.cas != old->cas() && !has_fault(Fault::cas_not_compared)) {
        if (!request.invalidate || request.cas >= old->cas() || joins) return Stored::exists;
        // As stale as the old one would be: it lives as long, and a client that fetches it anew may be under
        // way.
        item->expiry = old->expiry;
        item->set(Item::kStale | (old->bits & Item::kTokenSent));
      }
    }
    if (request.mode == StoreMode::add && old) return Stored::not_stored;
    if (request.mode == StoreMode::replace && !old) return Stored::not_stored;
    if (joins && !old && !request.vivify) return Stored::not_stored;
    return Stored::stored;
  }

  /// Makes `both` the item with the data of the old and the added one; flags and expiry are the old one's.
  void join(Item& both, Item& old, Item& added, bool append) {
    both.expiry = old.expiry;
    if (keeps_base64(old.key())) both.set(old.bits & Item::kKeyBinary);
    Cursor to(both);
    const auto copy = [&](Item& from) {
      std::size_t left = from.bytes - 2;
      for_each_piece(from, [&](const char* piece, std::size_t n) {
        n = std::min(n, left);
        to.write_by(piece, n, D::copy);
        left -= n;
      });
    };
    copy(append ? old : added);
    copy(append ? added : old);
    to.write_by("\r\n", 2, D::copy);
  }

  /// A number as memcached reads it: white space before it, and anything behind white space after it.
  static bool parse(const Item& item, std::uint64_t& value) {
    const auto space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
    const std::uint32_t n = item.bytes - 2;
    if (n == 0 || item.is(Item::kChained)) return false;
    const char* p = item.data();
    std::uint32_t first = 0;
    while (first < n && space(p[first])) ++first;
    if (first < n && p[first] == '+') ++first;
    std::uint32_t i = first;
    for (value = 0; i < n && p[i] >= '0' && p[i] <= '9'; ++i) {
      const auto digit = static_cast<std::uint64_t>(p[i] - '0');
      if (value > (~std::uint64_t{0} - digit) / 10) return false;
      value = value * 10 + digit;
    }
    return i != first && (i == n || space(p[i]));
  }

  CountAnswer count_in(Item* item, std::uint32_t hash, const CountRequest& request, Item*& longer,
                       std::optional<Shape>& wanted) {
    CountAnswer answer{};
    // An item whose size alone rules out a number is reported before a unique is compared, as memcached does.
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
    const bool in_place = D::references(*item) == 1 && n <= item->bytes - 2;
    const Shape shape{item->client_flags(), n};
    if (!in_place && (!longer || !has_shape(*longer, shape))) {
      wanted = shape;
      return answer;
    }
    answer.value = value, answer.cas = unique(request.new_cas), answer.expiry = item->expiry;
    if (request.set_expiry) item->expiry = request.expiry;
    if (in_place) {
      D::copy(item->data(), digits, n);
      for (char* blank = item->data() + n; blank != item->data() + item->bytes - 2; ++blank) *blank = ' ';
      item->set_cas(answer.cas);
      return answer;
    }
    longer->expiry = item->expiry;
    if (keeps_base64(item->key())) longer->set(item->bits & Item::kKeyBinary);
    D::copy(longer->data(), digits, n);
    D::copy(longer->data() + n, "\r\n", 2);
    this->link(std::exchange(longer, nullptr), hash, item, answer.cas);
    return answer;
  }
};

}  // namespace rubato::cached
