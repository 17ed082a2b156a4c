// Starvation freedom for latches: a worker that was refused for long enough reserves the latch. A worker
// whose task cannot have a latch puts the task back and runs others. A second worker that holds the latch
// throughout long tasks frees it for less time than the first one is away. R4 and R10.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace rubato::inline v0::native {

/// Word: the number of insisting workers; above it, the time since which a worker has waited, in units of 256
/// ticks, or 0.
///
/// A refused worker does not report that it got the latch later, so the recorded wait may be stale. The cost
/// is one needless reservation per waiting time.
class Patience {
 public:
  using Word = std::atomic<std::uint64_t>;
  explicit Patience(Word& word) : word_(word) {}

  /// While a worker insists, no other worker takes the latch.
  bool is_turn_of_others() const { return (word_.load(std::memory_order_relaxed) & kInsisters) != 0; }

  /// For a worker that did not get the latch. @returns true: it insists, and must stay until it has the
  /// latch; false: its wait is recorded. `ticks`: the shortest recorded wait after which a worker insists.
  bool begin_to_insist(std::uint64_t now, std::uint64_t ticks) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    const std::uint64_t since = seen >> kSinceShift;
    now = (now >> kTickShift) & kMaxSince;
    if (since == 0) {  // or another worker is faster
      word_.compare_exchange_strong(seen, seen | (now == 0 ? 1 : now) << kSinceShift,
                                    std::memory_order_relaxed, std::memory_order_relaxed);
      return false;
    }
    if (((now - since) & kMaxSince) < ticks >> kTickShift) return false;
    word_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  /// The insisting worker has the latch.
  void end_insisting() {
    word_.fetch_and(kInsisters, std::memory_order_relaxed);
    word_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  static constexpr unsigned kSinceShift = 16;
  static constexpr std::uint64_t kInsisters = (std::uint64_t{1} << kSinceShift) - 1;
  static constexpr unsigned kTickShift = 8;
  static constexpr std::uint64_t kMaxSince = ~std::uint64_t{0} >> kSinceShift;

  Word& word_;
};

}  // namespace rubato::inline v0::native
