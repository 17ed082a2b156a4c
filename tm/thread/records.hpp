// Ownership records: a table of words, one for many stripes of memory. A record is a version (commit time and
// incarnation), or locked by a thread (T41). Invariant: memory of a stripe changes only while its record
// is locked. A record's word never returns to a value under which a stripe held something else: an undone
// write takes a new incarnation.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tm/fault.hpp"

namespace rubato::tm {

using Record = std::atomic<std::uint64_t>;

struct RecordWord {
  static constexpr std::uint64_t kLocked = std::uint64_t{1} << 63;
  static constexpr int kTimeBits = 60, kIncarnationBits = 3;
  static constexpr std::uint64_t kIncarnations = std::uint64_t{1} << kIncarnationBits;

  static constexpr std::uint64_t of_time(std::uint64_t time) { return time << kIncarnationBits; }
  static constexpr std::uint64_t time(std::uint64_t word) { return word >> kIncarnationBits; }
  static constexpr bool is_locked(std::uint64_t word) { return (word & kLocked) != 0; }
  /// The first word that is too new for reads at `snapshot`. Locked words are, too.
  static constexpr std::uint64_t limit(std::uint64_t snapshot) { return of_time(snapshot + 1); }
  static std::uint64_t locked_by(const void* owner) {
    return reinterpret_cast<std::uintptr_t>(owner) | kLocked;
  }
  /// Null if it is not locked.
  template <class Owner>
  static Owner* owner(std::uint64_t word) {
    return is_locked(word) ? reinterpret_cast<Owner*>(word & ~kLocked) : nullptr;
  }
};

class Records {
 public:
  /// The ranges of RUBATO_ITM_ORECS and RUBATO_ITM_STRIPE; powers of two.
  static constexpr std::size_t kFewest = 1u << 10, kDefault = 1u << 16, kMost = 1u << 22;
  static constexpr std::size_t kSmallestStripe = 16, kDefaultStripe = 32, kLargestStripe = 256;

  /// Before make().
  void set_count(std::size_t records) { index_mask_ = records - 1; }
  void set_stripe(std::size_t bytes) { stripe_mask_ = ~std::uintptr_t{bytes - 1}; }
  std::size_t stripe() const { return ~stripe_mask_ + 1; }
  /// False without memory.
  bool make();
  /// In the child of a fork: those that hold them are gone. Frees the locked ones, with the time `now`.
  void forget_locks(std::uint64_t now);
  /// While no thread is inside: all versions are older than any time.
  void reset();

  Record& of(std::uintptr_t address) const {
    return table_[((address & stripe_mask_) * kMultiplier >> kShift) & index_mask_];
  }
  /// Precondition: at most 8 bytes. Aligned accesses are in one stripe, for no stripe is smaller.
  [[gnu::always_inline]] bool is_in_one_stripe(std::uintptr_t address, std::size_t bytes) const {
    return __builtin_expect((address & (bytes - 1)) == 0, true) || left_in_stripe(address) >= bytes;
  }
  /// Bytes from `address` to the end of its stripe.
  std::size_t left_in_stripe(std::uintptr_t address) const { return -(address | stripe_mask_); }

 private:
  std::size_t count() const { return index_mask_ + 1; }

  static constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio
  static constexpr int kShift = 42;                                  // leaves the bits of the largest table
  Record* table_ = nullptr;
  std::uintptr_t stripe_mask_ = ~std::uintptr_t{kDefaultStripe - 1};  ///< of the stripe's address
  std::size_t index_mask_ = kDefault - 1;
};

extern Records records;

/// Time: moved by each update that commits, or (deferred, T46) only by a transaction that meets a
/// version that is newer. Before its 60 bits overflow a new era begins, with fresh records:
/// times of two eras cannot be compared.
struct alignas(64) Clock {
  static constexpr std::uint64_t kFirst = 1u << 20;

  std::atomic<std::uint64_t> now{kFirst + 1};

  /// At least `time`. @returns what it is.
  std::uint64_t move_to(std::uint64_t time) {
    std::uint64_t seen = now.load(std::memory_order_seq_cst);
    while (seen < time) {
      if (now.compare_exchange_weak(seen, time, std::memory_order_seq_cst)) return time;
    }
    return seen;
  }
  /// Long before an overflow: threads ask for it at some of their commits only.
  bool is_era_over() const {
    constexpr std::uint64_t kLast = (std::uint64_t{1} << RecordWord::kTimeBits) - (std::uint64_t{1} << 40);
    return now.load(std::memory_order_relaxed) > end_of_era(kFirst, kLast);
  }

  /// Before this time no transaction is under way any more (T37).
  alignas(64) std::atomic<std::uint64_t> quiesced{kFirst};
};
extern Clock clock_of_commits;

struct Thread;
/// By a thread that is outside: times begin again, unless a serial transaction is in the way.
void begin_era(const Thread& thread);

}  // namespace rubato::tm
