// The LRU lists of all classes and segments, and their statistics. Each list is touched inside its own LRU
// section.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cached/core/item.hpp"

namespace rubato::cached {

struct LruStatistics {
  std::uint64_t evicted = 0, evicted_nonzero = 0, evicted_time = 0, reclaimed = 0, out_of_memory = 0,
                tail_repairs = 0;
  std::uint64_t expired_unfetched = 0, evicted_unfetched = 0, evicted_active = 0;
  std::uint64_t crawler_reclaimed = 0, crawler_checked = 0, tail_locked = 0;
  std::uint64_t moves_to_cold = 0, moves_to_warm = 0, moves_within = 0, direct_reclaims = 0;

  /// Sums; the time of an eviction is the latest.
  LruStatistics& operator+=(const LruStatistics& o) {
    evicted_time = std::max(evicted_time, o.evicted_time);
    for (const auto field :
         {&LruStatistics::evicted, &LruStatistics::evicted_nonzero, &LruStatistics::reclaimed,
          &LruStatistics::out_of_memory, &LruStatistics::tail_repairs, &LruStatistics::expired_unfetched,
          &LruStatistics::evicted_unfetched, &LruStatistics::evicted_active,
          &LruStatistics::crawler_reclaimed, &LruStatistics::crawler_checked, &LruStatistics::tail_locked,
          &LruStatistics::moves_to_cold, &LruStatistics::moves_to_warm, &LruStatistics::moves_within,
          &LruStatistics::direct_reclaims})
      this->*field += o.*field;
    return *this;
  }
};

struct Lru {
  struct List {
    Item* head = nullptr;
    Item* tail = nullptr;
    std::uint64_t items = 0, bytes = 0;
    LruStatistics statistics;

    void push(Item* item) {
      item->previous = nullptr, item->next = head;
      if (head)
        head->previous = item;
      else
        tail = item;
      head = item;
      ++items, bytes += item->total();
    }
    /// Behind all others: the oldest.
    void append(Item* item) {
      item->next = nullptr, item->previous = tail;
      if (tail)
        tail->next = item;
      else
        head = item;
      tail = item;
      ++items, bytes += item->total();
    }
    void remove(Item* item) {
      if (item->previous)
        item->previous->next = item->next;
      else
        head = item->next;
      if (item->next)
        item->next->previous = item->previous;
      else
        tail = item->previous;
      item->next = item->previous = nullptr;
      --items, bytes -= item->total();
    }
    /// `with` is a copy of `item` and takes its place.
    void replace(Item* item, Item* with) {
      if (item->previous)
        item->previous->next = with;
      else
        head = with;
      if (item->next)
        item->next->previous = with;
      else
        tail = with;
    }
  };
  std::array<List, 256> lists;
};

}  // namespace rubato::cached
