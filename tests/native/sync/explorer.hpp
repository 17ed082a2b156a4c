// Runs a few functions as if they were threads, in every possible interleaving of their atomic accesses.
// Sequentially consistent: it finds wrong protocols, not wrong memory orders (those are argued in comments,
// and stressed).
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tests/native/context.hpp"

namespace rubato::inline v0::native::test {

/// Exploration of all schedules, depth first. `make` builds fresh state and returns the bodies, `check` runs
/// after each schedule; either may record failures of its own.
class Explorer {
 public:
  using Bodies = std::vector<std::function<void()>>;

  /// Returns the number of schedules. Stops early when `is_done` says so.
  static std::uint64_t explore(
      const std::function<Bodies()>& make, const std::function<void()>& check,
      const std::function<bool()>& is_done = [] { return false; }) {
    Explorer explorer;
    active() = &explorer;
    deadlocks() = 0;
    std::uint64_t schedules = 0;
    do {
      explorer.run(make());
      check();
      ++schedules;
    } while (!is_done() && explorer.advance());
    active() = nullptr;
    return schedules;
  }

  /// So many schedules drawn at random: where there are too many for all of them.
  static void sample(
      std::uint64_t schedules, const std::function<Bodies()>& make, const std::function<void()>& check,
      const std::function<bool()>& is_done = [] { return false; }) {
    Explorer explorer;
    explorer.random_ = 1;
    active() = &explorer;
    deadlocks() = 0;
    for (std::uint64_t i = 0; i < schedules && !is_done(); ++i) {
      explorer.choices_.clear();
      explorer.run(make());
      check();
    }
    active() = nullptr;
  }

  /// The running body goes on when `until` holds. If none can go on, the schedule ends in a deadlock.
  static void block(std::function<bool()> until) {
    Explorer* const explorer = active();
    explorer->running_->until = std::move(until);
    step();
  }
  /// Schedules of the last explore() that ended with bodies that wait for ever.
  static std::uint64_t& deadlocks() {
    static std::uint64_t count = 0;
    return count;
  }

  /// Runs f() as one step: no other body comes in between.
  template <class F>
  static void atomically(F f) {
    active()->is_atomic_ = true;
    f();
    active()->is_atomic_ = false;
  }

  /// Called before every atomic access; outside explore() it does nothing.
  static void step() {
    if (Explorer* const explorer = active();
        explorer != nullptr && explorer->running_ != nullptr && !explorer->is_atomic_) {
      Context::swap(explorer->running_->context, explorer->scheduler_);
    }
  }

 private:
  struct Fiber {
    Context context;
    std::function<void()> body;
    bool is_done = false;         ///< enter() waits for the next body
    std::function<bool()> until;  ///< what it waits for, or empty
    std::vector<char> stack = std::vector<char>(64 << 10);
  };
  struct Choice {
    std::size_t taken;
    std::size_t of;
  };

  static Explorer*& active() {
    static Explorer* explorer = nullptr;
    return explorer;
  }
  static void enter() {
    Fiber* const self = active()->running_;
    for (;;) {
      self->body();
      self->is_done = true;
      Context::swap(self->context, active()->scheduler_);
    }
  }

  void run(Bodies bodies) {
    while (fibers_.size() < bodies.size()) fibers_.push_back(std::make_unique<Fiber>());
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      Fiber& fiber = *fibers_[i];
      fiber.body = std::move(bodies[i]);
      fiber.until = nullptr;
      // Anew: for the first time, or behind a deadlock, which has left a body in its middle.
      if (!std::exchange(fiber.is_done, false)) fiber.context.start(fiber.stack, &Explorer::enter);
    }
    for (std::size_t depth = 0;; ++depth) {
      runnable_.clear();
      for (std::size_t i = 0; i < bodies.size(); ++i) {
        Fiber& fiber = *fibers_[i];
        if (!fiber.is_done && (!fiber.until || fiber.until())) runnable_.push_back(&fiber);
      }
      if (runnable_.empty()) {
        for (std::size_t i = 0; i < bodies.size(); ++i) {
          if (!fibers_[i]->is_done) return void(++deadlocks());
        }
        break;
      }
      if (depth == choices_.size()) choices_.push_back({choose(runnable_.size()), runnable_.size()});
      running_ = runnable_[choices_[depth].taken];
      running_->until = nullptr;
      Context::swap(scheduler_, running_->context);
      running_ = nullptr;
    }
  }

  std::size_t choose(std::size_t of) {
    if (random_ == 0) return 0;
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    return (random_ >> 33) % of;
  }

  /// The next schedule; false after the last.
  bool advance() {
    while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().of) choices_.pop_back();
    if (choices_.empty()) return false;
    ++choices_.back().taken;
    return true;
  }

  Context scheduler_;
  std::uint64_t random_ = 0;  ///< the state of sample(); 0: all schedules in turn
  Fiber* running_ = nullptr;
  bool is_atomic_ = false;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> runnable_;  ///< those that can go on now
  std::vector<Choice> choices_;
};

/// The atomics policy that makes every access a step of the explorer.
struct ExploredAtomics {
  template <class T>
  class atomic {
   public:
    atomic(T value = {}) : value_(value) {}
    T load(std::memory_order) const { return Explorer::step(), value_; }
    void store(T value, std::memory_order) { Explorer::step(), value_ = value; }
    T exchange(T value, std::memory_order) { return Explorer::step(), std::exchange(value_, value); }
    T fetch_add(T value, std::memory_order) {
      return Explorer::step(), std::exchange(value_, value_ + value);
    }
    T fetch_sub(T value, std::memory_order) {
      return Explorer::step(), std::exchange(value_, value_ - value);
    }
    T fetch_or(T value, std::memory_order) { return Explorer::step(), std::exchange(value_, value_ | value); }
    T fetch_and(T value, std::memory_order) {
      return Explorer::step(), std::exchange(value_, value_ & value);
    }
    bool compare_exchange_strong(T& expected, T value, std::memory_order, std::memory_order) {
      Explorer::step();
      if (value_ != expected) return expected = value_, false;
      return value_ = value, true;
    }
    T now() const { return value_; }  // for checks: no step

   private:
    T value_;
  };
  static void pause() {}
  static void fence(std::memory_order) {}
};

}  // namespace rubato::inline v0::native::test
