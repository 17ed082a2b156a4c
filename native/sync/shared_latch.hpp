// A reader/writer spinning latch in the synchronization word of a resource. R4 and R10; MxTasking,
// Sec. 4.1.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "native/fault.hpp"
#include "native/sync/spin.hpp"

namespace rubato::inline v0::native {

/// Word: bit 0, a writer holds it; bit 1, a writer waits, and may do something else meanwhile; bit 2, readers
/// went in before such a writer; bit 3, a writer insists; above, the number of readers.
///
/// A waiting writer keeps new readers out, so that a stream of readers cannot starve it. It may never come
/// back (its run() failed), so a reader that was kept out for all of its tries goes in nevertheless and
/// clears the bit. A writer that still waits sets it again. If readers take longer than they wait, that could
/// go on for ever. Therefore a writer that stays (patience.hpp) insists after readers have gone in before
/// one: it lets none in before it has the latch. The writer that gets the latch clears all three bits.
template <class Atomics>
class SharedLatch {
 public:
  using Word = typename Atomics::template atomic<std::uint64_t>;
  explicit SharedLatch(Word& word) : word_(word) {}

  bool try_lock() { return take(word_.load(std::memory_order_relaxed), kWaits | kPassed); }
  /// False: others held it all the time; try again later.
  bool lock(unsigned tries = kSpinTries) {
    return spin<Atomics>(tries, [this] {
      if (try_lock()) return true;
      if ((word_.load(std::memory_order_relaxed) & kWaits) == 0) {
        word_.fetch_or(kWaits, std::memory_order_relaxed);
      }
      return false;
    });
  }
  /// Readers went in before a waiting writer, or a writer insists. In both cases only an insisting writer
  /// gets in. The writer that set the bit must not leave it behind, and the next one may have set it again.
  bool must_insist() const { return (word_.load(std::memory_order_relaxed) & (kPassed | kInsists)) != 0; }
  /// False: call it again until it is true. Holders leave, and so do other insisting writers.
  bool insist(unsigned tries = kSpinTries) {
    return spin<Atomics>(tries, [this] {
      std::uint64_t seen = word_.load(std::memory_order_relaxed);
      if ((seen & kInsists) == 0) seen = word_.fetch_or(kInsists, std::memory_order_relaxed) | kInsists;
      return take(seen, kWaits | kPassed | kInsists);
    });
  }
  void unlock() { word_.fetch_sub(kHeld, std::memory_order_release); }

  bool try_lock_shared() {
    if (has_fault(Fault::readers_pass_writer)) return enter();
    return (word_.load(std::memory_order_relaxed) & (kHeld | kWaits | kInsists)) == 0 && enter();
  }
  /// False: a writer held it all the time, or insists; try again later.
  bool lock_shared(unsigned tries = kSpinTries) {
    if (spin<Atomics>(tries, [this] { return try_lock_shared(); })) return true;
    if ((word_.load(std::memory_order_relaxed) & (kHeld | kInsists)) != 0 || !enter()) return false;
    if ((word_.fetch_and(~kWaits, std::memory_order_relaxed) & kWaits) != 0)
      word_.fetch_or(kPassed, std::memory_order_relaxed);
    return true;
  }
  void unlock_shared() { word_.fetch_sub(kReader, std::memory_order_release); }

 private:
  static constexpr std::uint64_t kHeld = 1;
  static constexpr std::uint64_t kWaits = 2;
  static constexpr std::uint64_t kPassed = 4;
  static constexpr std::uint64_t kInsists = 8;
  static constexpr std::uint64_t kReader = 16;

  /// Takes the latch if the word holds nothing but `hints`.
  bool take(std::uint64_t seen, std::uint64_t hints) {
    return (seen & ~hints) == 0 &&
           word_.compare_exchange_strong(seen, kHeld, std::memory_order_acquire, std::memory_order_relaxed);
  }

  /// A single addition, which cannot fail because of other readers; undone if a writer was faster.
  bool enter() {
    if ((word_.fetch_add(kReader, std::memory_order_acquire) & kHeld) == 0) return true;
    if (has_fault(Fault::readers_pass_writer)) return true;
    word_.fetch_sub(kReader, std::memory_order_relaxed);
    return false;
  }

  Word& word_;
};

}  // namespace rubato::inline v0::native
