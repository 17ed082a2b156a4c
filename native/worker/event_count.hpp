// Sleep and wake-up of workers, and the one word that a busy worker looks at between two tasks. R10:
// announce, recheck every source, sleep; no wake-up is lost, and a sleeper costs the others at most one load.
//
//   a worker that found nothing         a thread with work for others
//   ticket = announce()                 makes the work visible (a seq_cst read-modify-write or exchange)
//   looks at every source again         notify(): a worker is idle? then a new epoch, and wake
//   found: cancel()  else: sleep(ticket), cancel()
//
// There are two cases in the order of seq_cst operations. Either the look comes after the work and finds it,
// or announce() comes before notify()'s look. That look then sees an idle worker and changes the epoch, so
// that sleep() returns.
//
// Not all idle workers sleep: some still look, some lag. Sleepers are counted, so that the system call is
// made only for them (A33). A sleeper counts itself before the kernel compares the epoch, and notify()
// looks at the count after it has changed the epoch: one of them sees the other.
//
// While all sleep, threads from outside wake the one that was last first. The kernel by itself wakes sleepers
// in the order in which they came: each in turn, every one with cold caches on a CPU that has slept long.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "native/fault.hpp"

namespace rubato::inline v0::native {

/// The rules of a correct event count. Tests derive from it to build mutants, which they must catch.
struct EventCountRules {
  static constexpr bool kTicketAfterAnnounce = true;
  static constexpr bool kLooksAfterTicket = true;
  static constexpr bool kNotifyChangesEpoch = true;
  static constexpr bool kWakesAnyIfTheLastIsAwake = true;
  static constexpr bool kCountsSleepers = true;  ///< false: the system call is made for every idle worker
  static constexpr bool kCountsBeforeSleep = true;
  static constexpr bool kLooksForSleepersAfterEpoch = true;
};

template <class Atomics, class Rules = EventCountRules>
class EventCount {
 public:
  // The word: how many workers are idle; how many stand by for a task that runs alone; requests to all.
  static constexpr std::uint64_t kIdle = 1;
  static constexpr std::uint64_t kIdleMask = 0xffff;
  static constexpr std::uint64_t kStanding = std::uint64_t{1} << 16;
  static constexpr std::uint64_t kStandingMask = std::uint64_t{0xffff} << 16;
  static constexpr std::uint64_t kStop = std::uint64_t{1} << 32;    ///< start no further task
  static constexpr std::uint64_t kAlone = std::uint64_t{1} << 33;   ///< a task wants to run alone
  static constexpr std::uint64_t kPaused = std::uint64_t{1} << 35;  ///< no run: touch nothing
  static constexpr std::uint64_t kEnd = std::uint64_t{1} << 34;     ///< threads end
  static constexpr std::uint64_t kRequests = kStop | kAlone | kPaused | kEnd;

  static unsigned idle(std::uint64_t word) { return static_cast<unsigned>(word & kIdleMask); }
  static unsigned standing(std::uint64_t word) { return static_cast<unsigned>((word & kStandingMask) >> 16); }

  /// Between two tasks: 0 means no request. Acquire: a worker that sees that no task runs alone any more sees
  /// what that task has done.
  std::uint64_t look() const { return word_.load(std::memory_order_acquire); }
  std::uint64_t look_ordered() const { return word_.load(std::memory_order_seq_cst); }

  struct Ticket {
    std::uint32_t epoch;
    std::uint64_t word;  ///< as it was when the epoch had been read: no later request goes unnoticed
  };
  Ticket announce() {
    const std::uint64_t word = word_.fetch_add(kIdle, std::memory_order_seq_cst) + kIdle;
    if constexpr (!Rules::kTicketAfterAnnounce) return {0, word};
    const std::uint32_t epoch = epoch_.load(std::memory_order_seq_cst);
    if constexpr (!Rules::kLooksAfterTicket) return {epoch, word};
    return {epoch, word_.load(std::memory_order_seq_cst)};
  }
  std::uint64_t cancel() { return word_.fetch_sub(kIdle, std::memory_order_seq_cst) - kIdle; }
  void sleep(Ticket ticket, std::uint32_t microseconds = 0) {
    if constexpr (!Rules::kTicketAfterAnnounce) ticket.epoch = epoch_.load(std::memory_order_seq_cst);
    const Sleeper sleeper(sleepers_);
    if (microseconds != 0) return Atomics::wait(epoch_, ticket.epoch, microseconds);
    Atomics::wait_at(~kLast, epoch_, ticket.epoch);
  }
  /// Sleeps, for a worker that saw all others idle.
  void sleep_last(Ticket ticket) {
    if constexpr (!Rules::kTicketAfterAnnounce) ticket.epoch = epoch_.load(std::memory_order_seq_cst);
    const Sleeper sleeper(sleepers_);
    Atomics::wait_at(kLast, epoch_, ticket.epoch);
  }
  bool has_sleepers() const { return sleepers_.load(std::memory_order_relaxed) != 0; }

  /// Wakes up to `workers` of those that sleep, if any. @returns whether it had to.
  bool notify(int workers = 1) {
    if (!begin_to_wake()) return false;
    Atomics::wake(epoch_, workers);
    return true;
  }
  /// Wakes one, the last to sleep if it can.
  void notify_last() {
    if (!begin_to_wake() || Atomics::wake_at(kLast, epoch_)) return;
    if constexpr (Rules::kWakesAnyIfTheLastIsAwake) Atomics::wake(epoch_, 1);
  }
  void notify_all() { notify(std::numeric_limits<int>::max()); }

  /// A request to all, or its end. @returns the word before.
  std::uint64_t raise(std::uint64_t request) { return word_.fetch_or(request, std::memory_order_seq_cst); }
  std::uint64_t lower(std::uint64_t request) { return word_.fetch_and(~request, std::memory_order_seq_cst); }
  /// Instead of announce(), while another worker's task runs alone.
  Ticket stand_by() {
    const std::uint64_t word = word_.fetch_add(kStanding, std::memory_order_seq_cst) + kStanding;
    return {epoch_.load(std::memory_order_seq_cst), word};
  }
  std::uint64_t stand_down() { return word_.fetch_sub(kStanding, std::memory_order_seq_cst) - kStanding; }
  std::uint32_t epoch() const { return epoch_.load(std::memory_order_seq_cst); }

 private:
  static constexpr std::uint32_t kLast = 1;  // a place to sleep at

  using Number = typename Atomics::template atomic<std::uint32_t>;

  /// False: no worker sleeps, or is about to without having seen the new epoch.
  bool begin_to_wake() {
    if ((word_.load(std::memory_order_seq_cst) & (kIdleMask | kStandingMask)) == 0) return false;
    bool has_sleepers = true;
    if constexpr (Rules::kCountsSleepers && !Rules::kLooksForSleepersAfterEpoch)
      has_sleepers = sleepers_.load(std::memory_order_seq_cst) != 0;
    if (Rules::kNotifyChangesEpoch && !has_fault(Fault::wakes_without_epoch))
      epoch_.fetch_add(1, std::memory_order_seq_cst);
    if constexpr (Rules::kCountsSleepers && Rules::kLooksForSleepersAfterEpoch)
      has_sleepers = sleepers_.load(std::memory_order_seq_cst) != 0;
    return has_sleepers;
  }

  class Sleeper {
   public:
    explicit Sleeper(Number& sleepers) : sleepers_(sleepers) {
      if constexpr (kCounts) sleepers_.fetch_add(1, std::memory_order_seq_cst);
    }
    ~Sleeper() {
      if constexpr (kCounts) sleepers_.fetch_sub(1, std::memory_order_relaxed);
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

   private:
    static constexpr bool kCounts = Rules::kCountsSleepers && Rules::kCountsBeforeSleep;
    [[maybe_unused]] Number& sleepers_;
  };

  alignas(64) typename Atomics::template atomic<std::uint64_t> word_{0};
  Number epoch_{0};
  Number sleepers_{0};
};

}  // namespace rubato::inline v0::native
