// SPDX-License-Identifier: MIT
#include "native/worker/forking.hpp"

#include <algorithm>
#include <new>
#include <thread>
#include <utility>

#include "base/perturbation.hpp"
#include "native/clock.hpp"
#include "native/policy.hpp"
#include "native/worker/execute.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/worker.hpp"

namespace rubato::inline v0::native {

using engine::Fork;
using End = engine::ForkEnd<engine::ForkAtomics>;

Forking::Forking(Worker& worker) : worker_(worker) {
  if (worker.shared.workers() > 1) worker.forks = &forks_;
}

// ---- The worker that has forked ----

/// The flag is lowered before the look: a worker that becomes idle later raises it again.
void Forking::offer(bool is_brief) {
  const bool is_outermost = forks_.stack.size() == 1;
  const std::uint64_t now = ticks();
  if (is_outermost) offer_at_ = now + worth_ticks();
  forks_.is_wanted.store(false, std::memory_order_seq_cst);
  if (EventCount<StdAtomics>::idle(worker_.shared.events.look_ordered()) == 0) return;
  forks_.is_wanted.store(true, std::memory_order_relaxed);
  if (is_outermost ? is_brief : now < offer_at_) return;
  offer_at_ = now + ticks_of(policy::kMicrosecondsToArrive);  // the worker that is woken now
  worker_.sharing.wake();
}

void Forking::join(Fork& fork, bool throws) {
  std::uint32_t microseconds = policy::kShortestJoinSleep;
  for (unsigned tries = 0; !fork.end.is_over();) {
    if (help(fork)) {
      tries = 0;
      microseconds = policy::kShortestJoinSleep;
    } else if (++tries <= policy::kJoinSpins) {
      StdAtomics::pause();
    } else if (tries <= policy::kJoinSpins + policy::kJoinYields) {
      std::this_thread::yield();
    } else {
      // Sooner than the end: the thief may fork.
      fork.end.sleep(sleeps_at_, microseconds);
      microseconds = std::min(2 * microseconds, policy::kLongestJoinSleep);
    }
  }
  worker_.defer(fork.deferred);
  switch (fork.end.state()) {
    case End::failed: {
      const std::exception_ptr error = std::move(fork.error);
      fork.error.~exception_ptr();
      if (throws) std::rethrow_exception(error);
      break;
    }
    case End::returned:
      if (throws) fork.run(&fork);
      break;
    default:
      break;
  }
}

/// Runs a fork that began within the stolen one, if there is one. The thief may have ended that one and begun
/// another just now. So a fork is run only if the stolen one is among those that it is within. They are all
/// there, since this worker has the fork, and it has not ended.
bool Forking::help(const Fork& fork) {
  const std::uint32_t word = fork.thief.load(std::memory_order_acquire);
  if (word == 0) return false;
  Forking& thief = worker_.shared.worker((word >> 16) - 1).forking;
  Fork* const taken = thief.forks_.stack.steal(word & 0xffff);
  if (taken == nullptr) return false;
  const Fork* outer = taken->within;
  while (outer != nullptr && outer != &fork) outer = outer->within;
  if (outer == nullptr) {
    end(*taken, thief, End::returned);
    return false;
  }
  end(*taken, thief, call(*taken));
  return true;
}

// ---- The worker that takes one ----

void Forking::want() {
  for (unsigned w = 0; w < worker_.shared.workers(); ++w) {
    std::atomic<bool>& is_wanted = worker_.shared.worker(w).forking.forks_.is_wanted;
    if (!is_wanted.load(std::memory_order_relaxed)) is_wanted.store(true, std::memory_order_seq_cst);
  }
}

bool Forking::steal() {
  const unsigned workers = worker_.shared.workers();
  for (unsigned i = 1; i < workers; ++i) {
    Forking& owner = worker_.shared.worker((worker_.index + i) % workers).forking;
    Fork* const fork = owner.forks_.stack.steal(0);
    if (fork == nullptr) continue;
    const bool is_timed = worker_.begin_fork(*fork->root);
    const End::State how = call(*fork);
    fork->deferred = worker_.end_fork(is_timed);
    end(*fork, owner, how);
    worker_.sharing.time_from_here();
    return true;
  }
  return false;
}

/// Calls a stolen fork's function.
End::State Forking::call(Fork& fork) {
  fork.thief.store((worker_.index + 1) << 16 | forks_.stack.size(), std::memory_order_release);
  Fork* const outer = std::exchange(forks_.within, &fork);
  End::State how = End::done;
  perturb();
  try {
    fork.run(&fork);
  } catch (...) {
    ::new (static_cast<void*>(&fork.error)) std::exception_ptr(std::current_exception());
    how = End::failed;
  }
  perturb();
  forks_.within = outer;
  stolen_.add();
  return how;
}

void Forking::end(Fork& fork, Forking& owner, End::State how) { fork.end.end(how, owner.sleeps_at_); }

// ---- Between them and a worker's tasks ----

/// The beginning of code of another worker's task, which ends by end_fork(). @returns whether it is timed
bool Worker::begin_fork(Task& root) {
  const bool is_timed = timer.is_on();
  if (is_timed) timer.begin(root);
  begin(&root);
  replaced_ = &root;  // none by this worker
  return is_timed;
}

/// @returns a list of the tasks that are handed on when the task has ended.
Task* Worker::end_fork(bool is_timed) {
  end_call();
  replaced_ = nullptr;
  if (is_timed) end_timing();
  return deferred_.take_all();
}

void Worker::defer(Task* first) {
  while (first != nullptr) {
    Task* const next = next_of(first);
    deferred_.append(first);
    first = next;
  }
}

}  // namespace rubato::inline v0::native

namespace rubato::inline v0::engine {

namespace {

native::Worker& worker_of(ThreadState& self) { return static_cast<native::Worker&>(self); }

}  // namespace

void ForkAtomics::wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::uint32_t microseconds) {
  native::StdAtomics::wait(word, seen, microseconds);
}
void ForkAtomics::wake(std::atomic<std::uint32_t>& word, int threads) {
  native::StdAtomics::wake(word, threads);
}

void offer_fork(ThreadState& self, bool is_brief) { worker_of(self).forking.offer(is_brief); }
void join_stolen(ThreadState& self, Fork& fork, bool throws) { worker_of(self).forking.join(fork, throws); }

}  // namespace rubato::inline v0::engine
