// A transaction in hardware: uninstrumented code that first reads what others write to keep it out
// (hybrid.hpp), and how often it is tried before software takes over (T45). Invariant: memory that a
// hardware transaction commits was read and written while the gate was open and no writer was inside.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tm/fault.hpp"
#include "tm/thread/rtm.hpp"

namespace rubato::tm {

/// Why hardware gave up an attempt.
enum class HardwareAbort : std::uint8_t { conflict, capacity, locked, needs_software, other };
constexpr std::size_t kHardwareAborts = 5;

constexpr HardwareAbort reason_of(unsigned status) {
  if ((status & RtmStatus::kExplicit) != 0) {
    const unsigned code = RtmStatus::code(status);
    if (code == AbortCode::kLocked) return HardwareAbort::locked;
    if (code == AbortCode::kNeedsSoftware) return HardwareAbort::needs_software;
    return HardwareAbort::other;  // the program's own
  }
  if ((status & RtmStatus::kCapacity) != 0) return HardwareAbort::capacity;
  return (status & RtmStatus::kConflict) != 0 ? HardwareAbort::conflict : HardwareAbort::other;
}

/// How often one transaction tries.
class HardwareTries {
 public:
  /// After an abort: once more?
  bool again(HardwareAbort reason) {
    switch (reason) {
      case HardwareAbort::conflict:
        return ++conflicts_ <= kConflicts;
      case HardwareAbort::locked:
        return ++locked_ <= kLocked;
      case HardwareAbort::other:  // most are page faults, which hardware can only repeat
      case HardwareAbort::capacity:
      case HardwareAbort::needs_software:
        return false;
    }
    return false;
  }
  /// Conflicts so far, which say how long to wait before the next try.
  unsigned conflicts() const { return conflicts_; }

 private:
  static constexpr unsigned kConflicts = 4, kLocked = 16;
  unsigned conflicts_ = 0, locked_ = 0;
};

/// The transactions of a thread that hardware cannot complete, by the place where they begin. After k
/// failures in a row the next 2^k - 1 of that place run in software at once. A first failure that may be a
/// page fault is forgiven.
class HardwareHistory {
 public:
  /// No place has failed since it last committed: none needs to be looked up.
  bool trusts_all() const { return distrusted_ == 0; }
  /// The place that gave_up() and committed() are about.
  void look_up(std::uintptr_t site) { current_ = &places_[(site * kMultiplier) >> (64 - kBits)]; }
  bool may_try(std::uintptr_t site) {
    look_up(site);
    if (__builtin_expect(current_->skips == 0, true)) return true;
    --current_->skips;
    return false;
  }
  void gave_up(HardwareAbort reason) {
    distrusted_ += current_->penalty == 0;
    if (reason == HardwareAbort::other && current_->penalty == 0) {  // software has touched the page
      current_->penalty = 1;
      return;
    }
    current_->penalty =
        current_->penalty < kMost ? static_cast<std::uint8_t>(2 * current_->penalty + 1) : kMost;
    current_->skips = current_->penalty;
  }
  void committed() {
    if (__builtin_expect(current_->penalty == 0, true)) return;
    current_->penalty /= 2;
    distrusted_ -= current_->penalty == 0;
  }

 private:
  struct Place {
    std::uint8_t skips = 0, penalty = 0;  ///< skips only where there is a penalty
  };
  static constexpr unsigned kBits = 6;
  static constexpr std::uint8_t kMost = 127;
  static constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15u;
  std::uint32_t distrusted_ = 0;  ///< places with a penalty
  Place places_[1u << kBits];
  Place* current_ = places_;
};

/// An attempt in hardware. @returns kStarted inside of it, else why it was aborted. Class Others: lets_in()
/// and waits() as Hybrid has them.
template <class Hardware, class Others>
[[gnu::always_inline]] inline unsigned attempt_in_hardware(Others& others) {
  const unsigned status = Hardware::begin();
  if (__builtin_expect(status != RtmStatus::kStarted, false)) return status;
  if (__builtin_expect(others.lets_in(), true) || has_fault(Fault::elision_not_subscribed)) return status;
  return Hardware::template abort<AbortCode::kLocked>();
}

/// After an attempt that ended with `status`, of a place that history has looked up. True: in a hardware
/// transaction. False: software has to run it. `aborts` counts by reason; `pause(n)` waits after the n-th
/// conflict.
template <class Hardware, class Others, class Pause>
bool retry_in_hardware(Others& others, HardwareHistory& history,
                       std::atomic<std::uint64_t> (&aborts)[kHardwareAborts], Pause pause, unsigned status) {
  HardwareTries tries;
  while (status != RtmStatus::kStarted) {
    const HardwareAbort reason = reason_of(status);
    auto& count = aborts[static_cast<std::size_t>(reason)];
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (!tries.again(reason)) {
      // Conflicts and locks say something about the moment, not about the transaction.
      if (reason != HardwareAbort::locked && reason != HardwareAbort::conflict) history.gave_up(reason);
      return false;
    }
    if (reason == HardwareAbort::conflict) pause(tries.conflicts());
    if (!others.waits()) return false;
    status = attempt_in_hardware<Hardware>(others);
  }
  return true;
}

/// The same from the beginning, of the place `site`.
template <class Hardware, class Others, class Pause>
bool begin_in_hardware(Others& others, HardwareHistory& history, std::uintptr_t site,
                       std::atomic<std::uint64_t> (&aborts)[kHardwareAborts], Pause pause) {
  if (!history.may_try(site) || !others.waits()) return false;
  return retry_in_hardware<Hardware>(others, history, aborts, pause, attempt_in_hardware<Hardware>(others));
}

}  // namespace rubato::tm
