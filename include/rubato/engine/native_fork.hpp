// Forks of the native engine: a running task calls two functions, and an idle worker may take the second one.
// The stack of forks of a worker and the inlined part of fork_join() (rubato/fork_join.hpp). A stolen fork,
// and a task that waits for one, are in native/worker/forking.cpp.
//
// Each worker has a stack of slots, one for each fork that its task has begun and not joined. To take a fork,
// its worker exchanges its slot for null, and another one compares and exchanges it. A slot is the only word
// on which they meet (Wool: K.-F. Faxen, "Efficient Work Stealing for Fine Grained Parallelism", ICPP 2010,
// Sec. III).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>

#include "rubato/engine/native_task.hpp"

namespace rubato::inline v0::engine {

struct ThreadState;

/// The rules of a correct stack of forks. Tests derive from it to build mutants, which they must catch.
struct ForkRules {
  /// Deeper forks run in place: the older ones are enough for idle workers.
  static constexpr std::uint32_t kSlots = 256;
  static constexpr bool kOwnerExchanges = true;
  static constexpr bool kThiefCompares = true;
  static constexpr bool kWaitsForEnd = true;
  static constexpr bool kLooksBeforeSleep = true;
};

/// The forks of a worker that have not been joined, the oldest first.
template <class Atomics, class Item, class Rules = ForkRules>
class ForkStack {
 public:
  static constexpr std::uint32_t kSlots = Rules::kSlots;

  // ---- The worker's ----
  bool is_full() const { return mine_ == kSlots; }
  std::uint32_t size() const { return mine_; }
  /// Precondition: not full. Release: a thief sees the fork as it is now.
  void push(Item* fork) {
    slots_[mine_].store(fork, std::memory_order_release);
    size_.store(++mine_, std::memory_order_relaxed);
  }
  /// The newest. False: another worker has taken it.
  bool pop() {
    size_.store(--mine_, std::memory_order_relaxed);
    auto& slot = slots_[mine_];
    if constexpr (!Rules::kOwnerExchanges) {
      Item* const fork = slot.load(std::memory_order_acquire);
      slot.store(nullptr, std::memory_order_release);
      return fork != nullptr;
    }
    return slot.exchange(nullptr, std::memory_order_acq_rel) != nullptr;
  }

  // ---- Any other thread's ----
  /// The oldest from the slot `first` on, or null. The caller must run it. `size_` is no more than a limit: a
  /// fork that it misses is its worker's.
  Item* steal(std::uint32_t first) {
    for (std::uint32_t i = first; i < size_.load(std::memory_order_relaxed); ++i) {
      Item* fork = slots_[i].load(std::memory_order_relaxed);
      if (fork == nullptr) continue;
      if constexpr (!Rules::kThiefCompares) {
        slots_[i].store(nullptr, std::memory_order_release);
        return fork;
      }
      if (slots_[i].compare_exchange_strong(fork, nullptr, std::memory_order_acq_rel,
                                            std::memory_order_relaxed))
        return fork;
    }
    return nullptr;
  }
  /// Whether there is one to steal.
  bool has_any() const {
    for (std::uint32_t i = 0; i < size_.load(std::memory_order_relaxed); ++i)
      if (slots_[i].load(std::memory_order_relaxed) != nullptr) return true;
    return false;
  }

 private:
  using Slot = typename Atomics::template atomic<Item*>;
  std::uint32_t mine_ = 0;  // as size_
  typename Atomics::template atomic<std::uint32_t> size_{0};
  std::array<Slot, kSlots> slots_{};
};

/// The end of a stolen fork: its thief says how it went, and wakes the worker that joins it. That may sleep,
/// at a word of its own: when the end is said the fork may be gone.
///
///   the joining worker                        the thief
///   epoch = its word                          state becomes done (exchange)
///   state: running becomes sleeping           was it sleeping? then a new epoch, and wake
///   was it done? goes on
///   sleeps while its word is `epoch`
template <class Atomics, class Rules = ForkRules>
class ForkEnd {
 public:
  enum State : std::uint32_t {
    running,
    sleeping,  ///< running, and the joining worker sleeps
    done,
    failed,    ///< done, with an exception
    returned,  ///< not run: the joining worker runs it
  };
  using Word = typename Atomics::template atomic<std::uint32_t>;

  State state() const { return static_cast<State>(state_.load(std::memory_order_acquire)); }
  bool is_over() const { return !Rules::kWaitsForEnd || state() > sleeping; }
  /// By the thief; `word`: where the joining worker sleeps. The fork may be gone afterwards.
  void end(State how, Word& word) {
    if (state_.exchange(how, std::memory_order_acq_rel) != sleeping) return;
    word.fetch_add(1, std::memory_order_release);
    Atomics::wake(word, 1);
  }
  /// By the joining worker, at its word, `microseconds` at most.
  void sleep(Word& word, std::uint32_t microseconds) {
    const std::uint32_t epoch = word.load(std::memory_order_acquire);
    std::uint32_t seen = running;
    if (!state_.compare_exchange_strong(seen, sleeping, std::memory_order_acq_rel,
                                        std::memory_order_acquire) &&
        seen != sleeping && Rules::kLooksBeforeSleep)
      return;
    Atomics::wait(word, epoch, microseconds);
  }

 private:
  Word state_{running};
};

/// The atomics of a fork in a program; wait() and wake() are the library's.
struct ForkAtomics {
  template <class T>
  using atomic = std::atomic<T>;
  static void wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::uint32_t microseconds);
  static void wake(std::atomic<std::uint32_t>& word, int threads);
};

/// A function that another worker may call, in the frame of the task that has forked it.
struct Fork {
  Fork(void (*f)(Fork*), Task* task, Fork* outer) : run(f), root(task), within(outer) {}
  ~Fork() {}
  Fork(const Fork&) = delete;
  Fork& operator=(const Fork&) = delete;

  void (*const run)(Fork*);
  Task* const root;    ///< the task whose code it is
  Fork* const within;  ///< the stolen fork in which it began; null: the task itself
  ForkEnd<ForkAtomics> end;
  /// 0, or the thief's number and, in the low half, where its own forks begin: see Worker::help().
  std::atomic<std::uint32_t> thief{0};
  Task* deferred = nullptr;  ///< a list of tasks with .after, which wait until the task has ended
  union {
    std::exception_ptr error;  ///< exists if the end is `failed`
  };
};

template <class Function>
struct ForkOf : Fork {
  ForkOf(Function& f, Task* task, Fork* outer) : Fork(&call, task, outer), function(f) {}
  static void call(Fork* fork) { static_cast<ForkOf*>(fork)->function(); }
  Function& function;
};

/// The forking state of a worker.
struct Forks {
  ForkStack<ForkAtomics, Fork> stack;
  Fork* within = nullptr;             ///< the stolen fork that runs here
  std::atomic<bool> is_wanted{true};  ///< a worker was idle
};

/// A worker was idle: wakes one for the fork that was just pushed, if that is worth it. `is_brief`: the last
/// fork at this place was. Out of line.
void offer_fork(ThreadState& self, bool is_brief);
/// Another worker has the fork, which was the newest: returns when its function has. Throws what that has
/// thrown, if `throws`.
void join_stolen(ThreadState& self, Fork& fork, bool throws);

}  // namespace rubato::inline v0::engine
