// Signals: sending, handlers on the guest's stack with the frame Linux builds, default actions.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

/// Polls, and waits for System V's semaphores and messages.
bool is_never_restarted(std::uint64_t number) {
  constexpr std::uint64_t kEpollPwait = 22, kPselect6 = 72, kPpoll = 73, kMsgrcv = 188, kMsgsnd = 189,
                          kSemtimedop = 192, kSemop = 193, kEpollPwait2 = 441;
  return number == kEpollPwait || number == kEpollPwait2 || number == kPselect6 || number == kPpoll ||
         number == kMsgrcv || number == kMsgsnd || number == kSemtimedop || number == kSemop;
}

constexpr std::uint64_t kUnblockable =
    (std::uint64_t{1} << (abi::kSigKill - 1)) | (std::uint64_t{1} << (abi::kSigStop - 1));
constexpr std::int32_t kSiUser = 0, kSiTkill = -6;

bool is_ignored_by_default(int signal) {
  return signal == abi::kSigChld || signal == abi::kSigCont || signal == abi::kSigUrg ||
         signal == abi::kSigWinch;
}

constexpr int kStops[] = {abi::kSigStop, abi::kSigTstp, abi::kSigTtin, abi::kSigTtou};

bool is_stop(int signal) {
  return std::find(std::begin(kStops), std::end(kStops), signal) != std::end(kStops);
}

abi::Siginfo sent_by_process(int pid, int signal, std::int32_t code) {
  abi::Siginfo siginfo{};
  siginfo.signo = signal;
  siginfo.code = code;
  siginfo.sender = {pid, kGuestUser, 0};
  return siginfo;
}

bool is_on(const abi::StackT& stack, Addr sp) {
  return (stack.flags & abi::kSsDisable) == 0 && sp - stack.sp <= stack.bytes && sp != stack.sp;
}

}  // namespace

bool Process::Impl::is_ignored(int signal) const {
  const std::uint64_t handler = actions[static_cast<std::size_t>(signal)].handler;
  return handler == 1 || (handler == 0 && is_ignored_by_default(signal));
}

void Process::Impl::kill(int signal) { exit_process(128 + signal, signal); }

// As Linux: the thread's own come first, then those of the process; of each the lowest number.
int Process::Impl::deliverable(const Thread& thread) {
  const int own = info(thread).pending.lowest(~thread.signal_mask);
  return own != 0 ? own : pending.lowest(~thread.signal_mask);
}

abi::Siginfo Process::Impl::take_signal(SignalQueue& queue, int signal) {
  PendingSignal sent = queue.take(signal);
  if (sent.timer) tell_overrun(*sent.timer, sent.info);
  return sent.info;
}

void Process::Impl::drop_pending(SignalQueue& queue, int signal) {
  for (PendingSignal& sent : queue.take_all(signal))
    if (sent.timer) tell_overrun(*sent.timer, sent.info);
}

std::int64_t Process::Impl::queue_signal(Thread* target, const abi::Siginfo& siginfo) {
  constexpr std::int32_t kSentByKill = 0;  // SI_USER: as in Linux it comes even so, if not as often as sent
  if (siginfo.signo >= abi::kFirstRealtime && !is_ignored(siginfo.signo)) {
    std::size_t queued = pending.size();
    for (const ThreadInfo& of : infos) queued += of.pid == pid ? of.pending.size() : 0;
    if (queued >= most_pending) {
      const std::uint64_t mask = target != nullptr ? info(*target).pending.mask() : pending.mask();
      if (siginfo.code != kSentByKill) return -EAGAIN;
      if ((mask & bit_of(siginfo.signo)) != 0) return 0;
    }
  }
  send_signal(target, siginfo);
  return 0;
}

// A signal that stops, and the one that lets go on, take back what the other has not done yet.
void Process::Impl::prepare_for(int signal) {
  const auto take_back = [&](int other) {
    drop_pending(pending, other);
    for (auto& of : infos)
      if (of.pid == pid) drop_pending(of.pending, other);
  };
  if (is_stop(signal)) take_back(abi::kSigCont);
  if (signal != abi::kSigCont) return;
  for (const int stop : kStops) take_back(stop);
  go_on();
}

void Process::Impl::take_default_action(int signal) {
  if (is_stop(signal)) return act_on_stop(signal);
  kill(signal);
}

// All signals but SIGKILL wait until it goes on.
void Process::Impl::keep_while_stopped(Thread* target, PendingSignal sent) {
  const int signal = sent.info.signo;
  const Thread& taker = target != nullptr ? *target : main_thread();
  if (is_ignored(signal) && (taker.signal_mask & bit_of(signal)) == 0) {
    if (sent.timer) tell_overrun(*sent.timer, sent.info);
    return;
  }
  (target == nullptr ? pending : info(*target).pending).add(sent);
  ++sent_signals;
}

void Process::Impl::send_signal(Thread* target, PendingSignal sent) {
  if (is_exited) return;
  const int signal = sent.info.signo;
  prepare_for(signal);
  if (is_exited) return;
  if (is_stopped() && signal != abi::kSigKill) return keep_while_stopped(target, sent);
  const auto waits_for = [&](const Thread& thread) {
    const Wait& wait = info(thread).wait;
    return thread.state == ThreadState::blocked && wait.kind == WaitKind::signal &&
           (wait.signals & bit_of(signal)) != 0;
  };
  const auto keeps = [&](const Thread& thread) {  // until its capsule's call is done (P42), or the disk's
    const Wait& wait = info(thread).wait;
    return thread.state == ThreadState::blocked &&
           (wait.at_once_stack || wait.kind == WaitKind::disk || wait.kind == WaitKind::vfork);
  };
  const auto takes = [&](const Thread& thread) {
    return thread.state != ThreadState::exited && !keeps(thread) &&
           ((thread.signal_mask & bit_of(signal)) == 0 || waits_for(thread));
  };
  Thread* chosen = target;
  bool is_kept = false;  // by a thread that would be chosen: the first to enter the kernel takes it
  if (target == nullptr)
    for (const auto& thread : threads) {
      if (chosen != nullptr) break;
      if (!is_own(*thread)) continue;
      if (takes(*thread)) chosen = thread.get();
      is_kept =
          is_kept || (chosen == nullptr && keeps(*thread) && (thread->signal_mask & bit_of(signal)) == 0);
    }
  if (chosen != nullptr && waits_for(*chosen)) {  // rt_sigtimedwait takes it without a handler
    const Wait& wait = info(*chosen).wait;
    if (sent.timer) tell_overrun(*sent.timer, sent.info);
    if (wait.remaining != 0) user.put(wait.remaining, sent.info);
    wake(*chosen, signal);
    return;
  }
  const bool is_blocked = chosen == nullptr || (chosen->signal_mask & bit_of(signal)) != 0;
  const bool is_default = actions[static_cast<std::size_t>(signal)].handler == 0;
  if (!is_blocked && (is_ignored(signal) || (is_default && is_stop(signal)))) {
    if (sent.timer) tell_overrun(*sent.timer, sent.info);
    return is_default && is_stop(signal) ? act_on_stop(signal) : void();
  }
  if (!is_blocked && is_default) return kill(signal);

  const bool is_for_any =
      target == nullptr && (is_blocked || (is_kept && chosen->state != ThreadState::blocked));
  (is_for_any ? pending : info(*chosen).pending).add(sent);
  ++sent_signals;
  files_changed = true;                      // for a thread that waits for signals by a descriptor
  if (is_blocked || keeps(*chosen)) return;  // delivered when it can be
  if (chosen->state != ThreadState::blocked) {
    if (observer != nullptr) observer->on_signal(*chosen);
    return;
  }
  interrupt_wait(*chosen, signal);
  deliver_pending(*chosen);
  if (!end_of_process() && chosen->state == ThreadState::runnable) announce(*chosen);
}

void Process::Impl::interrupt_wait(Thread& thread, int signal) {
  Wait& wait = info(thread).wait;
  // Nor are waits with a time limit, and sigsuspend.
  const bool restarts = (actions[static_cast<std::size_t>(signal)].flags & abi::kSaRestart) != 0 &&
                        !wait.deadline &&
                        (wait.kind == WaitKind::futex || wait.kind == WaitKind::child ||
                         (wait.kind == WaitKind::files && !is_never_restarted(wait.number)));
  if (wait.kind == WaitKind::sleep && wait.remaining != 0 && wait.deadline) {
    const std::uint64_t left = *wait.deadline > now() ? *wait.deadline - now() : 0;
    user.put(wait.remaining, abi::Timespec{static_cast<std::int64_t>(left / 1000000000),
                                           static_cast<std::int64_t>(left % 1000000000)});
  }
  put_time_left(wait.number, wait.arguments, wait.deadline);
  const std::uint64_t progress = wait.progress;
  const std::uint64_t first_argument = wait.arguments[0];
  end_wait(thread);
  if (progress != 0) {
    thread.regs.x[reg::a0] = progress;
  } else if (restarts) {
    thread.regs.x[reg::a0] = first_argument;
    thread.regs.pc -= 4;
  } else {
    thread.regs.x[reg::a0] = static_cast<std::uint64_t>(-EINTR);
  }
}

SyscallOutcome Process::Impl::deliver_pending(Thread& thread) {
  while (!is_exited && !is_stopped() && thread.state == ThreadState::runnable) {
    const int signal = deliverable(thread);
    if (signal == 0) break;
    ThreadInfo& of = info(thread);
    const std::size_t index = static_cast<std::size_t>(signal);
    const bool is_own = (of.pending.mask() & bit_of(signal)) != 0;
    const abi::Siginfo siginfo = take_signal(is_own ? of.pending : pending, signal);
    if (is_ignored(signal)) continue;
    if (actions[index].handler == 0) {
      take_default_action(signal);
    } else if (!start_handler(thread, signal, siginfo)) {
      kill(abi::kSigSegv);
    }
  }
  if (const auto end = end_of_process()) return *end;
  // A mask that sigsuspend or ppoll set lasts until a handler has saved it, or until the call is over.
  ThreadInfo& of = info(thread);
  if (of.restores_mask && thread.state == ThreadState::runnable) {
    thread.signal_mask = of.saved_mask;
    of.restores_mask = false;
  }
  if (!is_stopped() || thread.state != ThreadState::runnable) return SyscallOutcome::done;
  park(thread);
  return SyscallOutcome::blocked;
}

bool Process::Impl::start_handler(Thread& thread, int signal, const abi::Siginfo& siginfo) {
  ThreadInfo& of = info(thread);
  abi::Sigaction& action = actions[static_cast<std::size_t>(signal)];
  auto& x = thread.regs.x;
  Addr sp = x[reg::sp];
  const bool is_on_alternate = is_on(of.alternate_stack, sp);
  if ((action.flags & abi::kSaOnStack) != 0 && (of.alternate_stack.flags & abi::kSsDisable) == 0 &&
      !is_on_alternate)
    sp = of.alternate_stack.sp + of.alternate_stack.bytes;
  const Addr at = (sp - sizeof(abi::SignalFrame)) & ~Addr{15};

  abi::SignalFrame frame{};
  frame.info = siginfo;
  frame.context.stack = of.alternate_stack;
  if (is_on_alternate) frame.context.stack.flags |= abi::kSsOnStack;
  frame.context.mask = of.restores_mask ? of.saved_mask : thread.signal_mask;
  frame.context.registers[0] = thread.regs.pc;
  std::copy(x.begin() + 1, x.end(), frame.context.registers + 1);
  std::copy(thread.regs.f.begin(), thread.regs.f.end(), frame.context.floats);
  frame.context.fcsr = thread.regs.fcsr;
  if (!user.put(at, frame)) return false;

  of.restores_mask = false;
  thread.signal_mask |= action.mask;
  if ((action.flags & abi::kSaNoDefer) == 0) thread.signal_mask |= bit_of(signal);
  thread.signal_mask &= ~kUnblockable;
  x[reg::sp] = at;
  x[reg::ra] = layout.trampoline;
  x[reg::a0] = static_cast<std::uint64_t>(signal);
  x[reg::a1] = at + offsetof(abi::SignalFrame, info);
  x[reg::a2] = at + offsetof(abi::SignalFrame, context);
  thread.regs.pc = action.handler;
  thread.regs.reservation = HartState::kNoReservation;
  if ((action.flags & abi::kSaResetHand) != 0) action.handler = 0;
  return true;
}

std::int64_t Process::Impl::sys_rt_sigreturn(Call& call) {
  const auto frame = user.get<abi::SignalFrame>(call.thread.regs.x[reg::sp]);
  if (!frame) {
    kill(abi::kSigSegv);
    return 0;
  }
  auto& regs = call.thread.regs;
  regs.pc = frame->context.registers[0];
  std::copy(frame->context.registers + 1, frame->context.registers + 32, regs.x.begin() + 1);
  std::copy(frame->context.floats, frame->context.floats + 32, regs.f.begin());
  regs.fcsr = frame->context.fcsr & 0xff;
  regs.reservation = HartState::kNoReservation;
  call.thread.signal_mask = frame->context.mask & ~kUnblockable;
  call.keeps_registers = true;
  return 0;
}

bool Process::deliver_fault(Thread& thread, const Fault& fault) {
  Impl& impl = kernel_->process_of(thread);
  int signal = 0;
  abi::Siginfo siginfo{};
  siginfo.code = 1;  // ILL_ILLOPC, TRAP_BRKPT, SEGV_MAPERR, BUS_ADRALN
  siginfo.address = fault.address;
  switch (fault.kind) {
    case FaultKind::none:
    case FaultKind::task_error:
      return false;
    case FaultKind::illegal_instruction:
      signal = abi::kSigIll;
      siginfo.address = fault.pc;
      break;
    case FaultKind::breakpoint:
      signal = abi::kSigTrap;
      siginfo.address = fault.pc;
      break;
    case FaultKind::load_access:
    case FaultKind::store_access:
    case FaultKind::fetch_access:
      if ((impl.memory.attributes(fault.address) & Page::kBehindEnd) != 0) {
        if (impl.has_grown(fault.address)) {
          thread.regs.pc = fault.pc;
          return true;
        }
        signal = abi::kSigBus;
        siginfo.code = 2;  // BUS_ADRERR
        break;
      }
      signal = abi::kSigSegv;
      if ((impl.memory.attributes(fault.address) & Page::kMapped) != 0) siginfo.code = 2;  // SEGV_ACCERR
      break;
    case FaultKind::misaligned_atomic:
    case FaultKind::misaligned_fetch:
      signal = abi::kSigBus;
      break;
  }
  siginfo.signo = signal;
  if ((thread.signal_mask & bit_of(signal)) != 0) return false;
  if (impl.actions[static_cast<std::size_t>(signal)].handler <= 1) return false;
  thread.regs.pc = fault.pc;
  return impl.start_handler(thread, signal, siginfo);
}

// --- system calls
// --------------------------------------------------------------------------------------------

std::int64_t Process::Impl::sys_rt_sigaction(Call& call) {
  const std::int32_t signal = call.i32(0);
  if (call.a[3] != 8 || signal < 1 || signal > abi::kSignals) return -EINVAL;
  if (call.a[1] != 0 && (signal == abi::kSigKill || signal == abi::kSigStop)) return -EINVAL;
  std::optional<abi::Sigaction> wanted;
  if (call.a[1] != 0 && !(wanted = user.get<abi::Sigaction>(call.a[1]))) return -EFAULT;
  auto& action = actions[static_cast<std::size_t>(signal)];
  if (call.a[2] != 0 && !user.put(call.a[2], action)) return -EFAULT;
  if (!wanted) return 0;
  action = *wanted;
  action.mask &= ~kUnblockable;
  if (is_ignored(signal)) {  // what is ignored now is not pending any more
    drop_pending(pending, signal);
    for (auto& of : infos)
      if (of.pid == pid) drop_pending(of.pending, signal);
  }
  return 0;
}

std::int64_t Process::Impl::sys_rt_sigprocmask(Call& call) {
  if (call.a[3] != 8) return -EINVAL;
  std::optional<std::uint64_t> set;
  if (call.a[1] != 0 && !(set = user.get<std::uint64_t>(call.a[1]))) return -EFAULT;
  std::uint64_t mask = call.thread.signal_mask;
  if (set) {
    switch (call.i32(0)) {
      case 0:
        mask |= *set;
        break;
      case 1:
        mask &= ~*set;
        break;
      case 2:
        mask = *set;
        break;
      default:
        return -EINVAL;
    }
  }
  if (call.a[2] != 0 && !user.put(call.a[2], call.thread.signal_mask)) return -EFAULT;
  call.thread.signal_mask = mask & ~kUnblockable;
  return 0;
}

std::int64_t Process::Impl::sys_rt_sigpending(Call& call) {
  if (call.a[1] > 8) return -EINVAL;
  const std::uint64_t mask = pending.mask() | call.info.pending.mask();
  return user.write(call.a[0], &mask, call.a[1]) ? 0 : -EFAULT;
}

void Process::Impl::use_mask_for_wait(Call& call, std::uint64_t mask) {
  call.info.saved_mask = call.thread.signal_mask;
  call.info.restores_mask = true;
  call.thread.signal_mask = mask & ~kUnblockable;
}

std::int64_t Process::Impl::sys_rt_sigsuspend(Call& call) {
  if (call.a[1] != 8) return -EINVAL;
  const auto mask = user.get<std::uint64_t>(call.a[0]);
  if (!mask) return -EFAULT;
  use_mask_for_wait(call, *mask);
  Wait wait;
  wait.kind = WaitKind::sleep;  // without an end: only a handler ends it
  return block(call, wait);
}

std::int64_t Process::Impl::sys_rt_sigtimedwait(Call& call) {
  if (call.a[3] != 8) return -EINVAL;
  const auto set = user.get<std::uint64_t>(call.a[0]);
  if (!set) return -EFAULT;
  if (call.a[1] != 0 && !user.writable(call.a[1], sizeof(abi::Siginfo))) return -EFAULT;
  std::optional<std::uint64_t> deadline;
  std::int64_t error = 0;
  if (!read_deadline(call.a[2], false, false, deadline, error)) return error;
  for (SignalQueue* queue : {&call.info.pending, &pending}) {
    const int signal = queue->lowest(*set);
    if (signal == 0) continue;
    const abi::Siginfo siginfo = take_signal(*queue, signal);
    if (call.a[1] != 0) user.put(call.a[1], siginfo);
    return signal;
  }
  if (deadline && *deadline <= now()) return -EAGAIN;
  Wait wait;
  wait.kind = WaitKind::signal;
  wait.signals = *set;
  wait.remaining = call.a[1];
  wait.deadline = deadline;
  return block(call, wait);
}

std::int64_t Process::Impl::sys_kill(Call& call) {
  const std::int32_t whom = call.i32(0), signal = call.i32(1);
  if (signal < 0 || signal > abi::kSignals) return -EINVAL;
  const int own_group = kernel.children.at(pid).group;
  const auto is_meant = [&](int one, const Child& of) {
    if (whom > 0) return one == whom;
    if (whom == -1) return one != pid || kernel.processes.size() == 1;  // Linux leaves out the caller
    return of.group == (whom == 0 ? own_group : -whom);
  };
  std::vector<int> meant;
  for (const auto& [one, of] : kernel.children)
    if (is_meant(one, of)) meant.push_back(one);
  if (meant.empty()) return -ESRCH;
  // The caller last: its signal may end it.
  std::stable_partition(meant.begin(), meant.end(), [&](int one) { return one != pid; });
  std::int64_t result = 0;
  for (const int one : meant) {
    Impl* const process = kernel.find(one);  // null: it has ended, and its parent has not waited for it
    if (process == nullptr || signal == 0) continue;
    result = process->queue_signal(nullptr, sent_by_process(pid, signal, kSiUser));
  }
  return result;
}

std::int64_t Process::Impl::sys_tkill(Call& call) {
  const std::int32_t signal = call.i32(1);
  if (signal < 0 || signal > abi::kSignals || call.i32(0) <= 0) return -EINVAL;
  return signal_thread(0, call.i32(0), signal, sent_by_process(pid, signal, kSiTkill));
}

std::int64_t Process::Impl::sys_tgkill(Call& call) {
  const std::int32_t signal = call.i32(2);
  if (signal < 0 || signal > abi::kSignals || call.i32(0) <= 0 || call.i32(1) <= 0) return -EINVAL;
  return signal_thread(call.i32(0), call.i32(1), signal, sent_by_process(pid, signal, kSiTkill));
}

std::int64_t Process::Impl::signal_thread(std::int32_t of, std::int32_t tid, int signal,
                                          const abi::Siginfo& siginfo) {
  Thread* const target = find_any_thread(tid);
  if (target == nullptr || (of != 0 && info(*target).pid != of)) return -ESRCH;
  return signal != 0 ? kernel.process_of(*target).queue_signal(target, siginfo) : 0;
}

std::int64_t Process::Impl::sys_rt_sigqueueinfo(Call& call) {
  const std::int32_t signal = call.i32(1);
  if (signal < 0 || signal > abi::kSignals) return -EINVAL;
  auto siginfo = user.get<abi::Siginfo>(call.a[2]);
  if (!siginfo) return -EFAULT;
  Impl* const process = kernel.find(call.i32(0));
  if (process == nullptr) return kernel.children.contains(call.i32(0)) ? 0 : -ESRCH;
  siginfo->signo = signal;
  return signal != 0 ? process->queue_signal(nullptr, *siginfo) : 0;
}

std::int64_t Process::Impl::sys_rt_tgsigqueueinfo(Call& call) {
  const std::int32_t signal = call.i32(2);
  if (signal < 0 || signal > abi::kSignals) return -EINVAL;
  auto siginfo = user.get<abi::Siginfo>(call.a[3]);
  if (!siginfo) return -EFAULT;
  siginfo->signo = signal;
  return signal_thread(call.i32(0), call.i32(1), signal, *siginfo);
}

std::int64_t Process::Impl::sys_sigaltstack(Call& call) {
  constexpr std::uint64_t kMinBytes = 2048;
  abi::StackT old = call.info.alternate_stack;
  const bool is_used = is_on(old, call.thread.regs.x[reg::sp]);
  if (is_used) old.flags |= abi::kSsOnStack;
  std::optional<abi::StackT> wanted;
  if (call.a[0] != 0) {
    wanted = user.get<abi::StackT>(call.a[0]);
    if (!wanted) return -EFAULT;
    if (is_used) return -EPERM;
    if ((wanted->flags & ~(abi::kSsDisable | abi::kSsOnStack)) != 0) return -EINVAL;
    if ((wanted->flags &= abi::kSsDisable) != 0) *wanted = {0, abi::kSsDisable, 0, 0};
    if (wanted->flags == 0 && wanted->bytes < kMinBytes) return -ENOMEM;
  }
  if (call.a[1] != 0 && !user.put(call.a[1], old)) return -EFAULT;
  if (wanted) call.info.alternate_stack = *wanted;
  return 0;
}

}  // namespace rubato::chip
