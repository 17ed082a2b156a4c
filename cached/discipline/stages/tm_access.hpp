// The publication's stages before onCommit handlers (T85), for bench/memcached_trial: the same core and
// branches, with the publication's unsafe operations in their transactions, so that these become serial where
// they meet one. `relaxed`: all blocks are relaxed, time, settings and references are atomic variables,
// memory is compared by libc, and the maintainer is woken at once. `callable` annotates what is called. `max`
// makes the variables transactional, and blocks atomic that then hold nothing unsafe. `lib` compares and
// copies by librubato_tm. The next stage, onCommit, is the product.
// SPDX-License-Identifier: MIT
#pragma once

#include <semaphore.h>

#include <cstring>
#include <type_traits>

#include "cached/core/table.hpp"
#include "cached/discipline/tm_access.hpp"

namespace rubato::cached {

enum class Stage { relaxed, callable, max, lib };

/// Operations that no transaction can undo.
struct Unsafe {
  template <class T>
  static T load(const T& word) {
    return __atomic_load_n(&word, __ATOMIC_SEQ_CST);
  }
  template <class T>
  static void store(T& word, T value) {
    __atomic_store_n(&word, value, __ATOMIC_SEQ_CST);
  }
  template <class T>
  static T add(T& word, T n) {
    return __atomic_add_fetch(&word, n, __ATOMIC_SEQ_CST);
  }
  static bool equal(const char* a, const char* b, std::size_t n) { return std::memcmp(a, b, n) == 0; }
  static void copy(char* to, const char* from, std::size_t n) { std::memcpy(to, from, n); }
  static void post(sem_t& semaphore) { sem_post(&semaphore); }
};
/// The same, annotated: GCC makes a clone for transactions, which becomes serial at what is unsafe in it.
struct Callable {
  template <class T>
  [[gnu::transaction_callable]] static T load(const T& word) {
    return Unsafe::load(word);
  }
  template <class T>
  [[gnu::transaction_callable]] static void store(T& word, T value) {
    Unsafe::store(word, value);
  }
  template <class T>
  [[gnu::transaction_callable]] static T add(T& word, T n) {
    return Unsafe::add(word, n);
  }
  [[gnu::transaction_callable]] static bool equal(const char* a, const char* b, std::size_t n) {
    return Unsafe::equal(a, b, n);
  }
  [[gnu::transaction_callable]] static void copy(char* to, const char* from, std::size_t n) {
    Unsafe::copy(to, from, n);
  }
  [[gnu::transaction_callable]] static void post(sem_t& semaphore) { Unsafe::post(semaphore); }
};

template <Stage S>
class StageAccess : public OnCommit {
  static constexpr bool kTransactional = S >= Stage::max;
  using Outside = std::conditional_t<S == Stage::callable, Callable, Unsafe>;

 public:
  static constexpr const char* kIpName = S == Stage::relaxed    ? "tm-relaxed"
                                         : S == Stage::callable ? "tm-callable"
                                         : S == Stage::max      ? "tm-max"
                                                                : "tm-lib";
  static constexpr const char* kItName = S == Stage::relaxed    ? "tm-it-relaxed"
                                         : S == Stage::callable ? "tm-it-callable"
                                         : S == Stage::max      ? "tm-it-max"
                                                                : "tm-it-lib";
  static constexpr bool kHasCacheSection = true;

  template <class F>
  static auto block(F&& f) {
    if constexpr (std::is_void_v<decltype(f())>) {
      __transaction_relaxed { f(); }
    } else {
      decltype(f()) result{};
      __transaction_relaxed { result = f(); }
      return result;
    }
  }
  template <class F>
  static auto safe_block(F&& f) {
    if constexpr (kTransactional)
      return OnCommit::safe_block(f);
    else
      return block(f);
  }
  template <class F>
  static auto cache_section(F&& f) {
    return block(f);
  }
  template <class F>
  static auto statistics_section(F&& f) {
    return safe_block(f);
  }

  // Atomic variables, or from `max` on variables that each access makes a transaction of its own, which is
  // flat inside another.
  template <class T>
  static T load(const T& word) {
    if constexpr (kTransactional) {
      T value{};
      __transaction_atomic { value = word; }
      return value;
    } else {
      return Outside::load(word);
    }
  }
  template <class T>
  static void store(T& word, T value) {
    if constexpr (kTransactional) {
      __transaction_atomic { word = value; }
    } else {
      Outside::store(word, value);
    }
  }
  template <class T>
  static T add(T& word, T n) {
    if constexpr (kTransactional) {
      T value{};
      __transaction_atomic { value = word = static_cast<T>(word + n); }
      return value;
    } else {
      return Outside::add(word, n);
    }
  }

  template <class T>
  class Setting {
   public:
    explicit Setting(T value) : value_(value) {}
    T get() const { return load(value_); }
    void set(T value) { store(value_, value); }

   private:
    T value_;
  };
  class Sequence {
   public:
    std::uint64_t next() { return add(value_, std::uint64_t{1}); }
    void go_on_after(std::uint64_t last) { store(value_, last); }

   private:
    std::uint64_t value_ = 0;
  };
  /// The word is written outside of transactions, four times a second, and is right before and after.
  static std::uint32_t now(const Clock& clock) { return load(clock.word()); }
  static unsigned references(const Item& item) { return load(item.references); }
  static void reference(Item& item) { add(item.references, std::uint16_t{1}); }
  static bool unreference(Item& item) { return add(item.references, static_cast<std::uint16_t>(-1)) == 0; }
  template <class... What>
  static void count(ThreadCounters& self, What... what) {
    add(self.of(what...).word(), std::uint64_t{1});
  }

  static bool equal(const char* a, const char* b, std::size_t n) {
    if constexpr (S >= Stage::lib)
      return OnCommit::equal(a, b, n);
    else
      return Outside::equal(a, b, n);
  }
  static void copy(char* to, const char* from, std::size_t n) {
    if constexpr (S >= Stage::lib)
      OnCommit::copy(to, from, n);
    else
      Outside::copy(to, from, n);
  }

  // The publication's Fig. 2 after its transformation: a thread that stores one item too many wakes the
  // maintainer, once.
  void linked(std::size_t buckets) {
    if (add(items_, std::uint64_t{1}) <= most_items(buckets) || load(growing_)) return;
    store(growing_, 1);
    Outside::post(wanted_.semaphore());
  }
  void unlinked() { add(items_, ~std::uint64_t{0}); }
  void has_grown() { store(growing_, 0); }
  Wake* wakes() { return &wanted_; }

 private:
  std::uint64_t items_ = 0;
  int growing_ = 0;  ///< 1 from the moment at which the maintainer is woken
  SemaphoreWake wanted_;
};

}  // namespace rubato::cached
