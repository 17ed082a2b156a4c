// The explorer of interleavings: runs a few functions as if they were threads, and switches between them
// before each of their atomic operations. Sequentially consistent: it finds wrong protocols, not wrong memory
// orders (those are argued in comments, and stressed).
//
//   explore()         every schedule: for a few operations
//   sample()          schedules drawn at random: where there are too many for all of them
//   explore_states()  every schedule up to states that were seen before: threads may sleep and be woken
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "tests/base/context.hpp"

namespace rubato::test {

/// Exploration, depth first. `make` builds fresh state and returns the bodies, `check` runs after each
/// schedule; either may record failures of its own.
class Explorer {
 public:
  using Bodies = std::vector<std::function<void()>>;
  using Make = std::function<Bodies()>;

  /// Bodies that get their threads' numbers, 0 and up. `bodies` lives until they have run.
  static Bodies numbered(const std::vector<std::function<void(int)>>& bodies) {
    Bodies all;
    for (std::size_t i = 0; i < bodies.size(); ++i)
      all.push_back([&bodies, i] { bodies[i](static_cast<int>(i)); });
    return all;
  }

  /// Returns the number of schedules. Stops early when `is_done` says so.
  static std::uint64_t explore(
      const Make& make, const std::function<void()>& check,
      const std::function<bool()>& is_done = [] { return false; }) {
    Explorer explorer;
    const Active active(explorer);
    deadlocks() = 0;
    std::uint64_t schedules = 0;
    do {
      if (explorer.run(make) == End::stuck) ++deadlocks();
      check();
      ++schedules;
    } while (!is_done() && explorer.advance());
    return schedules;
  }

  /// So many schedules drawn at random.
  static void sample(
      std::uint64_t schedules, const Make& make, const std::function<void()>& check,
      const std::function<bool()>& is_done = [] { return false; }) {
    Explorer explorer;
    explorer.random_ = 1;
    const Active active(explorer);
    deadlocks() = 0;
    for (std::uint64_t i = 0; i < schedules && !is_done(); ++i) {
      explorer.choices_.clear();
      if (explorer.run(make) == End::stuck) ++deadlocks();
      check();
    }
  }

  struct Result {
    std::uint64_t runs = 0;
    std::uint64_t states = 0;
    std::uint64_t ended = 0;    ///< runs in which every thread came to its end
    std::uint64_t stuck = 0;    ///< runs in which all that were left slept
    bool is_exhausted = false;  ///< nothing was left out
  };
  /// A state is the contents of all atomic variables, and what each thread has read so far: threads are
  /// deterministic, so that their own variables follow from that. A state reached again is not followed
  /// again. Plain variables that threads share are added by add_variable(); pointers among them must be the
  /// same in every run. `check` is told whether some sleep for ever, and returns false to stop.
  static Result explore_states(const Make& make, const std::function<bool(bool is_stuck)>& check,
                               std::uint64_t max_runs = 2000000) {
    Explorer explorer;
    explorer.tells_states_ = true;
    const Active active(explorer);
    Result result;
    bool goes_on = true;
    while (goes_on && result.runs < max_runs) {
      const End end = explorer.run(make);
      ++result.runs;
      if (end == End::ended) ++result.ended;
      if (end == End::stuck) ++result.stuck;
      if (end != End::seen) goes_on = check(end == End::stuck);
      if (goes_on && !explorer.advance()) {
        result.is_exhausted = true;
        break;
      }
    }
    result.states = explorer.seen_.size();
    return result;
  }

  /// Schedules of the last explore() or sample() that ended with bodies that wait for ever.
  static std::uint64_t& deadlocks() {
    static std::uint64_t count = 0;
    return count;
  }

  // Called by the bodies.
  /// Before every atomic access; outside of a body it does nothing.
  static void step() {
    Explorer* const explorer = running();
    if (explorer == nullptr || explorer->is_atomic_) return;
    explorer->running_->history = mix64(explorer->running_->history);
    explorer->leave();
  }
  /// Runs f() as one step: no other body comes in between.
  template <class F>
  static void atomically(F f) {
    current()->is_atomic_ = true;
    f();
    current()->is_atomic_ = false;
  }
  /// The running body goes on when `until` holds. If none can go on, the schedule ends in a deadlock. Not
  /// with explore_states().
  static void block(std::function<bool()> until) {
    current()->running_->until = std::move(until);
    step();
  }
  static constexpr std::uint32_t kAnywhere = ~std::uint32_t{0};
  /// The running body goes on after wake() of the same object, at one of these places.
  static void sleep(const void* on, std::uint32_t places = kAnywhere) {
    Explorer* const explorer = current();
    explorer->running_->sleeps_on = on;
    explorer->running_->sleeps_at = places;
    explorer->leave();
  }
  /// @returns how many.
  static int wake(const void* on, int count, std::uint32_t places = kAnywhere) {
    int woken = 0;
    for (auto& thread : current()->threads_) {
      if (woken == count) break;
      if (thread->sleeps_on != on || (thread->sleeps_at & places) == 0) continue;
      thread->sleeps_on = nullptr;
      ++woken;
    }
    return woken;
  }

  // The state, for explore_states().
  static bool tells_states() { return current() != nullptr && current()->tells_states_; }
  /// The running body has learned this from an atomic operation.
  static void read(std::uint64_t value) {
    if (Explorer* const explorer = running(); explorer != nullptr && explorer->tells_states_)
      explorer->running_->history = mix64(explorer->running_->history ^ mix64(value));
  }
  /// At this place the thread goes on in the same way whatever it read before: `place` tells it from others.
  static void forget(std::uint64_t place) { current()->running_->history = mix64(place); }
  static void add_variable(const void* address, std::function<std::uint64_t()> value) {
    if (tells_states()) current()->variables_.push_back({address, std::move(value)});
  }
  /// Hashes an object without pointers to what moves from run to run.
  template <class T>
  static void add_plain(const T& object) {
    add_variable(&object, [&object] {
      std::uint64_t hash = 0;
      const auto* const bytes = reinterpret_cast<const unsigned char*>(&object);
      for (std::size_t i = 0; i < sizeof(T); ++i) hash = hash * 0x100000001b3u + bytes[i];
      return hash;
    });
  }

 private:
  enum class End { ended, stuck, seen };
  struct Thread {
    Context context;
    std::function<void()> body;
    bool is_done = false;         // enter() waits for the next body
    std::function<bool()> until;  // what it waits for, or empty
    const void* sleeps_on = nullptr;
    std::uint32_t sleeps_at = kAnywhere;  // follows from the thread's history
    std::uint64_t history = 0;
    std::vector<char> stack = std::vector<char>(64 << 10);

    bool can_go_on() const { return !is_done && sleeps_on == nullptr && (!until || until()); }
  };
  struct Choice {
    std::size_t taken;
    std::size_t of;
  };
  struct Variable {
    const void* address;
    std::function<std::uint64_t()> value;
  };
  struct Active {
    explicit Active(Explorer& explorer) { current() = &explorer; }
    ~Active() { current() = nullptr; }
    Active(const Active&) = delete;
    Active& operator=(const Active&) = delete;
  };

  static Explorer*& current() {
    static Explorer* explorer = nullptr;
    return explorer;
  }
  /// Null outside of a body.
  static Explorer* running() {
    Explorer* const explorer = current();
    return explorer != nullptr && explorer->running_ != nullptr ? explorer : nullptr;
  }
  static void enter() {
    Thread* const self = current()->running_;
    for (;;) {
      self->body();
      self->is_done = true;
      current()->leave();
    }
  }
  void leave() { Context::swap(running_->context, scheduler_); }

  std::uint64_t state() const {
    std::uint64_t hash = 0;
    for (const Variable& variable : variables_) hash = mix64(hash ^ variable.value());
    for (const auto& thread : threads_) {
      hash = mix64(hash ^ thread->history);
      hash = mix64(hash ^ (thread->is_done ? 2u : thread->sleeps_on != nullptr ? 1u : 0u));
    }
    return hash;
  }

  End run(const Make& make) {
    variables_.clear();
    Bodies bodies = make();
    while (threads_.size() < bodies.size()) threads_.push_back(std::make_unique<Thread>());
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      Thread& thread = *threads_[i];
      thread.body = std::move(bodies[i]);
      thread.until = nullptr;
      thread.sleeps_on = nullptr;
      thread.history = i;
      // Anew: for the first time, or behind a run that has left a body in its middle.
      if (!std::exchange(thread.is_done, false)) thread.context.start(thread.stack, &Explorer::enter);
    }
    for (std::size_t depth = 0;; ++depth) {
      runnable_.clear();
      bool all_done = true;
      for (std::size_t i = 0; i < bodies.size(); ++i) {
        all_done = all_done && threads_[i]->is_done;
        if (threads_[i]->can_go_on()) runnable_.push_back(threads_[i].get());
      }
      if (runnable_.empty()) return all_done ? End::ended : End::stuck;
      if (depth == choices_.size()) {
        if (tells_states_ && !seen_.insert(state()).second) return End::seen;
        choices_.push_back({choose(runnable_.size()), runnable_.size()});
      }
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
  std::uint64_t random_ = 0;  // the state of sample(); 0: all schedules in turn
  bool tells_states_ = false;
  bool is_atomic_ = false;
  Thread* running_ = nullptr;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Thread*> runnable_;  // those that can go on now
  std::vector<Choice> choices_;
  std::vector<Variable> variables_;
  std::unordered_set<std::uint64_t> seen_;
};

/// The atomics policy that makes every access a step of the explorer.
struct ExploredAtomics {
  template <class T>
  class atomic {
   public:
    atomic(T value = {}) : value_(value) {
      Explorer::add_variable(this, [this] { return word(value_); });
    }
    // A copy is no variable of its own.
    atomic(const atomic& other) : value_(other.value_) { must_not_tell_states(); }
    atomic& operator=(const atomic& other) {
      must_not_tell_states();
      value_ = other.value_;
      return *this;
    }

    T load(std::memory_order) const { return Explorer::step(), learn(value_); }
    void store(T value, std::memory_order) { Explorer::step(), value_ = value; }
    T exchange(T value, std::memory_order) { return Explorer::step(), learn(std::exchange(value_, value)); }
    T fetch_add(T value, std::memory_order) {
      return modify([&](T v) { return static_cast<T>(v + value); });
    }
    T fetch_sub(T value, std::memory_order) {
      return modify([&](T v) { return static_cast<T>(v - value); });
    }
    T fetch_or(T value, std::memory_order) {
      return modify([&](T v) { return static_cast<T>(v | value); });
    }
    T fetch_and(T value, std::memory_order) {
      return modify([&](T v) { return static_cast<T>(v & value); });
    }
    bool compare_exchange_strong(T& expected, T value, std::memory_order, std::memory_order) {
      Explorer::step();
      const T before = learn(value_);
      if (before != expected) return expected = before, false;
      return value_ = value, true;
    }
    T now() const { return value_; }  ///< for checks: no step

   private:
    static void must_not_tell_states() {
      if (Explorer::tells_states()) std::abort();
    }
    static std::uint64_t word(T value) {
      if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<std::uintptr_t>(value);
      } else {
        return static_cast<std::uint64_t>(value);
      }
    }
    static T learn(T value) { return Explorer::read(word(value)), value; }
    template <class Change>
    T modify(Change change) {
      Explorer::step();
      const T before = learn(value_);
      value_ = change(before);
      return before;
    }
    T value_;
  };

  static void pause() {}
  static void fence(std::memory_order) {}
  static void wait(atomic<std::uint32_t>& word, std::uint32_t seen, std::uint32_t = 0) {
    if (word.load(std::memory_order_seq_cst) == seen) Explorer::sleep(&word);
  }
  static void wait_at(std::uint32_t places, atomic<std::uint32_t>& word, std::uint32_t seen) {
    if (word.load(std::memory_order_seq_cst) == seen) Explorer::sleep(&word, places);
  }
  static void wake(atomic<std::uint32_t>& word, int count) {
    Explorer::step();
    Explorer::wake(&word, count);
  }
  static bool wake_at(std::uint32_t place, atomic<std::uint32_t>& word) {
    Explorer::step();
    const bool was_there = Explorer::wake(&word, 1, place) != 0;
    Explorer::read(was_there ? 1 : 0);
    return was_there;
  }
};

}  // namespace rubato::test
