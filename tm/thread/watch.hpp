// Threads that sleep until a transaction writes what theirs has read (T56). A thread shows a signature
// of its reads, looks once more whether they are valid, and sleeps. A writer looks at one read-mostly word,
// and at signatures only if that word is not 0. Invariant: a write that the last look has not seen is of a
// transaction that locked what it wrote afterwards, and so finds the signature.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace rubato::tm {

/// A set of places, which may seem to hold more than it does.
class Signature {
 public:
  static constexpr int kWords = 4;

  void add(std::uintptr_t place) {
    const std::uint64_t bit = place * 0x9e3779b97f4a7c15u >> 56;
    words_[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
  void add_all() {
    for (std::uint64_t& word : words_) word = ~std::uint64_t{0};
  }
  bool empty() const { return (words_[0] | words_[1] | words_[2] | words_[3]) == 0; }
  std::uint64_t operator[](int i) const { return words_[i]; }

 private:
  std::uint64_t words_[kWords]{};
};

/// The watch of one thread.
template <class A>
struct alignas(64) Watch {
  template <class T>
  using Atomic = typename A::template atomic<T>;

  Atomic<std::uint32_t> is_set{0};  ///< what the thread sleeps on
  Atomic<std::uintptr_t> kind{0};   ///< of the places: signatures of another kind say nothing
  Atomic<std::uint64_t> words[Signature::kWords]{};
  Watch* next = nullptr;  ///< written before the watch is published
};

template <class A>
class Watches {
 public:
  /// Publishes a watch. The caller holds the registry's lock.
  void add(Watch<A>& watch) {
    watch.next = head_.load(std::memory_order_relaxed);
    head_.store(&watch, std::memory_order_seq_cst);
  }

  /// Before the last look at the reads.
  void set(Watch<A>& watch, const Signature& reads, std::uintptr_t kind) {
    for (int i = 0; i < Signature::kWords; ++i) watch.words[i].store(reads[i], std::memory_order_relaxed);
    watch.kind.store(kind, std::memory_order_relaxed);
    watch.is_set.store(1, std::memory_order_release);
    set_.fetch_add(1, std::memory_order_seq_cst);
  }
  void clear(Watch<A>& watch) {
    watch.is_set.store(0, std::memory_order_relaxed);
    set_.fetch_sub(1, std::memory_order_relaxed);
  }
  /// Returns when a transaction has written what the signature has.
  void sleep(Watch<A>& watch) {
    while (watch.is_set.load(std::memory_order_acquire) != 0) A::sleep(watch.is_set, 1, 0);
    set_.fetch_sub(1, std::memory_order_relaxed);
  }

  /// After what was written was locked, by one that has committed.
  [[gnu::always_inline]] bool any() const { return set_.load(std::memory_order_seq_cst) != 0; }
  void wake(const Signature& writes, std::uintptr_t kind) {
    for (Watch<A>* watch = head_.load(std::memory_order_acquire); watch != nullptr; watch = watch->next) {
      if (watch->is_set.load(std::memory_order_acquire) == 0 || !is_met(*watch, writes, kind)) continue;
      if (watch->is_set.exchange(0, std::memory_order_acq_rel) != 0) A::wake(watch->is_set, 1);
    }
  }

  /// For the child of a fork, whose only thread watches nothing. No watch is left; add() them again.
  void reset_after_fork() {
    head_.store(nullptr, std::memory_order_relaxed);
    set_.store(0, std::memory_order_relaxed);
  }

 private:
  static bool is_met(const Watch<A>& watch, const Signature& writes, std::uintptr_t kind) {
    if (watch.kind.load(std::memory_order_relaxed) != kind) return true;
    for (int i = 0; i < Signature::kWords; ++i) {
      if ((watch.words[i].load(std::memory_order_relaxed) & writes[i]) != 0) return true;
    }
    return false;
  }

  typename A::template atomic<Watch<A>*> head_{nullptr};
  alignas(64) typename A::template atomic<std::uint32_t> set_{0};  ///< how many watches are
};

}  // namespace rubato::tm
