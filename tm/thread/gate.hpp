// The gate in front of transactions. There is no global lock on the way of transactions that never serialize:
// each marks its own line and looks at one read-mostly word, `regime`. A serial transaction takes the serial
// lock, closes the gate and waits until all other lines are even (T3, T33). Invariant: while the gate
// is closed and the closer's wait is over, no other slot is odd, or its owner steps back before it touches
// memory.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "tm/fault.hpp"
#include "tm/thread/line.hpp"
#include "tm/thread/serial_lock.hpp"
#include "tm/thread/waiting.hpp"

namespace rubato::tm {

/// The bits of `regime`.
struct Regime {
  static constexpr std::uint32_t kClosed = 1, kHeld = 2, kAlgorithmShift = 2, kAlgorithms = 8,
                                 kBiased = 1u << 5, kGeneration = 1u << 8;
  static constexpr bool is_biased(std::uint32_t word) { return (word & kBiased) != 0; }
  static constexpr std::uint32_t algorithm(std::uint32_t word) {
    return (word >> kAlgorithmShift) % kAlgorithms;
  }
  static constexpr std::uint32_t kSerial = 0, kHardware = 4;
  /// Its transactions do not pass the gate, but take the serial lock.
  static constexpr bool takes_lock(std::uint32_t word) { return algorithm(word) == kSerial; }
  /// Whether transactions run in hardware if they can, outside of the gate.
  static constexpr bool tries_hardware(std::uint32_t word) { return algorithm(word) == kHardware; }
};

template <class A>
class Gate {
 public:
  constexpr explicit Gate(Lines<A>& lines) : lines_(lines) {}

  std::uint32_t regime() const { return regime_.load(std::memory_order_acquire); }

  /// The bits that keep a thread out: a closed gate, and a held one unless the thread holds it itself.
  static constexpr std::uint32_t kept_out_by(std::uint32_t regime, bool is_holder) {
    return regime & (is_holder ? Regime::kClosed : Regime::kClosed | Regime::kHeld);
  }

  /// Enters, unless the gate keeps it out. @returns the regime; the caller is inside iff kept_out_by() is 0.
  std::uint32_t try_enter(Line<A>& line, bool is_holder = false) {
    line.snapshot.store(0, std::memory_order_relaxed);
    const std::uint32_t slot = line.slot.load(std::memory_order_relaxed);
    line.slot.exchange(slot + 1, std::memory_order_seq_cst);  // the one full fence of a transaction
    const std::uint32_t regime = regime_.load(std::memory_order_seq_cst);
    if (has_fault(Fault::gate_not_rechecked)) return regime & ~(Regime::kClosed | Regime::kHeld);
    if (__builtin_expect(kept_out_by(regime, is_holder) != 0, false)) leave(line);
    return regime;
  }

  /// The same for the only registered thread, without a fence. If the heavy fence of the thread that takes
  /// the bias away comes before this store, the bias is seen to be gone; otherwise that thread sees the
  /// store. The caller is inside iff the gate is still biased and kept_out_by() is 0.
  std::uint32_t try_enter_biased(Line<A>& line, bool is_holder) {
    line.snapshot.store(0, std::memory_order_relaxed);
    line.slot.store(line.slot.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    A::light_fence();
    const std::uint32_t regime = regime_.load(std::memory_order_acquire);
    if (__builtin_expect(!Regime::is_biased(regime) || kept_out_by(regime, is_holder) != 0, false))
      leave(line);
    return regime;
  }

  /// How a transaction begins: inside with others, alone (with the serial lock, or inside a gate that is
  /// biased to this thread), or kept out while the regime is `regime`.
  struct Entry {
    enum class How : std::uint8_t { inside, alone, kept_out } how;
    std::uint32_t regime;
  };
  Entry start(Line<A>& line, bool is_holder = false) {
    return start(line, is_holder, [](auto wait) { wait(); });
  }
  /// A wait for the lock is done by around(wait).
  template <class Around>
  Entry start(Line<A>& line, bool is_holder, Around around) {
    using How = typename Entry::How;
    while (true) {
      const std::uint32_t before = regime();
      if (Regime::is_biased(before)) {
        const std::uint32_t now = try_enter_biased(line, is_holder);
        if (!Regime::is_biased(now)) continue;
        if (kept_out_by(now, is_holder) != 0) return {How::kept_out, now};
        return {Regime::takes_lock(now) ? How::alone : How::inside, now};
      }
      if (Regime::takes_lock(before)) {
        if (!serial_.try_lock()) around([this] { serial_.lock(); });
        const std::uint32_t now = regime();
        if (Regime::takes_lock(now) || has_fault(Fault::regime_not_rechecked)) return {How::alone, now};
        serial_.unlock();  // it changes under the lock only, and has
        continue;
      }
      const std::uint32_t now = try_enter(line, is_holder);
      if (kept_out_by(now, is_holder) != 0) return {How::kept_out, now};
      if (!Regime::takes_lock(now) || has_fault(Fault::regime_not_rechecked)) return {How::inside, now};
      leave(line);
    }
  }

  /// The same for a transaction that can be alone at once, where the algorithm wants that. False: start() it.
  bool try_start_alone(Line<A>& line) {
    const std::uint32_t before = regime();
    if (!Regime::takes_lock(before)) return false;
    if (Regime::is_biased(before)) {
      const std::uint32_t now = try_enter_biased(line, false);
      if (!Regime::is_biased(now) || kept_out_by(now, false) != 0) return false;
      if (Regime::takes_lock(now)) return true;
      leave(line);
      return false;
    }
    if (!serial_.try_lock()) return false;
    if (Regime::takes_lock(regime()) || has_fault(Fault::regime_not_rechecked)) return true;
    serial_.unlock();
    return false;
  }
  /// After it, or another start that was alone.
  void end_alone(Line<A>& line) {
    if (is_inside(line)) {
      leave(line);
    } else {
      unlock();
    }
  }

  /// For a transaction in hardware, which is not inside: the gate keeps no new one out, and the algorithm
  /// that runs is still the one with hardware. Closing the gate writes the word that this reads.
  [[gnu::always_inline]] bool lets_hardware_in() const {
    const std::uint32_t now = regime();
    return Regime::tries_hardware(now) && kept_out_by(now, false) == 0;
  }
  /// Waits until it is open. @returns whether the algorithm is still that one. Starvation: threads that run
  /// alone one after another open the gate for moments only. After some of them this answers false, and the
  /// caller queues for the serial lock.
  bool waits_for_hardware() {
    for (int closers = 0; closers < kClosersToWaitFor; ++closers) {
      const std::uint32_t now = regime();
      if (__builtin_expect(kept_out_by(now, false) == 0, true)) return Regime::tries_hardware(now);
      wait_for_opening(now);
    }
    return false;
  }

  /// Waits while the regime is `seen`.
  void wait_for_opening(std::uint32_t seen) { wait_for_change<A>(regime_, seen, waited_); }

  bool is_inside(const Line<A>& line) const { return line.slot.load(std::memory_order_relaxed) % 2 != 0; }
  void leave(Line<A>& line) {
    line.slot.store(line.slot.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    wake_waiters<A>(line.slot, line.waited);
  }

  /// The transaction's reads are valid at `snapshot`: no update waits any longer for its earlier reads.
  void extend(Line<A>& line, std::uint64_t snapshot) {
    line.snapshot.store(snapshot, std::memory_order_release);
    line.slot.store(line.slot.load(std::memory_order_relaxed) + 2, std::memory_order_release);
    wake_waiters<A>(line.slot, line.waited);
  }

  void lock() { serial_.lock(); }
  bool try_lock() { return serial_.try_lock(); }
  void unlock() { serial_.unlock(); }

  /// With the serial lock: no other thread is inside on return. `own` is not waited for.
  void close(const Line<A>* own) {
    regime_.fetch_or(Regime::kClosed, std::memory_order_seq_cst);
    if (has_fault(Fault::irrevocable_not_alone)) return;
    wait_until_all_outside(own);
  }

  /// Begins a new generation: threads that wait for it go on, although the gate may be closed again by then.
  void open() {
    regime_.fetch_add(Regime::kGeneration - Regime::kClosed, std::memory_order_seq_cst);
    wake_waiters<A>(regime_, waited_);
  }

  /// For a thread that is outside and not in a serial transaction: takes the lock and closes the gate, so
  /// that no other thread is inside. Asks wait() before each further look. False: wait() gave up.
  template <class Wait>
  bool try_take(const Line<A>* own, Wait wait) {
    while (!try_lock()) {
      if (!wait()) return false;
    }
    regime_.fetch_or(Regime::kClosed, std::memory_order_seq_cst);
    if (Regime::is_biased(regime())) A::heavy_fence();  // its only thread begins without a fence
    for (Line<A>* line = lines_.first(); line != nullptr; line = line->next) {
      while (line != own && line->slot.load(std::memory_order_seq_cst) % 2 != 0) {
        if (wait()) continue;
        give_back();
        return false;
      }
    }
    return true;
  }
  void give_back() {
    open();
    unlock();
  }

  /// For a thread that is outside: from now on transactions run `algorithm`. False if a serial transaction is
  /// under way; it is not waited for, since it may be waiting for what the caller does next.
  bool try_switch(const Line<A>& own, std::uint32_t algorithm) {
    if (!try_lock()) return false;
    if (!has_fault(Fault::regime_changed_unclosed)) close(&own);
    change_algorithm(algorithm);
    if (!has_fault(Fault::regime_changed_unclosed)) open();
    unlock();
    return true;
  }

  /// With the gate closed: the next transactions run `algorithm`.
  void change_algorithm(std::uint32_t algorithm) {
    std::uint32_t word = regime_.load(std::memory_order_relaxed), next;
    do {
      const std::uint32_t kept = word & (Regime::kClosed | Regime::kHeld | Regime::kBiased);
      const std::uint32_t generation = (word / Regime::kGeneration + 1) * Regime::kGeneration;
      next = generation | (algorithm << Regime::kAlgorithmShift) | kept;
    } while (
        !regime_.compare_exchange_strong(word, next, std::memory_order_seq_cst, std::memory_order_relaxed));
  }

  /// The gate is biased to the only registered thread, which begins and ends without a fence (T34). If
  /// the algorithm takes the serial lock, that thread does without the lock. The caller holds the registry's
  /// lock.
  void bias() {
    if (A::has_heavy_fence()) regime_.fetch_or(Regime::kBiased, std::memory_order_seq_cst);
  }
  /// Before the second thread: the first one sees that the bias is gone, or its slot is seen. The caller
  /// holds the registry's lock.
  void unbias() {
    if (!Regime::is_biased(regime()) || has_fault(Fault::bias_not_revoked)) return;
    regime_.fetch_and(~Regime::kBiased, std::memory_order_seq_cst);
    A::heavy_fence();
  }
  /// For each further thread, behind unbias(): the first one may still be alone without the lock.
  void wait_for_biased(const Line<A>* own) {
    serial_.lock();
    if (Regime::takes_lock(regime()) && !has_fault(Fault::bias_not_waited_for)) wait_until_all_outside(own);
    serial_.unlock();
  }

  /// The hourglass: new and restarting transactions wait until release(). False if it is held already.
  bool hold() { return (regime_.fetch_or(Regime::kHeld, std::memory_order_seq_cst) & Regime::kHeld) == 0; }
  void release() {
    regime_.fetch_add(Regime::kGeneration - Regime::kHeld, std::memory_order_seq_cst);
    wake_waiters<A>(regime_, waited_);
  }
  /// For the child of a fork: the gate as its only thread left it, which is serial or holds the hourglass.
  void reset_after_fork(bool is_serial, bool is_holder) {
    serial_.reset(is_serial);
    const std::uint32_t others = (is_serial ? 0 : Regime::kClosed) | (is_holder ? 0 : Regime::kHeld);
    regime_.fetch_and(~others, std::memory_order_relaxed);
    waited_.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr int kClosersToWaitFor = 8;

  /// But `own`. No other begins: the caller keeps them out.
  void wait_until_all_outside(const Line<A>* own) {
    for (Line<A>* line = lines_.first(); line != nullptr; line = line->next) {
      if (line == own) continue;
      while (true) {
        const std::uint32_t slot = line->slot.load(std::memory_order_seq_cst);
        if (slot % 2 == 0) break;
        wait_for_change<A>(line->slot, slot, line->waited);
      }
    }
  }

  Lines<A>& lines_;
  alignas(64) typename A::template atomic<std::uint32_t> regime_{0};
  typename A::template atomic<std::uint32_t> waited_{0};
  SerialLock<A> serial_;
};

/// After an update that committed at `time`, with the own slot even: waits until every transaction with an
/// older snapshot has ended or moved on. Then no other transaction touches memory which this update made
/// private (T36). Each wait is done by around(wait).
template <class A, class Around>
void quiesce(Lines<A>& lines, const Line<A>* own, std::uint64_t time, Around around) {
  if (has_fault(Fault::quiescence_skipped)) return;
  for (Line<A>* line = lines.first(); line != nullptr; line = line->next) {
    if (line == own) continue;
    const std::uint32_t slot = line->slot.load(std::memory_order_seq_cst);
    const auto is_over = [line, time] { return line->snapshot.load(std::memory_order_acquire) >= time; };
    if (slot % 2 == 0 || is_over()) continue;
    // The slot may have ended and begun again between the two loads: then the wait is short, not wrong.
    around([&] {
      wait_until<A>(line->slot, slot, line->waited, true, is_over,
                    [line] { line->limit.store(0, std::memory_order_seq_cst); });
    });
  }
}
template <class A>
void quiesce(Lines<A>& lines, const Line<A>* own, std::uint64_t time) {
  quiesce(lines, own, time, [](auto wait) { wait(); });
}

}  // namespace rubato::tm
