// Ownership records: a table of words, one for many stripes of memory. A record is a version (commit time and
// incarnation), or locked by a thread (rule T41).
// Invariant: memory of a stripe changes only while its record is locked, and a record's word never returns to
// a value under which a stripe held something else: an undone write takes a new incarnation.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rubato::tm {

using Record = std::atomic<std::uint64_t>;

struct RecordWord {
  static constexpr std::uint64_t kLocked = std::uint64_t{1} << 63;
  static constexpr int kIncarnationBits = 3;
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
  static constexpr int kBits = 16, kStripeBits = 5;
  static constexpr std::size_t kStripe = std::size_t{1} << kStripeBits;

  /// False without memory.
  bool make();
  /// In the child of a fork: those that hold them are gone. Frees the locked ones, with the time `now`.
  void forget_locks(std::uint64_t now);
  Record& of(std::uintptr_t address) const {
    const auto stripe = static_cast<std::uint32_t>(address >> kStripeBits);
    return table_[stripe * kMultiplier >> (32 - kBits)];
  }
  static bool is_in_one_stripe(std::uintptr_t address, std::size_t bytes) {
    return (address % kStripe) + bytes <= kStripe;
  }
  /// Bytes from `address` to the end of its stripe.
  static std::size_t left_in_stripe(std::uintptr_t address) { return kStripe - address % kStripe; }

 private:
  static constexpr std::uint32_t kMultiplier = 2654435761u;  // 2^32 / golden ratio
  Record* table_ = nullptr;
};

extern Records records;

/// Time: moved by each update that commits, or (deferred, rule T46) only by a transaction that meets a
/// version that is newer. 60 bits: it does not overflow within the life of a process.
struct alignas(64) Clock {
  std::atomic<std::uint64_t> now{1};

  /// At least `time`. @returns what it is.
  std::uint64_t move_to(std::uint64_t time) {
    std::uint64_t seen = now.load(std::memory_order_seq_cst);
    while (seen < time) {
      if (now.compare_exchange_weak(seen, time, std::memory_order_seq_cst)) return time;
    }
    return seen;
  }
  /// Before this time no transaction is under way any more (rule T37).
  alignas(64) std::atomic<std::uint64_t> quiesced{0};
};
extern Clock clock_of_commits;

}  // namespace rubato::tm
