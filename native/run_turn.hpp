// The turn to run tasks: runs come one after the other, from any threads. Threads that must wait for
// another's run, or whose algorithm has joined it, sleep here. R10 and R11.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace rubato::inline v0::native {

class RunTurn {
  class Counted {
   public:
    explicit Counted(std::atomic<unsigned>& count) : count_(count) {
      count_.fetch_add(1, std::memory_order_seq_cst);
    }
    ~Counted() { count_.fetch_sub(1, std::memory_order_relaxed); }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

   private:
    std::atomic<unsigned>& count_;
  };

 public:
  /// The holder of the turn: run() of the program, an algorithm, a list of living actors or configure(), or
  /// the end of the process. A list runs nothing of the program and is over soon.
  enum class Taker : std::uint8_t { none, run, algorithm, list, end };

  /// False: another thread has it.
  bool try_take(Taker taker) {
    Taker free = Taker::none;
    return taker_.compare_exchange_strong(free, taker, std::memory_order_seq_cst);
  }
  /// The same when the turn is free, ahead of algorithms and lists that begin meanwhile: a thread that calls
  /// one after the other would never leave the turn to a thread that must wake up first. `refuse(taker)` is
  /// called while another thread has the turn, and may throw.
  template <class Refuse>
  void take(Taker taker, Refuse refuse) {
    if (try_take(taker)) return;
    const Counted claim(claims_);
    do {
      refuse(this->taker());
      wait([] { return false; });
    } while (!try_take(taker));
  }
  bool try_take_for_algorithm() {
    return claims_.load(std::memory_order_seq_cst) == 0 && try_take(Taker::algorithm);
  }
  /// Not before algorithms that wait either.
  bool try_take_for_list() {
    return claims_.load(std::memory_order_seq_cst) == 0 && joined_.load(std::memory_order_seq_cst) == 0 &&
           try_take(Taker::list);
  }
  /// Scope of an algorithm that is part of another thread's run, or will have the turn when that has ended.
  class Joined {
   public:
    explicit Joined(RunTurn& turn) : counted_(turn.joined_) {}

   private:
    const Counted counted_;
  };
  bool has_joined() const { return joined_.load(std::memory_order_seq_cst) != 0; }
  /// Scope of a call of the runtime that has a hold, and closes it soon when no run goes on.
  class Passing {
   public:
    explicit Passing(RunTurn& turn) : counted_(turn.passing_) {}

   private:
    const Counted counted_;
  };
  /// How many: not less than their holds. To be read before these.
  unsigned passing() const { return passing_.load(std::memory_order_seq_cst); }
  /// Ordered against wait(): either that sees the turn free, or this sees the waiting thread.
  void give_back() {
    taker_.store(Taker::none, std::memory_order_seq_cst);
    if (waiting_.load(std::memory_order_seq_cst) == 0) return;
    change([] {});
  }
  Taker taker() const { return taker_.load(std::memory_order_seq_cst); }

  /// Scope in which a thread creates tasks for a run of another thread: not while a list or configure() has
  /// the turn, which waits for such threads. See wait_for_joining().
  class Joining {
   public:
    explicit Joining(RunTurn& turn) : turn_(turn) {
      const auto is_free = [&turn] { return turn.taker() != Taker::list; };
      for (;; turn.wait(is_free)) {
        turn.joining_.fetch_add(1, std::memory_order_seq_cst);
        if (is_free()) return;
        turn.joining_.fetch_sub(1, std::memory_order_seq_cst);
      }
    }
    ~Joining() { turn_.joining_.fetch_sub(1, std::memory_order_seq_cst); }
    Joining(const Joining&) = delete;
    Joining& operator=(const Joining&) = delete;

   private:
    RunTurn& turn_;
  };
  /// For the thread that has the turn as `list`: no other thread is in a Joining scope when it returns.
  void wait_for_joining() const {
    while (joining_.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
  }

  /// Sleeps until the turn is free or `is_done()`, which is called with the lock.
  template <class IsDone>
  void wait(IsDone is_done) {
    std::unique_lock lock(mutex_);
    const Counted waiting(waiting_);
    changed_.wait(lock, [&] { return is_done() || taker() == Taker::none; });
  }
  /// The same, at most for so long.
  void wait_for(std::chrono::microseconds most) {
    std::unique_lock lock(mutex_);
    const Counted waiting(waiting_);
    changed_.wait_for(lock, most, [&] { return taker() == Taker::none; });
  }
  /// `apply()` changes what makes a waiting thread done.
  template <class Apply>
  void change(Apply apply) {
    const std::lock_guard lock(mutex_);
    apply();
    changed_.notify_all();
  }

 private:
  std::atomic<Taker> taker_{Taker::none};
  std::atomic<unsigned> waiting_{0}, claims_{0}, joined_{0}, joining_{0}, passing_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace rubato::inline v0::native
