// Runs a few functions as if they were threads, in every interleaving of their atomic operations up to states
// that were seen before; threads may sleep and be woken. Sequentially consistent: it finds wrong protocols,
// not wrong memory orders. (tests/native/sync/explorer.hpp has every schedule, without sleeping: for a few
// operations.)
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tests/native/context.hpp"

namespace rubato::inline v0::native::test {

/// A state is what all atomic variables hold and what each thread has read so far: threads are deterministic,
/// so that their own variables follow from that. A state reached again is not followed again. Plain variables
/// that threads share are added by add_variable(); pointers among them must be the same in every run.
class Interleavings {
 public:
  using Bodies = std::vector<std::function<void()>>;
  struct Result {
    std::uint64_t runs = 0;
    std::uint64_t states = 0;
    std::uint64_t ended = 0;    ///< runs in which every thread came to its end
    std::uint64_t stuck = 0;    ///< runs in which all that were left slept
    bool is_exhausted = false;  ///< nothing was left out
  };

  /// `make` builds fresh state and returns the threads; `check` runs when all of them ended, is told whether
  /// some sleep for ever, and returns false to stop.
  static Result explore(const std::function<Bodies()>& make, const std::function<bool(bool is_stuck)>& check,
                        std::uint64_t max_runs = 2000000) {
    Interleavings all;
    current() = &all;
    bool goes_on = true;
    while (goes_on && all.result_.runs < max_runs) {
      const End end = all.run(make);
      ++all.result_.runs;
      if (end == End::ended) ++all.result_.ended;
      if (end == End::stuck) ++all.result_.stuck;
      if (end != End::seen) goes_on = check(end == End::stuck);
      if (goes_on && !all.next()) {
        all.result_.is_exhausted = true;
        break;
      }
    }
    all.result_.states = all.seen_.size();
    current() = nullptr;
    return all.result_;
  }

  /// Before every operation. Not in a thread: nothing happens.
  static void step() {
    Interleavings* const all = current();
    if (all == nullptr || all->running_ == nullptr) return;
    all->running_->history = mix(all->running_->history + 1);
    Context::swap(all->running_->context, all->scheduler_);
  }
  /// At this place the thread goes on in the same way whatever it read before: `place` tells it from others.
  static void forget(std::uint64_t place) { current()->running_->history = mix(place); }
  /// After it: what the thread learned.
  static void read(std::uint64_t value) {
    Interleavings* const all = current();
    if (all != nullptr && all->running_ != nullptr)
      all->running_->history = mix(all->running_->history ^ mix(value));
  }
  static void add_variable(const void* address, std::function<std::uint64_t()> value) {
    if (current() != nullptr) current()->variables_.push_back({address, std::move(value)});
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
  static constexpr std::uint32_t kAnywhere = ~std::uint32_t{0};
  static void sleep(const void* on, std::uint32_t places = kAnywhere) {
    Interleavings* const all = current();
    all->running_->sleeps_on = on;
    all->running_->sleeps_at = places;
    Context::swap(all->running_->context, all->scheduler_);
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

 private:
  enum class End { ended, stuck, seen };
  struct Thread {
    Context context;
    std::function<void()> body;
    bool is_done = false;  // enter() waits for the next body
    const void* sleeps_on = nullptr;
    std::uint32_t sleeps_at = kAnywhere;  // follows from the thread's history
    std::uint64_t history = 0;
    std::vector<char> stack = std::vector<char>(64 << 10);
  };
  struct Choice {
    unsigned taken;
    unsigned of;
  };
  struct Variable {
    const void* address;
    std::function<std::uint64_t()> value;
  };

  static std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  static Interleavings*& current() {
    static Interleavings* all = nullptr;
    return all;
  }
  static void enter() {
    Thread* const self = current()->running_;
    for (;;) {
      self->body();
      self->is_done = true;
      Context::swap(self->context, current()->scheduler_);
    }
  }

  std::uint64_t state() const {
    std::uint64_t hash = 0;
    for (const Variable& variable : variables_) hash = mix(hash ^ variable.value());
    for (const auto& thread : threads_) {
      hash = mix(hash ^ thread->history);
      hash = mix(hash ^ (thread->is_done ? 2u : thread->sleeps_on != nullptr ? 1u : 0u));
    }
    return hash;
  }

  End run(const std::function<Bodies()>& make) {
    variables_.clear();
    Bodies bodies = make();
    while (threads_.size() < bodies.size()) threads_.push_back(std::make_unique<Thread>());
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      Thread& thread = *threads_[i];
      thread.body = std::move(bodies[i]);
      thread.sleeps_on = nullptr;
      thread.history = i;
      // Anew: for the first time, or behind a run that was left in its middle.
      if (!std::exchange(thread.is_done, false)) thread.context.start(thread.stack, &Interleavings::enter);
    }
    for (std::size_t depth = 0;; ++depth) {
      Thread* runnable[8];
      unsigned count = 0;
      bool all_done = true;
      for (const auto& thread : threads_) {
        all_done = all_done && thread->is_done;
        if (!thread->is_done && thread->sleeps_on == nullptr) runnable[count++] = thread.get();
      }
      if (count == 0) return all_done ? End::ended : End::stuck;
      if (depth == choices_.size()) {
        if (!seen_.insert(state()).second) return End::seen;
        choices_.push_back({0, count});
      }
      running_ = runnable[choices_[depth].taken];
      Context::swap(scheduler_, running_->context);
      running_ = nullptr;
    }
  }

  bool next() {
    while (!choices_.empty() && choices_.back().taken + 1 == choices_.back().of) choices_.pop_back();
    if (choices_.empty()) return false;
    ++choices_.back().taken;
    return true;
  }

  Context scheduler_;
  Thread* running_ = nullptr;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Variable> variables_;
  std::vector<Choice> choices_;
  std::unordered_set<std::uint64_t> seen_;
  Result result_;
};

/// The atomics policy whose every operation is a scheduling point.
struct InterleavedAtomics {
  template <class T>
  class atomic {
   public:
    atomic(T value = {}) : value_(value) {
      Interleavings::add_variable(this, [this] { return word(value_); });
    }
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    T load(std::memory_order) const { return Interleavings::step(), learn(value_); }
    void store(T value, std::memory_order) { Interleavings::step(), value_ = value; }
    T exchange(T value, std::memory_order) {
      Interleavings::step();
      return learn(std::exchange(value_, value));
    }
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
      Interleavings::step();
      const T before = learn(value_);
      if (before != expected) return expected = before, false;
      return value_ = value, true;
    }
    T now() const { return value_; }  ///< for checks: no step

   private:
    static std::uint64_t word(T value) {
      if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<std::uintptr_t>(value);
      } else {
        return static_cast<std::uint64_t>(value);
      }
    }
    static T learn(T value) { return Interleavings::read(word(value)), value; }
    template <class Change>
    T modify(Change change) {
      Interleavings::step();
      const T before = learn(value_);
      value_ = change(before);
      return before;
    }
    T value_;
  };

  static void pause() {}
  static void wait(atomic<std::uint32_t>& word, std::uint32_t seen, std::uint32_t = 0) {
    if (word.load(std::memory_order_seq_cst) == seen) Interleavings::sleep(&word);
  }
  static void wait_at(std::uint32_t places, atomic<std::uint32_t>& word, std::uint32_t seen) {
    if (word.load(std::memory_order_seq_cst) == seen) Interleavings::sleep(&word, places);
  }
  static void wake(atomic<std::uint32_t>& word, int count) {
    Interleavings::step();
    Interleavings::wake(&word, count);
  }
  static bool wake_at(std::uint32_t place, atomic<std::uint32_t>& word) {
    Interleavings::step();
    const bool was_there = Interleavings::wake(&word, 1, place) != 0;
    Interleavings::read(was_there ? 1 : 0);
    return was_there;
  }
};

}  // namespace rubato::inline v0::native::test
