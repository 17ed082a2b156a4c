// Discipline `tm`, branch IP of the publication (T83). An item's lock is a transactional word (T59), and
// between its acquisition and release the item is touched plainly. LRU lists and slabs are transactions. A
// transaction of a list that meets an item tries the item's lock, and touches the item in the same
// transaction.
//
// Why plain and transactional accesses to an item do not meet: acquiring the lock is a transaction, whose
// commit waits until no other one still runs that has read the lock as free.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cached/core/position.hpp"
#include "cached/discipline/tm_access.hpp"
#include "cached/discipline/tm_bits.hpp"
#include "rubato/tm/condition.h"

namespace rubato::cached {

/// @param A  the stage: `OnCommit`, or an earlier one
template <class A>
class TmIp : public A, public TmBits {
 public:
  static constexpr const char* kName = A::kIpName;
  static constexpr bool kWaits = true;

  TmIp(unsigned, unsigned hash_power)
      : mask_((std::size_t{1} << std::min(hash_power, 12u)) - 1), items_(mask_ + 1) {}

  template <class F>
  auto item_section(std::uint32_t hash, F&& f) {
    const Held held(stripe(hash));
    return f();
  }
  /// False, without having called f, if another thread or this one is inside. In a transaction f is part of
  /// it.
  template <class F>
  bool try_item_section(std::uint32_t hash, F&& f) {
    tm_mutex* mutex = stripe(hash);
    if (!tm_trylock(mutex)) return false;
    f();
    tm_unlock(mutex);
    return true;
  }
  template <class F>
  auto all_items_section(F&& f) {
    for (tm_mutex& mutex : items_) tm_lock(&mutex);
    f();
    for (tm_mutex& mutex : items_) tm_unlock(&mutex);
  }
  template <class F>
  auto lru_section(unsigned, F&& f) {
    return A::safe_block(f);
  }
  template <class F>
  auto slabs_section(F&& f) {
    return A::safe_block(f);
  }

  using Position = AtomicPosition;

  static bool equal(const char* a, const char* b, std::size_t n) {
    if constexpr (A::kHasCacheSection)
      return A::equal(a, b, n);
    else
      return std::memcmp(a, b, n) == 0;
  }
  static void copy(char* to, const char* from, std::size_t n) { std::memcpy(to, from, n); }

 private:
  class Held {
   public:
    explicit Held(tm_mutex* mutex) : mutex_(mutex) { tm_lock(mutex); }
    ~Held() { tm_unlock(mutex_); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    tm_mutex* mutex_;
  };

  tm_mutex* stripe(std::uint32_t hash) { return &items_[hash & mask_]; }

  std::size_t mask_;
  std::vector<tm_mutex> items_;
};

}  // namespace rubato::cached
