// Descriptors: given to threads at their first transaction, taken back when they end, reused (T29,
// T32).
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <time.h>

#include <cerrno>
#include <cstdlib>
#include <new>

#include "tm/choice/adaptive.hpp"
#include "tm/failure.hpp"
#include "tm/profile/profile.hpp"
#include "tm/thread/options.hpp"
#include "tm/thread/thread.hpp"
#include "tm/thread/transaction.hpp"
#include "tm/uncancelled.hpp"

__thread rubato::tm::Thread* rubato_tm_current = nullptr;

namespace rubato::tm {

constinit Shared shared;
constinit std::atomic<Thread*> all_threads{nullptr};
constinit std::atomic<std::uint32_t> registered_threads{0};

namespace {

pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_key_t exit_key;
std::atomic<bool> is_set_up{false};

/// Releases the limbo of a thread that ends.
void release_limbo(Thread& thread) {
  const Algorithm* const now = thread.algorithms[Regime::algorithm(shared.gate.regime())];
  if (thread.limbo.is_of(now, shared.era.load(std::memory_order_seq_cst)))
    quiesce(shared.lines, &thread.line, thread.limbo.time());
  thread.limbo.release();
}

void leave_registry(void* descriptor) {
  Thread* const thread = static_cast<Thread*>(descriptor);
  if (thread->nesting != 0) fatal("a thread ends inside a transaction");
  if (!thread->limbo.empty()) release_limbo(*thread);
  rubato_tm_current = nullptr;
  pthread_mutex_lock(&registry_lock);
  thread->is_free = true;
  if (registered_threads.fetch_sub(1, std::memory_order_relaxed) == 2) shared.gate.bias();
  pthread_mutex_unlock(&registry_lock);
}

/// Under the registry's lock: the gate is closed for a fork.
bool is_closed_for_fork = false;

/// Lets others run. False after ten seconds: a transaction inside may wait for something that the forking
/// thread holds. A fork that never returns is worse than a child that sees half a transaction.
class ForkPatience {
 public:
  bool operator()() {
    if (++looks_ < kSpins) {
      Atomics::pause();
      return true;
    }
    if (looks_ < kSpins + kYields) {
      Atomics::yield();
      return true;
    }
    constexpr timespec kNap{0, 20'000};
    ::nanosleep(&kNap, nullptr);
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    if (end_ == 0) end_ = now.tv_sec + kSeconds;
    return now.tv_sec <= end_;
  }

 private:
  static constexpr unsigned kSpins = 1000, kYields = 100;
  static constexpr time_t kSeconds = 10;
  unsigned looks_ = 0;
  time_t end_ = 0;
};

// The child gets memory as it is at the fork: no other thread may be inside a transaction. A thread that
// forks inside a serial transaction is alone already; inside another one it must not wait for others, which
// may wait for it.
void before_fork() {
  const Uncancelled uncancelled;
  Thread* const self = rubato_tm_current;
  const bool is_inside = self != nullptr && self->nesting != 0;
  const bool is_closed =
      !is_inside && shared.gate.try_take(self != nullptr ? &self->line : nullptr, ForkPatience());
  pthread_mutex_lock(&registry_lock);
  is_closed_for_fork = is_closed;
}
void in_parent() {
  const bool is_closed = is_closed_for_fork;
  is_closed_for_fork = false;
  pthread_mutex_unlock(&registry_lock);
  if (is_closed) shared.gate.give_back();
}

/// In the child, a thread that it does not have. The descriptor is not reused: the thread may have been
/// anywhere in a transaction, with an entry of a log half written or actions to run at its commit.
void abandon(Thread& thread) {
  const std::uint32_t slot = thread.line.slot.load(std::memory_order_relaxed);
  thread.line.slot.store((slot + 1) & ~1u, std::memory_order_relaxed);
  thread.reads_clones.store(0, std::memory_order_relaxed);
}

// The child has one thread. Everything that the other threads held is free again, and so is everything that
// before_fork() took.
void in_child() {
  const Uncancelled uncancelled;
  is_closed_for_fork = false;
  pthread_mutex_unlock(&registry_lock);
  Thread* const self = rubato_tm_current;
  shared.lines.clear();
  shared.watches.reset_after_fork();
  for_each_thread([self](Thread& thread) {
    if (&thread != self && !thread.is_free) return abandon(thread);
    thread.line.waited.store(0, std::memory_order_relaxed);
    thread.watch.is_set.store(0, std::memory_order_relaxed);
    shared.lines.add(thread.line);
    shared.watches.add(thread.watch);
  });
  for (std::uint32_t id = 0; id < kAlgorithmCount; ++id) algorithm(id).reset_after_fork();
  const bool is_serial = self != nullptr &&
                         (self->mode == Mode::irrevocable || self->mode == Mode::serial_undoable) &&
                         !shared.gate.is_inside(self->line);
  shared.gate.reset_after_fork(is_serial, self != nullptr && self->holds_hourglass);
  registered_threads.store(self != nullptr ? 1 : 0, std::memory_order_relaxed);
  reset_adapting_after_fork();
  profile_after_fork(self);
}

void set_up() {
  if (is_set_up.load(std::memory_order_relaxed)) return;
  if (pthread_key_create(&exit_key, leave_registry) != 0) fatal("no thread key is left");
  pthread_atfork(before_fork, in_parent, in_child);
  Atomics::has_heavy_fence();
  choose_algorithm();
  set_up_profile();
  is_set_up.store(true, std::memory_order_release);
}

Thread* make_descriptor() {
  void* const memory = std::aligned_alloc(alignof(Thread), sizeof(Thread));
  if (memory == nullptr) fatal("no memory for a thread's descriptor");
  auto* const thread = new (memory) Thread;
  thread->checkpoint_room = 8;
  thread->checkpoints = static_cast<Checkpoint*>(std::malloc(thread->checkpoint_room * sizeof(Checkpoint)));
  if (thread->checkpoints == nullptr) fatal("no memory for a thread's descriptor");
  thread->next_checkpoint = thread->checkpoints;
  thread->random = reinterpret_cast<std::uintptr_t>(memory) | 1;
  thread->next = all_threads.load(std::memory_order_relaxed);
  all_threads.store(thread, std::memory_order_release);
  shared.lines.add(thread->line);
  shared.watches.add(thread->watch);
  return thread;
}

}  // namespace
}  // namespace rubato::tm

rubato::tm::Thread* rubato_tm_register_thread() {
  using namespace rubato::tm;
  const int saved = errno;
  const Uncancelled uncancelled;
  if (!is_set_up.load(std::memory_order_acquire))
    load_unwinder_for_profile();  // again, for a program that sets its environment itself
  pthread_mutex_lock(&registry_lock);
  set_up();
  Thread* thread = nullptr;
  for_each_thread([&thread](Thread& candidate) {
    if (candidate.is_free) thread = &candidate;
  });
  if (thread != nullptr) {
    thread->is_free = false;
    thread->stack_last = 0;
  } else {
    thread = make_descriptor();
  }
  const bool is_only = registered_threads.fetch_add(1, std::memory_order_relaxed) == 0;
  if (is_only) {
    shared.gate.bias();
  } else {
    shared.gate.unbias();
  }
  if (options.undo_always) thread->start |= Start::kKeepsUndo;
  adapt_thread(*thread);
  profile_thread(*thread);
  pthread_mutex_unlock(&registry_lock);
  thread->exceptions.attach_to_thread();
  if (!is_only) shared.gate.wait_for_biased(&thread->line);
  rubato_tm_current = thread;
  pthread_setspecific(exit_key, thread);
  errno = saved;
  return thread;
}
