// How another thread takes tasks that are private to a worker while that runs a task: nothing runnable stays
// behind a task that goes on. R2 and R10.
//
// Private lists have no latch, and most tasks are too short for one. A worker in the function of a task (it
// says so by `running`) touches none of them, but that it appends to lists what the task creates. So another
// thread may have the rest as long as the function has not returned:
//
//   the worker                                 the other thread
//   running = task, calls its function         asks: kSeized is set
//   running = null                             a barrier on every CPU (membarrier)
//   is_wanted()? waits until it is let go      is it in a task now? else lets go
//   goes on with its lists                     takes tasks, lets go
//
// Either the other thread sees `running` null, or the barrier comes before the worker has written that, and
// then the worker's look comes after the request. The worker pays for a look at a word at which it looks
// anyway, and for no fence. Where it uses its lists within a task it says that it is `Inside`.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace rubato::inline v0::native {

/// The rules of a correct protocol. Tests derive from it to build mutants, which they must catch.
struct SeizureRules {
  static constexpr bool kWorkerLooks = true;
  static constexpr bool kLooksForTask = true;
  static constexpr bool kLooksForInside = true;
};

/// `Atomics::barrier()`: on every CPU that runs a thread of this process, as a seq_cst fence.
template <class Atomics, class Rules = SeizureRules>
class Seizure {
  using Word = typename Atomics::template atomic<std::uint32_t>;

 public:
  // ---- The worker's ----
  /// Also if its tasks are timed: one look for both.
  bool is_wanted() const { return word_.load(std::memory_order_acquire) != 0; }
  /// Right after `running = null`, if is_wanted().
  void wait_until_let_go() {
    if constexpr (!Rules::kWorkerLooks) return;
    while ((word_.load(std::memory_order_acquire) & kSeized) != 0) Atomics::yield();
  }
  void set_timed(bool is_timed) {
    if (is_timed) {
      word_.fetch_or(kTimed, std::memory_order_relaxed);
    } else {
      word_.fetch_and(~kTimed, std::memory_order_relaxed);
    }
  }
  /// While a task runs: its worker uses the lists.
  class Inside {
   public:
    explicit Inside(Seizure& seizure) : seizure_(seizure) {
      seizure_.is_inside_.store(1, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (seizure_.is_wanted()) seizure_.wait_until_let_go();
    }
    ~Inside() { seizure_.is_inside_.store(0, std::memory_order_release); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Seizure& seizure_;
  };

  // ---- Another thread's, one at a time ----
  /// `is_in_task()` reads `running` by acquire. False: the worker may use its lists.
  template <class IsInTask>
  bool seize(IsInTask is_in_task) {
    word_.fetch_or(kSeized, std::memory_order_seq_cst);
    Atomics::barrier();
    const bool is_outside = !Rules::kLooksForInside || is_inside_.load(std::memory_order_acquire) == 0;
    if (is_outside && (!Rules::kLooksForTask || is_in_task())) return true;
    let_go();
    return false;
  }
  void let_go() { word_.fetch_and(~kSeized, std::memory_order_release); }

 private:
  static constexpr std::uint32_t kTimed = 1, kSeized = 2;
  Word word_{0};
  Word is_inside_{0};
};

/// Atomics of std, for workers.
struct SeizureAtomics {
  template <class T>
  using atomic = std::atomic<T>;
  static void yield() { std::this_thread::yield(); }
  static void barrier();
  /// Once, before the first barrier(). False: the system has none (Linux has had it since 4.14).
  static bool prepare_barrier();
};

}  // namespace rubato::inline v0::native
