// System calls on threads: clone, exit, futex, scheduling.
// Invariant: futexes holds exactly the threads whose wait is a futex, each once for each of its futexes, in
// order of arrival.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint32_t kFutexWaiters = 0x80000000, kFutexOwnerDied = 0x40000000, kFutexTidMask = 0x3fffffff;
constexpr std::uint32_t kMatchAny = 0xffffffff;

}  // namespace

// --- creation and end
// ----------------------------------------------------------------------------------------

std::int64_t Process::Impl::clone_thread(Call& call, std::uint64_t flags, Addr stack, Addr parent_tid,
                                         Addr tls, Addr child_tid, Addr pidfd) {
  if ((flags & abi::kCloneThread) == 0)
    return clone_process(call, flags, stack, parent_tid, tls, child_tid, pidfd);
  if ((flags & abi::kCloneVm) == 0 || (flags & abi::kClonePidfd) != 0) return -EINVAL;
  constexpr std::size_t kMaxThreads = 32768;
  if (live_threads() >= kMaxThreads) return -EAGAIN;
  const int tid = kFirstTid + static_cast<int>(threads.size());
  if ((flags & abi::kCloneParentSetTid) != 0 && !user.writable(parent_tid, 4)) return -EFAULT;
  if ((flags & abi::kCloneChildSetTid) != 0 && !user.writable(child_tid, 4)) return -EFAULT;
  Thread& child = kernel.create_thread(pid);
  child.space = call.thread.space;
  child.regs = call.thread.regs;
  child.regs.reservation = HartState::kNoReservation;
  child.regs.x[reg::a0] = 0;
  if (stack != 0) child.regs.x[reg::sp] = stack;
  child.stack_high = stack;
  if ((flags & abi::kCloneSetTls) != 0) child.regs.x[reg::tp] = tls;
  if ((flags & abi::kCloneChildClearTid) != 0) child.clear_child_tid = child_tid;
  if ((flags & abi::kCloneParentSetTid) != 0) user.put(parent_tid, tid);
  if ((flags & abi::kCloneChildSetTid) != 0) user.put(child_tid, tid);
  info(child).inherit(call.info);
  child.signal_mask = call.thread.signal_mask;
  child.affinity = call.thread.affinity;
  if (observer != nullptr) observer->on_runnable(child);
  return tid;
}

std::int64_t Process::Impl::sys_clone(Call& call) {
  // Both results would go to the same place: a call asks for one of them.
  constexpr std::uint64_t kPlaces = abi::kClonePidfd | abi::kCloneParentSetTid;
  if ((call.a[0] & kPlaces) == kPlaces) return -EINVAL;
  return clone_thread(call, call.a[0], call.a[1], call.a[2], call.a[3], call.a[4], call.a[2]);
}

std::int64_t Process::Impl::sys_clone3(Call& call) {
  struct Arguments {
    std::uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_bytes, tls;
  } arguments{};
  if (call.a[1] < sizeof arguments) return -EINVAL;
  if (!user.read(call.a[0], &arguments, sizeof arguments)) return -EFAULT;
  if ((arguments.stack == 0) != (arguments.stack_bytes == 0)) return -EINVAL;
  if ((arguments.flags & abi::kCloneSignalMask) != 0 || arguments.exit_signal > abi::kSignals) return -EINVAL;
  return clone_thread(call, arguments.flags | arguments.exit_signal, arguments.stack + arguments.stack_bytes,
                      arguments.parent_tid, arguments.tls, arguments.child_tid, arguments.pidfd);
}

std::int64_t Process::Impl::sys_exit(Call& call) {
  exit_thread(call.thread);
  call.outcome = SyscallOutcome::thread_exited;
  if (live_threads() == 0) exit_process(call.i32(0));
  return 0;
}

std::int64_t Process::Impl::sys_exit_group(Call& call) {
  exit_process(call.i32(0));
  return 0;
}

void Process::Impl::exit_thread(Thread& thread) {
  thread.state = ThreadState::exited;
  for (int signal = 1; signal <= abi::kSignals && !info(thread).pending.empty(); ++signal)
    drop_pending(info(thread).pending, signal);
  release_robust_list(thread);
  if (thread.clear_child_tid != 0 && user.put<std::uint32_t>(thread.clear_child_tid, 0))
    futex_wake(thread.clear_child_tid, 1, kMatchAny);
}

// Locks that the thread still holds are marked, and one waiter of each is woken (robust mutexes).
void Process::Impl::release_robust_list(Thread& thread) {
  struct Head {
    std::uint64_t next;
    std::int64_t futex_offset;
    std::uint64_t pending;
  };
  const auto head = user.get<Head>(thread.robust_list);
  if (thread.robust_list == 0 || !head) return;
  const auto release = [&](Addr entry) {
    const Addr word = (entry & ~Addr{1}) + static_cast<Addr>(head->futex_offset);
    const auto value = user.get<std::uint32_t>(word);
    if ((word & 3) != 0 || !value || (*value & kFutexTidMask) != static_cast<std::uint32_t>(thread.tid))
      return;
    const auto queue = futexes.find(key_of(word));
    if (queue != futexes.end() && info(*queue->second.front()).wait.is_lock)
      return hand_over(word, queue->second, kFutexOwnerDied);
    user.put<std::uint32_t>(word, (*value & kFutexWaiters) | kFutexOwnerDied);
    if ((*value & kFutexWaiters) != 0) futex_wake(word, 1, kMatchAny);
  };
  constexpr int kMaxEntries = 2048;  // as Linux: a guest may build a circle
  Addr entry = head->next;
  for (int i = 0; i < kMaxEntries && (entry & ~Addr{1}) != thread.robust_list; ++i) {
    const auto next = user.get<std::uint64_t>(entry & ~Addr{1});
    if (entry != head->pending) release(entry);
    if (!next) break;
    entry = *next;
  }
  if (head->pending != 0) release(head->pending);
}

std::int64_t Process::Impl::sys_set_tid_address(Call& call) {
  call.thread.clear_child_tid = call.a[0];
  return call.thread.tid;
}

std::int64_t Process::Impl::sys_set_robust_list(Call& call) {
  if (call.a[1] != 24) return -EINVAL;
  call.thread.robust_list = call.a[0];
  return 0;
}

std::int64_t Process::Impl::sys_get_robust_list(Call& call) {
  const Thread* thread = named_thread(call);
  if (thread == nullptr) return -ESRCH;
  if (!user.writable(call.a[1], 8) || !user.writable(call.a[2], 8)) return -EFAULT;
  user.put<std::uint64_t>(call.a[1], thread->robust_list);
  user.put<std::uint64_t>(call.a[2], 24);
  return 0;
}

std::int64_t Process::Impl::sys_gettid(Call& call) { return call.thread.tid; }

// --- futex
// ---------------------------------------------------------------------------------------------------

std::int64_t Process::Impl::sys_futex(Call& call) {
  constexpr std::uint32_t kPrivate = 128, kClockRealtime = 256;
  enum Op : std::uint32_t {
    wait = 0,
    wake_op_ = 1,
    requeue = 3,
    cmp_requeue = 4,
    wake_op = 5,
    lock_pi = 6,
    unlock_pi = 7,
    trylock_pi = 8,
    wait_bitset = 9,
    wake_bitset = 10,
    lock_pi2 = 13,
  };
  const std::uint32_t op = call.u32(1) & ~(kPrivate | kClockRealtime);
  const bool is_realtime = (call.u32(1) & kClockRealtime) != 0;
  const Addr word = call.a[0];
  if ((word & 3) != 0) return -EINVAL;

  std::optional<std::uint64_t> deadline;
  if (op == wait || op == wait_bitset || op == lock_pi || op == lock_pi2) {
    std::int64_t error = 0;
    const bool uses_realtime = op == lock_pi || is_realtime;
    if (!read_deadline(call.a[3], op != wait, uses_realtime, deadline, error)) return error;
  }
  switch (op) {
    case wait:
      return futex_wait(call, word, call.u32(2), deadline, kMatchAny);
    case wait_bitset:
      return call.u32(5) == 0 ? -EINVAL : futex_wait(call, word, call.u32(2), deadline, call.u32(5));
    case wake_op_:
      return user.readable(word, 4) ? futex_wake(word, call.i32(2), kMatchAny) : -EFAULT;
    case wake_bitset:
      if (call.u32(5) == 0) return -EINVAL;
      return user.readable(word, 4) ? futex_wake(word, call.i32(2), call.u32(5)) : -EFAULT;
    case requeue:
      return futex_requeue(call, false);
    case cmp_requeue:
      return futex_requeue(call, true);
    case wake_op:
      return futex_wake_op(call);
    case lock_pi:
    case lock_pi2:
      return futex_lock_pi(call, false, deadline);
    case trylock_pi:
      return futex_lock_pi(call, true, std::nullopt);
    case unlock_pi:
      return futex_unlock_pi(call);
    default:
      return -ENOSYS;
  }
}

FutexKey Process::Impl::key_of(Addr word) const {
  if (const FileViews::Range* const range = memory.file_views().shared_at(word)) {
    const FileId id = range->view.file->id();
    return {id.first + 1, id.second, range->view.offset + (word - range->begin)};
  }
  return {0, space != nullptr ? space->number : 0, word};
}

void Process::Impl::rename_futexes() {
  for (auto queue = futexes.begin(); queue != futexes.end();) {
    const auto [is_file, number, word] = queue->first;
    const bool is_here = is_file == 0 && number == (space != nullptr ? space->number : 0);
    const FutexKey key = is_here ? key_of(word) : queue->first;
    if (key == queue->first) {
      ++queue;
      continue;
    }
    for (Thread* const thread : queue->second) {
      Wait& wait = info(*thread).wait;
      if (wait.key == queue->first) wait.key = key;
      std::replace(wait.keys.begin(), wait.keys.end(), FutexKey{queue->first}, key);
    }
    auto& there = futexes[key];
    there.insert(there.end(), queue->second.begin(), queue->second.end());
    queue = futexes.erase(queue);
  }
}

std::int64_t Process::Impl::futex_wait(Call& call, Addr word, std::uint32_t expected,
                                       std::optional<std::uint64_t> deadline, std::uint32_t bitset) {
  const auto value = user.get<std::uint32_t>(word);
  if (!value) return -EFAULT;
  if (*value != expected) return -EAGAIN;
  if (deadline && *deadline <= now()) return -ETIMEDOUT;
  Wait wait;
  wait.kind = WaitKind::futex;
  wait.futex = word;
  wait.key = key_of(word);
  wait.bitset = bitset;
  wait.deadline = deadline;
  return block(call, wait);
}

std::int64_t Process::Impl::futex_wake(Addr word, std::int64_t count, std::uint32_t bitset) {
  const auto queue = futexes.find(key_of(word));
  if (queue == futexes.end()) return 0;
  std::vector<Thread*> chosen;
  for (Thread* thread : queue->second) {
    const Wait& wait = info(*thread).wait;
    if (wait.is_lock || (wait.bitset & bitset) == 0) continue;
    chosen.push_back(thread);
    if (static_cast<std::int64_t>(chosen.size()) >= std::max<std::int64_t>(count, 1)) break;
  }
  const FutexKey key = queue->first;  // the queue may go with its last thread
  for (Thread* thread : chosen) {
    const auto& keys = info(*thread).wait.keys;
    wake(*thread, keys.empty() ? 0 : std::find(keys.begin(), keys.end(), key) - keys.begin());
  }
  return static_cast<std::int64_t>(chosen.size());
}

std::int64_t Process::Impl::read_futexes(Call& call, Wait& wait) {
  struct Waiter {
    std::uint64_t value, word;
    std::uint32_t flags, reserved;
  };
  constexpr std::uint32_t kWord = 2, kPrivate = 128, kMost = 128;
  if (call.u32(2) != 0 || call.u32(1) == 0 || call.u32(1) > kMost || call.a[0] == 0) return -EINVAL;
  std::vector<Waiter> waiters(call.u32(1));
  if (!user.read(call.a[0], waiters.data(), waiters.size() * sizeof(Waiter))) return -EFAULT;
  for (const Waiter& waiter : waiters)
    if ((waiter.flags & ~kPrivate) != kWord || waiter.reserved != 0) return -EINVAL;
  for (const Waiter& waiter : waiters) {
    if ((waiter.word & 3) != 0) return -EINVAL;
    const auto value = user.get<std::uint32_t>(waiter.word);
    if (!value) return -EFAULT;
    if (*value != static_cast<std::uint32_t>(waiter.value)) return -EAGAIN;
    wait.keys.push_back(key_of(waiter.word));
  }
  wait.futex = waiters.front().word;
  wait.key = wait.keys.front();
  return 0;
}

std::int64_t Process::Impl::sys_futex_waitv(Call& call) {
  constexpr std::int32_t kRealtime = 0, kMonotonic = 1;
  Wait wait;
  std::int64_t error = 0;
  if (call.a[3] != 0 && call.i32(4) != kRealtime && call.i32(4) != kMonotonic) return -EINVAL;
  if (!read_deadline(call.a[3], true, call.i32(4) == kRealtime, wait.deadline, error)) return error;
  if (error = read_futexes(call, wait); error < 0) return error;
  if (wait.deadline && *wait.deadline <= now()) return -ETIMEDOUT;
  wait.kind = WaitKind::futex;
  wait.bitset = kMatchAny;
  return block(call, std::move(wait));
}

std::int64_t Process::Impl::futex_requeue(Call& call, bool compares) {
  const Addr from = call.a[0], to = call.a[4];
  if ((to & 3) != 0) return -EINVAL;
  if (call.i32(2) < 0 || call.i32(3) < 0) return -EINVAL;
  const auto value = user.get<std::uint32_t>(from);
  if (!value || !user.readable(to, 4)) return -EFAULT;
  if (compares && *value != call.u32(5)) return -EAGAIN;
  const std::int64_t woken = call.i32(2) == 0 ? 0 : futex_wake(from, call.i32(2), kMatchAny);
  std::int64_t moved = 0;
  if (from != to) {
    while (moved < call.i32(3)) {
      const auto queue = futexes.find(key_of(from));
      if (queue == futexes.end()) break;
      const auto first = std::find_if(queue->second.begin(), queue->second.end(), [this](Thread* thread) {
        const Wait& wait = info(*thread).wait;
        return !wait.is_lock && wait.keys.empty();
      });
      if (first == queue->second.end()) break;
      Thread* thread = *first;
      queue->second.erase(first);
      if (queue->second.empty()) futexes.erase(queue);
      info(*thread).wait.futex = to;
      info(*thread).wait.key = key_of(to);
      futexes[key_of(to)].push_back(thread);
      ++moved;
    }
  }
  return compares ? woken + moved : woken;
}

std::int64_t Process::Impl::futex_wake_op(Call& call) {
  const Addr second = call.a[4];
  const std::uint32_t encoded = call.u32(5);
  if ((second & 3) != 0) return -EINVAL;
  const auto old = user.get<std::int32_t>(second);
  if (!old || !user.writable(second, 4) || !user.readable(call.a[0], 4)) return -EFAULT;
  const auto sign_extended = [](std::uint32_t field) { return static_cast<std::int32_t>(field << 20) >> 20; };
  std::int32_t operand = sign_extended((encoded >> 12) & 0xfff);
  const std::int32_t compared = sign_extended(encoded & 0xfff);
  if ((encoded & 0x80000000) != 0) operand = static_cast<std::int32_t>(1u << (operand & 31));
  std::int32_t value = 0;
  switch ((encoded >> 28) & 7) {
    case 0:
      value = operand;
      break;
    case 1:
      value =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(*old) + static_cast<std::uint32_t>(operand));
      break;
    case 2:
      value = *old | operand;
      break;
    case 3:
      value = *old & ~operand;
      break;
    case 4:
      value = *old ^ operand;
      break;
    default:
      return -ENOSYS;
  }
  bool wakes_second = false;
  switch ((encoded >> 24) & 15) {
    case 0:
      wakes_second = *old == compared;
      break;
    case 1:
      wakes_second = *old != compared;
      break;
    case 2:
      wakes_second = *old < compared;
      break;
    case 3:
      wakes_second = *old <= compared;
      break;
    case 4:
      wakes_second = *old > compared;
      break;
    case 5:
      wakes_second = *old >= compared;
      break;
    default:
      return -ENOSYS;
  }
  user.put(second, value);
  std::int64_t woken = futex_wake(call.a[0], call.i32(2), kMatchAny);
  if (wakes_second) woken += futex_wake(second, static_cast<std::int32_t>(call.a[3]), kMatchAny);
  return woken;
}

std::int64_t Process::Impl::futex_lock_pi(Call& call, bool only_tries,
                                          std::optional<std::uint64_t> deadline) {
  const Addr word = call.a[0];
  const auto value = user.get<std::uint32_t>(word);
  if (!value || !user.writable(word, 4)) return -EFAULT;
  const std::uint32_t owner = *value & kFutexTidMask, self = static_cast<std::uint32_t>(call.thread.tid);
  if (owner == self) return -EDEADLK;
  if (owner == 0) {
    user.put<std::uint32_t>(
        word, self | (*value & kFutexOwnerDied) | (futexes.contains(key_of(word)) ? kFutexWaiters : 0));
    return 0;
  }
  if (find_any_thread(owner) == nullptr) return -ESRCH;
  if (only_tries) return -EAGAIN;
  if (deadline && *deadline <= now()) return -ETIMEDOUT;
  user.put<std::uint32_t>(word, *value | kFutexWaiters);
  Wait wait;
  wait.kind = WaitKind::futex;
  wait.futex = word;
  wait.key = key_of(word);
  wait.is_lock = true;
  wait.deadline = deadline;
  return block(call, wait);
}

std::int64_t Process::Impl::futex_unlock_pi(Call& call) {
  const Addr word = call.a[0];
  const auto value = user.get<std::uint32_t>(word);
  if (!value || !user.writable(word, 4)) return -EFAULT;
  if ((*value & kFutexTidMask) != static_cast<std::uint32_t>(call.thread.tid)) return -EPERM;
  const auto queue = futexes.find(key_of(word));
  if (queue == futexes.end()) {
    user.put<std::uint32_t>(word, 0);
    return 0;
  }
  hand_over(word, queue->second, 0);
  return 0;
}

void Process::Impl::hand_over(Addr word, const std::deque<Thread*>& waiters, std::uint32_t marks) {
  Thread& next = *waiters.front();
  const std::uint32_t others = waiters.size() > 1 ? kFutexWaiters : 0;
  user.put<std::uint32_t>(word, static_cast<std::uint32_t>(next.tid) | others | marks);
  kernel.process_of(next).wake(next, 0);
}

// --- scheduling
// ----------------------------------------------------------------------------------------------

std::int64_t Process::Impl::sys_sched_yield(Call& call) {
  call.outcome = SyscallOutcome::yielded;
  return 0;
}

std::int64_t Process::Impl::sys_sched_getaffinity(Call& call) {
  const Thread* thread = named_thread(call);
  if (thread == nullptr) return -ESRCH;
  const std::uint64_t bytes = (options.cores + 63) / 64 * 8;
  if (call.a[1] < bytes || call.a[1] % 8 != 0) return -EINVAL;
  std::vector<std::uint64_t> mask(bytes / 8, 0);
  for (std::uint32_t core = 0; core < options.cores; ++core)
    if (thread->may_run_on(CoreId{core})) mask[core / 64] |= std::uint64_t{1} << core % 64;
  return user.write(call.a[2], mask.data(), bytes) ? static_cast<std::int64_t>(bytes) : -EFAULT;
}

// Cores that do not exist are left out, as Linux does; in a task region workers keep their cores.
std::int64_t Process::Impl::sys_sched_setaffinity(Call& call) {
  Thread* const thread = named_thread(call);
  if (thread == nullptr) return -ESRCH;
  std::vector<std::uint64_t> mask((options.cores + 63) / 64, 0);
  if (!user.read(call.a[2], mask.data(), std::min<std::uint64_t>(call.a[1], mask.size() * 8))) return -EFAULT;
  if (options.cores % 64 != 0) mask.back() &= (std::uint64_t{1} << options.cores % 64) - 1;
  if (std::all_of(mask.begin(), mask.end(), [](std::uint64_t word) { return word == 0; })) return -EINVAL;
  thread->affinity = std::move(mask);
  if (observer != nullptr) observer->on_affinity(*thread);
  return 0;
}

std::int64_t Process::Impl::sys_sched_setparam(Call& call) {
  const auto priority = user.get<std::int32_t>(call.a[1]);
  if (!priority) return -EFAULT;
  return *priority == 0 ? 0 : -EINVAL;
}
std::int64_t Process::Impl::sys_sched_getscheduler(Call& call) {
  if (call.i32(0) < 0) return -EINVAL;
  const Thread* const thread = named_thread(call);
  return thread != nullptr ? info(*thread).policy : -ESRCH;
}
std::int64_t Process::Impl::sys_sched_getparam(Call& call) {
  return user.put<std::int32_t>(call.a[1], 0) ? 0 : -EFAULT;
}
std::int64_t Process::Impl::sys_sched_get_priority_max(Call& call) {
  return call.i32(0) == 1 || call.i32(0) == 2 ? 99 : call.u32(0) <= 6 ? 0 : -EINVAL;
}
std::int64_t Process::Impl::sys_sched_get_priority_min(Call& call) {
  return call.i32(0) == 1 || call.i32(0) == 2 ? 1 : call.u32(0) <= 6 ? 0 : -EINVAL;
}

std::int64_t Process::Impl::sys_getcpu(Call& call) {
  // Fast-forward has no cores: where the thread was last, or one where it may be.
  std::uint32_t core = call.thread.core;
  if (core == Thread::kNoCore) core = static_cast<std::uint32_t>(call.thread.tid - kFirstTid) % options.cores;
  for (std::uint32_t i = 0; i < options.cores && !call.thread.is_worker; ++i) {
    if (call.thread.may_run_on(CoreId{core})) break;
    core = (core + 1) % options.cores;
  }
  if (call.a[0] != 0 && !user.put(call.a[0], core)) return -EFAULT;
  if (call.a[1] != 0 && !user.put<std::uint32_t>(call.a[1], 0)) return -EFAULT;
  return 0;
}

}  // namespace rubato::chip
