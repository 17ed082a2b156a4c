// Items from one process to the next: what a file keeps of a cache is read here, and taken back (T102).
// All of it runs while no other thread touches the cache, so there are no sections.
// SPDX-License-Identifier: MIT
#pragma once

#include "cached/core/upkeep.hpp"

namespace rubato::cached {

template <class D>
class CacheHandover : public CacheUpkeep<D> {
 public:
  using CacheUpkeep<D>::CacheUpkeep;

  KeptState kept_state() override {
    return {this->cas_.next(), this->flushed_cas_.get(), this->flushed_until_.get(), this->table_.power()};
  }
  void take_back(const KeptState& state) override {
    this->cas_.go_on_after(state.cas);
    this->flushed_cas_.set(state.flushed_cas), this->flushed_until_.set(state.flushed_until);
    if (!this->options_.may_expand) return;
    try {
      this->table_.reserve(state.hash_power);
    } catch (const std::bad_alloc&) {  // it works as well with longer chains
    }
  }

  void newest(std::vector<const Item*>& to) const override {
    for (const Lru::List& list : this->lru_.lists)
      if (list.head) to.push_back(list.head);
  }
  bool is_gone(const KeptItem& item) const override {
    return (item.expiry && item.expiry <= this->now()) || this->flushed(item.cas, item.time);
  }

  Item* room_for(Key key, const KeptItem& item) override {
    if (!this->fits(key.bytes.size(), item.flags, item.length)) return nullptr;
    return this->make_item(key, item.flags, item.expiry, item.length,
                           [this](unsigned c, unsigned) { return this->slabs_.allocate(c); });
  }
  bool take_back(Item* item, Key key, const KeptItem& kept) override {
    if (this->table_.find(key.bytes, key.hash)) {
      this->free(item);
      return false;
    }
    item->time = kept.time;
    item->lru = static_cast<std::uint8_t>((item->lru & kClassMask) | segment_for(kept));
    item->set_cas(kept.cas ? kept.cas : this->cas_.next());
    item->set(static_cast<std::uint16_t>(kept.bits | Item::kLinked));
    this->table_.insert(item, key.hash);
    this->discipline_.linked(this->table_.size());
    this->lru_.lists[item->lru].append(item);
    return true;
  }
  void give_up(Item* item, Key) override { this->free(item); }

 private:
  /// The item's own, if this cache has such lists.
  Segment segment_for(const KeptItem& item) const {
    const auto segment = static_cast<Segment>(item.segment & kSegmentMask);
    if (!this->segmented_.get()) return kCold;
    return segment == kTemporary && this->temporary_ttl_.get() < 0 ? kCold : segment;
  }
};

}  // namespace rubato::cached
