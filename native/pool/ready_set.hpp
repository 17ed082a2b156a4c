// Ready pools of a worker: a bit a pool and priority. Any thread may add and, if the set's worker is busy,
// claim. R2 ("ready") and R5 ("the ready pool whose head has the highest priority").
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

#include "native/fault.hpp"

namespace rubato::inline v0::native {

inline constexpr unsigned kPriorities = 3;
inline constexpr unsigned kNoPool = ~0u;

/// All ready pools of a word.
struct AnyPool {
  std::uint64_t operator()(unsigned, std::uint64_t bits) const { return bits; }
};

template <class Atomics>
class ReadySet {
 public:
  explicit ReadySet(unsigned pools) : words_((pools + 63) / 64), bits_(new Word[kPriorities * words_]{}) {}

  /// seq_cst, as the look of a worker that is about to park (EventCount).
  void add(unsigned pool, unsigned rank) {
    bits_[rank * words_ + pool / 64].fetch_or(std::uint64_t{1} << pool % 64, std::memory_order_seq_cst);
  }

  /// Takes a pool of the best rank out, starting behind the one taken last; kNoPool if there is none. The
  /// caller owns the pool then. `of(word, bits)`: those that it may take, of 64 pools.
  template <class Of = AnyPool>
  unsigned claim(unsigned rank, unsigned& last, Of of = {}) {
    for (unsigned i = 0; i < words_; ++i) {
      const unsigned word = words_ == 1 ? 0 : (last / 64 + i) % words_;
      auto& bits = bits_[rank * words_ + word];
      std::uint64_t seen = of(word, bits.load(std::memory_order_seq_cst));
      while (seen != 0) {
        const unsigned start = (last + 1) % 64;
        const unsigned bit =
            (start + static_cast<unsigned>(std::countr_zero(std::rotr(seen, static_cast<int>(start))))) % 64;
        const std::uint64_t mask = std::uint64_t{1} << bit;
        seen = bits.fetch_and(~mask, std::memory_order_seq_cst);
        if ((seen & mask) != 0 || has_fault(Fault::pool_claimed_twice)) return last = word * 64 + bit;
        seen = of(word, seen);
      }
    }
    return kNoPool;
  }

  bool is_empty() const {
    for (unsigned i = 0; i < kPriorities * words_; ++i) {
      if (bits_[i].load(std::memory_order_seq_cst) != 0) return false;
    }
    return true;
  }
  bool is_empty(unsigned rank) const {
    for (unsigned i = 0; i < words_; ++i) {
      if (bits_[rank * words_ + i].load(std::memory_order_relaxed) != 0) return false;
    }
    return true;
  }
  /// How many, about. `of` as in claim().
  template <class Of = AnyPool>
  unsigned size(Of of = {}) const {
    unsigned sum = 0;
    for (unsigned i = 0; i < kPriorities * words_; ++i)
      sum += static_cast<unsigned>(std::popcount(of(i % words_, bits_[i].load(std::memory_order_relaxed))));
    return sum;
  }
  /// Whether one is ready; ordered against a worker that announces that it is idle.
  template <class Of>
  bool has_any(Of of) const {
    for (unsigned i = 0; i < kPriorities * words_; ++i) {
      if (of(i % words_, bits_[i].load(std::memory_order_seq_cst)) != 0) return true;
    }
    return false;
  }

 private:
  using Word = typename Atomics::template atomic<std::uint64_t>;
  unsigned words_;
  std::unique_ptr<Word[]> bits_;
};

}  // namespace rubato::inline v0::native
