// Empties a page and gives it to another class or to the pool (T74), item by item while requests go on.
//
// Once the free chunks of the page are withdrawn none of its chunks is given out again: a chunk goes from
// used to free and stays so. Hence a key that was read in it stays readable, and what the mover finds outside
// an item's section it only has to check again inside.
// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <mutex>

#include "cached/core/memory.hpp"

namespace rubato::cached {

template <class D>
class CacheMover : public CacheMemory<D> {
 public:
  using CacheMemory<D>::CacheMemory;

  MoveResult move_page(unsigned from, unsigned to) override { return move(from, to, /*patient=*/true); }
  MoverReport mover() override {
    return {counts_.pages.get(),       counts_.rescues.get(),         counts_.chunk_rescues.get(),
            counts_.evictions.get(),   counts_.inline_reclaims.get(), counts_.busy_items.get(),
            counts_.busy_deletes.get()};
  }

 protected:
  bool steal_page(unsigned c) override { return move(0, c, /*patient=*/false) == MoveResult::done; }

 private:
  MoveResult move(unsigned from, unsigned to, bool patient) {
    if (!running_.try_lock()) return MoveResult::busy;
    const MoveResult result = move_alone(from, to, patient);
    running_.unlock();
    return result;
  }

  MoveResult move_alone(unsigned from, unsigned to, bool patient) {
    const std::size_t page = this->discipline_.slabs_section([&] { return choose(from, to); });
    if (page == Slabs::kNoPage) return MoveResult::no_page;
    const std::uint32_t used = this->discipline_.slabs_section([&] { return this->slabs_.begin_move(page); });
    const unsigned c = this->slabs_.class_of_page(page);
    const std::size_t size = this->slabs_.sizes().size_of(c);
    const auto chunk = [&](std::uint32_t n) {
      return reinterpret_cast<Item*>(this->slabs_.page_address(page) + n * size);
    };
    for (std::uint32_t n = 0; n < used; n += 64) {
      this->discipline_.slabs_section([&] {
        for (std::uint32_t i = n; i < used && i < n + 64; ++i)
          if (D::peek(chunk(i)->bits) & Item::kFree) this->slabs_.withdraw(chunk(i));
      });
    }
    const unsigned passes = patient && D::kWaits ? 1000 : 3;
    // An item that is being sent is given up only where that has been waited for long, or where a store has
    // no other memory: a page can move another time.
    const unsigned patience = patient ? (D::kWaits ? passes / 2 : passes) : 1;
    for (unsigned pass = 0; pass < passes; ++pass) {
      std::uint32_t busy = 0;
      for (std::uint32_t n = 0; n < used; ++n)
        if (!empty(chunk(n), c, /*drop_pinned=*/pass > patience)) ++busy;
      if (!busy) {
        this->discipline_.slabs_section([&] { this->slabs_.end_move(to); });
        counts_.pages.add();
        counts_.inline_reclaims.add(!patient);
        return MoveResult::done;
      }
      if (patient && D::kWaits) usleep(1000);
    }
    this->discipline_.slabs_section([&] { this->slabs_.abandon_move(used); });
    return MoveResult::busy;
  }

  std::size_t choose(unsigned from, unsigned to) const {
    if (!from) {
      for (unsigned c = 1; c <= this->slabs_.sizes().last(); ++c)
        if (c != to && this->slabs_.slab_class(c).pages > (from ? this->slabs_.slab_class(from).pages : 1))
          from = c;
      if (!from) return Slabs::kNoPage;
    }
    if (this->slabs_.slab_class(from).pages < 2) return Slabs::kNoPage;
    // Turns through the pages, so that a page that cannot be emptied is not the only one that is tried.
    const std::size_t pages = this->slabs_.page_count();
    for (std::size_t n = 0; n < pages; ++n) {
      const std::size_t page = (turn_ + n) % pages;
      if (this->slabs_.class_of_page(page) != from) continue;
      turn_ = page + 1;
      return page;
    }
    return Slabs::kNoPage;
  }

  /// The outcome for a chunk; from `was_free` on it is free.
  enum class Emptied : std::uint8_t { not_yet, busy, unlinked, was_free, rescued, rescued_chunk, evicted };

  /// Whether the chunk is free now.
  bool empty(Item* chunk, unsigned c, bool drop_pinned) {
    const std::uint16_t bits = D::peek(chunk->bits);
    if (bits & Item::kFree) return true;
    Item* head = bits & Item::kChunk ? chunk->chain : chunk;
    if (!head || !(D::peek(head->bits) & Item::kLinked)) return false;  // private: its owner is filling it
    const std::uint32_t hash = this->hash_of(*head);
    Emptied emptied = Emptied::not_yet;
    this->discipline_.try_item_section(hash, [&] {
      const std::uint16_t now = D::peek(chunk->bits);
      if (now & Item::kFree) {
        emptied = Emptied::was_free;
        return;
      }
      const bool same = (now & Item::kChunk ? chunk->chain : chunk) == head &&
                        (D::peek(head->bits) & Item::kLinked) && this->hash_of(*head) == hash;
      if (!same) return;
      if (D::references(*head) != 1 && !has_fault(Fault::moved_while_sent)) {
        emptied = drop_pinned ? Emptied::unlinked : Emptied::busy;
        if (drop_pinned) this->unlink(head, hash);  // freed with its last pin
        return;
      }
      emptied = now & Item::kChunk ? rescue_chunk(chunk, head, hash, c) : rescue_item(chunk, hash, c);
    });
    note(emptied);
    return emptied >= Emptied::was_free;
  }

  void note(Emptied emptied) {
    counts_.busy_items.add(emptied == Emptied::busy || emptied == Emptied::unlinked);
    counts_.busy_deletes.add(emptied == Emptied::unlinked);
    counts_.rescues.add(emptied == Emptied::rescued);
    counts_.chunk_rescues.add(emptied == Emptied::rescued_chunk);
    counts_.evictions.add(emptied == Emptied::evicted);
  }

  Emptied rescue_item(Item* item, std::uint32_t hash, unsigned c) {
    Item* copy = this->discipline_.slabs_section([&] { return this->slabs_.allocate(c); });
    if (!copy) return evict(item, hash);
    D::copy(reinterpret_cast<char*>(copy), reinterpret_cast<const char*>(item),
            this->slabs_.sizes().size_of(c));
    if (copy->is(Item::kChained))
      for (Item* chunk = copy->first_chunk(); chunk; chunk = chunk->next) chunk->chain = copy;
    this->table_.replace(item, copy, hash);
    this->discipline_.lru_section(item->lru, [&] {
      // The neighbours may have changed since the copy was made.
      copy->next = item->next, copy->previous = item->previous;
      this->lru_.lists[item->lru].replace(item, copy);
    });
    item->references = 0;
    this->discipline_.slabs_section([&] { this->slabs_.free(item); });
    return Emptied::rescued;
  }

  Emptied rescue_chunk(Item* chunk, Item* head, std::uint32_t hash, unsigned c) {
    Item* copy = this->discipline_.slabs_section([&] { return this->slabs_.allocate(c); });
    if (!copy) return evict(head, hash);
    D::copy(reinterpret_cast<char*>(copy), reinterpret_cast<const char*>(chunk),
            this->slabs_.sizes().size_of(c));
    if (copy->previous)
      copy->previous->next = copy;
    else
      head->set_first_chunk(copy);
    if (copy->next) copy->next->previous = copy;
    this->discipline_.slabs_section([&] { this->slabs_.free(chunk); });
    return Emptied::rescued_chunk;
  }
  Emptied evict(Item* item, std::uint32_t hash) {
    if (!this->options_.evict) return Emptied::not_yet;
    this->unlink(item, hash);
    return Emptied::evicted;
  }

  std::mutex running_;
  struct {
    Counter pages, rescues, chunk_rescues, evictions, inline_reclaims, busy_items, busy_deletes;
  } counts_;  // written by the holder of running_
  mutable std::size_t turn_ = 0;
};

}  // namespace rubato::cached
