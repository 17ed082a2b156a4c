// Who waits for a latch while he does something else, so that he gets it in the end. A worker whose task
// cannot have a latch puts the task back and runs others; a worker that holds the latch all through long
// tasks frees it for less time than that one is away. Rules R4 and R10.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

namespace rubato::runtime {

/// Word: how many insist; above, since when somebody has waited, in units of 256 ticks, or 0.
///
/// Who was put back does not say when he got the latch after all, so that the time may be that of somebody
/// who waits no more: then one insists for nothing, once in so long a time.
class Patience {
 public:
  using Word = std::atomic<std::uint64_t>;
  explicit Patience(Word& word) : word_(word) {}

  /// While somebody insists nobody else takes the latch.
  bool is_turn_of_others() const { return (word_.load(std::memory_order_relaxed) & kInsisters) != 0; }

  /// Of who did not get the latch: whether he is to insist, and so to stay until he has it. Else it is known
  /// that he waits. `ticks`: how long somebody has waited at least before anybody insists.
  bool begin_to_insist(std::uint64_t now, std::uint64_t ticks) {
    std::uint64_t seen = word_.load(std::memory_order_relaxed);
    const std::uint64_t since = seen >> kSinceShift;
    now = (now >> kTickShift) & kMaxSince;
    if (since == 0) {  // or somebody else is faster
      word_.compare_exchange_strong(seen, seen | (now == 0 ? 1 : now) << kSinceShift,
                                    std::memory_order_relaxed, std::memory_order_relaxed);
      return false;
    }
    if (((now - since) & kMaxSince) < ticks >> kTickShift) return false;
    word_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  /// He has it.
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

}  // namespace rubato::runtime
