// Forks between workers (rubato/fork_join.hpp): an idle worker takes one, a worker whose fork was taken
// waits for its end. (R2, R10) The stack of forks: rubato/engine/native_fork.hpp.
//
// While a worker waits it takes forks back from its thief, of those that began within the stolen one
// (leapfrogging: Wagner and Calder, "Leapfrogging: A Portable Technique for Implementing Efficient Futures",
// PPoPP 1993). It runs nothing else: these it would have run itself, on the same stack, had none been stolen.
// So a lock that the task holds meanwhile is no danger, and the stack grows no deeper than without thieves.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "native/worker/counts.hpp"
#include "rubato/engine/native.hpp"

namespace rubato::inline v0::native {

class Worker;

class Forking {
 public:
  explicit Forking(Worker& worker);
  Forking(const Forking&) = delete;
  Forking& operator=(const Forking&) = delete;

  // ---- Its worker ----
  /// A worker is idle, or was: wakes one if the newest fork is worth it.
  void offer(bool is_brief);
  /// The newest fork was stolen: until its end. Throws what it has thrown, if `throws`.
  void join(engine::Fork& fork, bool throws);
  /// For an idle worker. @returns whether it has run one.
  bool steal();
  /// Forks at all workers offer themselves from here on.
  void want();

  // ---- Any thread ----
  bool has_any() const { return forks_.stack.has_any(); }
  /// Stolen ones that this worker has run.
  std::uint64_t stolen() const { return stolen_.get(); }

 private:
  bool help(const engine::Fork& fork);
  engine::ForkEnd<engine::ForkAtomics>::State call(engine::Fork& fork);
  void end(engine::Fork& fork, Forking& owner, engine::ForkEnd<engine::ForkAtomics>::State how);

  Worker& worker_;
  engine::Forks forks_;
  std::uint64_t offer_at_ = 0;               // not before, in ticks, inner forks wake a worker
  std::atomic<std::uint32_t> sleeps_at_{0};  // a word that changes when a stolen fork has ended
  Count stolen_;
};

}  // namespace rubato::inline v0::native
