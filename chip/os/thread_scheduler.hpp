// Places runnable guest threads on cores (C3): one thread a core; when there are more, they take turns.
// The owner of the cores calls pick(core) when a core is free or its thread's time slice has ended. It add()s
// every thread that became runnable or was preempted. Deterministic: a function of the order of these calls.
//
// A thread returns to the core it ran on last, where its lines are cached, unless that core leaves it waiting
// while others take its place kMaxPassed times. It is given no core that its affinity leaves out.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "chip/os/thread.hpp"
#include "chip/vocabulary/types.hpp"

namespace rubato::chip {

class ThreadScheduler {
 public:
  static constexpr unsigned kMaxPassed = 4;

  /// Threads beyond the number of `cores` take turns: has_waiting() says so.
  explicit ThreadScheduler([[maybe_unused]] std::uint32_t cores) {}

  /// A runnable thread that waits for a core; not a worker, not waiting already.
  void add(Thread& thread);
  /// The thread that `core` is to run now, or null; it waits no longer.
  Thread* pick(CoreId core);
  /// Forgets all waiting threads.
  void clear() { waiting_.clear(); }
  /// Forgets one thread, if it waits: it ended or became a worker.
  void remove(const Thread& thread);
  bool has_waiting() const { return !waiting_.empty(); }
  /// At least one of them may run on `core`.
  bool has_waiting(CoreId core) const { return first_allowed(core) != waiting_.size(); }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  static constexpr std::uint32_t kNoHome = ~std::uint32_t{0};
  struct Waiting {
    Thread* thread;
    unsigned passed = 0;  // times a later thread was picked before it
  };
  std::uint32_t home_of(const Thread& thread) const;
  std::size_t first_allowed(CoreId core) const;

  std::deque<Waiting> waiting_;       // first come first
  std::vector<std::uint32_t> homes_;  // core of the last placement, by tid
};

}  // namespace rubato::chip
