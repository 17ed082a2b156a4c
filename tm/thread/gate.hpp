// Who may be inside a transaction. There is no global lock on the way of transactions that never serialize:
// each marks its own line and looks at one read-mostly word, `regime`. A serial transaction takes the serial
// lock, closes the gate and waits until all other lines are even (rules T3, T33). Invariant: while the gate
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
                                 kGeneration = 1u << 8;
  static constexpr std::uint32_t algorithm(std::uint32_t word) {
    return (word >> kAlgorithmShift) % kAlgorithms;
  }
};

template <class A>
class Gate {
 public:
  constexpr explicit Gate(Lines<A>& lines) : lines_(lines) {}

  std::uint32_t regime() const { return regime_.load(std::memory_order_acquire); }

  /// What keeps a thread out: a closed gate, and a held one unless it holds it itself.
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

  /// Waits while the regime is `seen`.
  void wait_for_opening(std::uint32_t seen) { wait_for_change<A>(regime_, seen, waited_); }

  void leave(Line<A>& line) {
    line.slot.store(line.slot.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    wake_waiters<A>(line.slot, line.waited);
  }

  /// The transaction's reads are valid at `snapshot`: nobody has to wait any longer for what it read before.
  void extend(Line<A>& line, std::uint64_t snapshot) {
    line.snapshot.store(snapshot, std::memory_order_release);
    line.slot.store(line.slot.load(std::memory_order_relaxed) + 2, std::memory_order_release);
    wake_waiters<A>(line.slot, line.waited);
  }

  void lock() { serial_.lock(); }
  bool try_lock() { return serial_.try_lock(); }
  void unlock() { serial_.unlock(); }

  /// With the serial lock: nobody else is inside on return. `own` is not waited for.
  void close(const Line<A>* own) {
    regime_.fetch_or(Regime::kClosed, std::memory_order_seq_cst);
    if (has_fault(Fault::irrevocable_not_alone)) return;
    for (Line<A>* line = lines_.first(); line != nullptr; line = line->next) {
      if (line == own) continue;
      while (true) {
        const std::uint32_t slot = line->slot.load(std::memory_order_seq_cst);
        if (slot % 2 == 0) break;
        wait_for_change<A>(line->slot, slot, line->waited);
      }
    }
  }

  /// A new generation: who has seen the gate closed and is about to sleep must not find the same word when
  /// the gate is closed for the next time.
  void open() {
    if (has_fault(Fault::gate_without_generation)) {
      regime_.fetch_and(~Regime::kClosed, std::memory_order_seq_cst);
    } else {
      regime_.fetch_add(Regime::kGeneration - Regime::kClosed, std::memory_order_seq_cst);
    }
    wake_waiters<A>(regime_, waited_);
  }

  /// With the gate closed: the next transactions run `algorithm`.
  void change_algorithm(std::uint32_t algorithm) {
    const std::uint32_t word = regime_.load(std::memory_order_relaxed);
    const std::uint32_t kept = word & (Regime::kClosed | Regime::kHeld);
    const std::uint32_t generation = (word / Regime::kGeneration + 1) * Regime::kGeneration;
    regime_.store(generation | (algorithm << Regime::kAlgorithmShift) | kept, std::memory_order_seq_cst);
  }

  /// The hourglass: new and restarting transactions wait until release(). False if it is held already.
  bool hold() { return (regime_.fetch_or(Regime::kHeld, std::memory_order_seq_cst) & Regime::kHeld) == 0; }
  void release() {
    regime_.fetch_add(Regime::kGeneration - Regime::kHeld, std::memory_order_seq_cst);
    wake_waiters<A>(regime_, waited_);
  }
  /// For the child of a fork: the gate as its only thread left it.
  void reset_after_fork(bool is_serial) {
    serial_.reset(is_serial);
    if (!is_serial) regime_.fetch_and(~(Regime::kClosed | Regime::kHeld), std::memory_order_relaxed);
    waited_.store(0, std::memory_order_relaxed);
  }

 private:
  Lines<A>& lines_;
  alignas(64) typename A::template atomic<std::uint32_t> regime_{0};
  typename A::template atomic<std::uint32_t> waited_{0};
  SerialLock<A> serial_;
};

/// After an update that committed at `time`, with the own slot even: waits until every transaction with an
/// older snapshot has ended or moved on, so that memory which this update made private is touched by nobody
/// else (rule T36).
template <class A>
void quiesce(Lines<A>& lines, const Line<A>* own, std::uint64_t time) {
  if (has_fault(Fault::quiescence_skipped)) return;
  for (Line<A>* line = lines.first(); line != nullptr; line = line->next) {
    if (line == own) continue;
    const std::uint32_t slot = line->slot.load(std::memory_order_seq_cst);
    const auto is_over = [line, time] { return line->snapshot.load(std::memory_order_acquire) >= time; };
    if (slot % 2 == 0 || is_over()) continue;
    // The slot may have ended and begun again between the two loads: then the wait is short, not wrong.
    wait_until<A>(line->slot, slot, line->waited, true, is_over,
                  [line] { line->limit.store(0, std::memory_order_seq_cst); });
  }
}

}  // namespace rubato::tm
