// Discipline `locks`, as memcached 1.6 has it: striped item locks, a lock a class and segment, one for slabs
// (T83). Order: item, then LRU, then slabs; an item lock that is wanted inside an LRU section is only tried.
// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cached/core/position.hpp"
#include "cached/discipline/access.hpp"

namespace rubato::cached {

/// A mutex whose `try_lock` fails, with defined behaviour, in the thread that holds it.
class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void lock() { pthread_mutex_lock(&mutex_); }
  bool try_lock() { return pthread_mutex_trylock(&mutex_) == 0; }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

class Locks : public Access {
 public:
  static constexpr const char* kName = "locks";
  static constexpr bool kWaits = true;  ///< the page mover, for what others are at

  /// At most as many stripes as buckets, so that a bucket has one stripe.
  Locks(unsigned threads, unsigned hash_power)
      : mask_((std::size_t{1} << power(threads, hash_power)) - 1), items_(mask_ + 1) {}

  template <class F>
  auto item_section(std::uint32_t hash, F&& f) {
    Guard guard(items_[hash & mask_].mutex);
    return f();
  }
  /// False, without having called f, if another thread or this one is inside.
  template <class F>
  bool try_item_section(std::uint32_t hash, F&& f) {
    Mutex& mutex = items_[hash & mask_].mutex;
    if (!mutex.try_lock()) return false;
    f();
    mutex.unlock();
    return true;
  }
  template <class F>
  auto all_items_section(F&& f) {
    for (Stripe& stripe : items_) stripe.mutex.lock();
    f();
    for (Stripe& stripe : items_) stripe.mutex.unlock();
  }
  template <class F>
  auto lru_section(unsigned id, F&& f) {
    Guard guard(lru_[id].mutex);
    return f();
  }
  template <class F>
  auto slabs_section(F&& f) {
    Guard guard(slabs_.mutex);
    return f();
  }

  using Position = AtomicPosition;

  /// The page mover looks at bits outside the item's section, hence the atomic accesses.
  static std::uint16_t peek(const std::uint16_t& bits) { return __atomic_load_n(&bits, __ATOMIC_ACQUIRE); }
  static void set(std::uint16_t& bits, std::uint16_t bit) {
    __atomic_store_n(&bits, static_cast<std::uint16_t>(bits | bit), __ATOMIC_RELEASE);
  }
  static void clear(std::uint16_t& bits, std::uint16_t bit) {
    __atomic_store_n(&bits, static_cast<std::uint16_t>(bits & ~bit), __ATOMIC_RELEASE);
  }
  static bool equal(const char* a, const char* b, std::size_t n) { return std::memcmp(a, b, n) == 0; }
  static void copy(char* to, const char* from, std::size_t n) { std::memcpy(to, from, n); }

 private:
  class Guard {
   public:
    explicit Guard(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
    ~Guard() { mutex_.unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Mutex& mutex_;
  };
  struct Stripe {
    Mutex mutex;
  };
  struct alignas(64) Line {
    Mutex mutex;
  };
  static unsigned power(unsigned threads, unsigned hash_power) {
    const unsigned wanted = threads < 3     ? 10
                            : threads < 4   ? 11
                            : threads < 5   ? 12
                            : threads <= 10 ? 13
                            : threads <= 20 ? 14
                                            : 15;
    return wanted < hash_power ? wanted : hash_power;
  }
  std::size_t mask_;
  std::vector<Stripe> items_;
  std::array<Line, 256> lru_;
  Line slabs_;
};

}  // namespace rubato::cached
