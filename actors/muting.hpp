// Muting (A18): senders wait for a full mailbox, and its receiver lets them go. This file has the
// protocol, without actors. The mailbox itself is the engine's; here are its count, and the senders that are
// muted. A receiver makes room, fails or ends.
//
// No cycle of actors waits: an actor that has more than half of its own bound does not begin to. Proof by
// contradiction: in a cycle, take the actor that began to wait last. Its mailbox had room then, so the actor
// that waits for it would already have been released.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace rubato::inline v0::engine {

/// The rules of a correct protocol. Tests derive from it to build mutants, which they must catch.
struct MutingRules {
  static constexpr bool kLooksAfterListing = true;
  static constexpr bool kLooksForMutedAfterRoom = true;
  static constexpr bool kLoadedGoesOn = true;
  static constexpr bool kFailedHasRoom = true;
};

/// @tparam Platform  atomic<T>, and mutex
template <class Platform, class Rules = MutingRules>
class Muting {
 public:
  template <class T>
  using Atomic = typename Platform::template atomic<T>;

  void begin(std::uint32_t most) {
    capacity.store(most, std::memory_order_relaxed);
    clear([](std::uint64_t) {});
  }
  /// When nothing runs. Messages that threads outside have counted may still come.
  void clear(auto resume) {
    count.store(0, std::memory_order_seq_cst);
    has_failed_.store(false, std::memory_order_relaxed);
    release(resume);
  }

  bool is_full() const {
    return count.load(std::memory_order_seq_cst) >= capacity.load(std::memory_order_relaxed);
  }
  bool has_room() const {
    return (Rules::kFailedHasRoom && has_failed_.load(std::memory_order_seq_cst)) ||
           count.load(std::memory_order_seq_cst) <= capacity.load(std::memory_order_relaxed) / 2;
  }

  /// A message comes. @returns how many were there before.
  std::uint32_t come() { return count.fetch_add(1, std::memory_order_seq_cst); }
  /// The same, unless the mailbox is full.
  bool come_if_room() {
    const std::uint32_t most = capacity.load(std::memory_order_relaxed);
    std::uint32_t before = count.load(std::memory_order_seq_cst);
    while (before < most)
      if (count.compare_exchange_strong(before, before + 1, std::memory_order_seq_cst,
                                        std::memory_order_seq_cst))
        return true;
    return false;
  }
  /// Uncounts a message that does not arrive. Not below 0: a failed run has cleared the count since.
  std::uint32_t leave() {
    std::uint32_t before = count.load(std::memory_order_seq_cst);
    while (before != 0 && !count.compare_exchange_strong(before, before - 1, std::memory_order_seq_cst,
                                                         std::memory_order_seq_cst)) {
    }
    return before;
  }
  /// A message is about to be handled. @returns how many were there before.
  std::uint32_t go(auto resume) {
    if (!Rules::kLooksForMutedAfterRoom && !has_muted_.load(std::memory_order_seq_cst)) return leave();
    const std::uint32_t before = leave();
    if (has_muted_.load(std::memory_order_seq_cst) && has_room()) release(resume);
    return before;
  }

  /// The muted actor `self`, with the bound `own` or null, between two of its messages. True: it waits, and
  /// must not be touched any more: resume() has it go on, perhaps already.
  bool wait(std::uint64_t self, const Muting* own, auto is_alive) {
    const std::lock_guard lock(mutex_);
    if (!Rules::kLooksAfterListing && has_room()) return false;
    muted_.push_back(self);
    has_muted_.store(true, std::memory_order_seq_cst);
    if (!Rules::kLooksAfterListing) return true;
    // Either this look sees the room, or the receiver that makes room sees the sender among the muted ones.
    // The look at its own mailbox comes last: while it is between two messages that can only fill.
    const bool goes_on = Rules::kLoadedGoesOn && own != nullptr;
    if (is_alive() && !has_room() && (!goes_on || own->has_room())) return true;
    muted_.pop_back();
    return false;
  }

  /// The thread outside `self`, which found the mailbox full. True: it waits until resume() has it go on,
  /// perhaps already.
  bool wait_outside(std::uint64_t self, auto is_alive) {
    const std::lock_guard lock(mutex_);
    muted_.push_back(self);
    has_muted_.store(true, std::memory_order_seq_cst);
    if (is_alive() && is_full()) return true;
    muted_.pop_back();
    return false;
  }
  /// The sender waits no longer. False: resume() has been called for it, or is about to be.
  bool stop_waiting(std::uint64_t self) {
    const std::lock_guard lock(mutex_);
    return std::erase(muted_, self) != 0;
  }

  /// Its actor has failed, and waits for a decision, or goes on: no sender waits for it meanwhile.
  void set_failed(bool has_failed, auto resume) {
    has_failed_.store(has_failed, std::memory_order_seq_cst);
    if (has_failed) release(resume);
  }
  /// All that wait go on: after there is room, or no receiver any more.
  void release(auto resume) {
    std::vector<std::uint64_t> muted;
    {
      const std::lock_guard lock(mutex_);
      muted = std::exchange(muted_, {});
      has_muted_.store(false, std::memory_order_seq_cst);
    }
    for (const std::uint64_t actor : muted) resume(actor);
  }

  std::vector<std::uint64_t> listed() {
    const std::lock_guard lock(mutex_);
    return muted_;
  }
  /// For tests.
  const std::vector<std::uint64_t>& muted() const { return muted_; }

  Atomic<std::uint32_t> count{0};  ///< messages of programs in the mailbox
  Atomic<std::uint32_t> capacity{0};

 private:
  typename Platform::mutex mutex_;
  std::vector<std::uint64_t> muted_;  // actors that wait until there is room
  Atomic<bool> has_muted_{false};
  // Its parent is to decide about its failure: who waits for it meanwhile might be that parent.
  Atomic<bool> has_failed_{false};
};

struct Threads {
  template <class T>
  using atomic = std::atomic<T>;
  using mutex = std::mutex;
};

}  // namespace rubato::inline v0::engine
