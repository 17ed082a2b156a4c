// Job control: groups and sessions of processes, and signals that stop a process and let it go on.
// Glossary: a *stopped* process has a signal in Child::stopped_by; a *parked* thread of it could run and
// waits for the process to go on. Threads that waited for something else before go on waiting, but nothing
// wakes them: they look again when the process goes on. Invariant: no thread of a stopped process is a waiter
// of a futex, so wakes go to others.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "chip/os/process_impl.hpp"

namespace rubato::chip {
namespace {

constexpr std::int32_t kSentByKernel = 0x80;  // SI_KERNEL

/// Calls that are never restarted where the process was stopped meanwhile (signal(7)).
bool ends_by_stop(const Wait& wait) {
  constexpr std::uint64_t kEpollPwait = 22, kEpollPwait2 = 441;
  return wait.kind == WaitKind::signal || wait.number == kEpollPwait || wait.number == kEpollPwait2;
}

/// The kernel waits in these even if a signal comes.
bool is_uninterruptible(const Wait& wait) {
  return wait.kind == WaitKind::disk || wait.kind == WaitKind::vfork;
}

}  // namespace

// --- stopping
// ------------------------------------------------------------------------------------------------

void Process::Impl::act_on_stop(int signal) {
  if (signal != abi::kSigStop && is_orphaned(kernel.children.at(pid).group)) return;
  const std::string why = observer != nullptr ? observer->why_no_processes() : "";
  if (why.empty()) return stop(signal);
  if (!std::exchange(kernel.has_told_of_stops, true))
    log(fmt::format("signal {} would stop process {}, but {}: it goes on (reported once)", signal, pid, why));
}

void Process::Impl::stop(int signal) {
  Child& own = kernel.children.at(pid);
  if (own.stopped_by != 0) return;
  own.stopped_by = signal;
  for (const auto& thread : threads) {
    if (!is_own(*thread)) continue;
    const Wait& wait = info(*thread).wait;
    if (thread->state == ThreadState::blocked && wait.kind == WaitKind::futex) leave_futex(*thread);
    const bool runs = thread->state == ThreadState::runnable && thread.get() != kernel.in_call;
    if (runs && observer != nullptr) observer->on_signal(*thread);
  }
  tell_parent_of(Child::News::stopped);
}

void Process::Impl::park(Thread& thread) {
  thread.state = ThreadState::blocked;
  info(thread).wait.kind = WaitKind::stop;
}

void Process::Impl::announce(Thread& thread) {
  if (is_stopped()) return park(thread);
  if (observer != nullptr) observer->on_runnable(thread);
}

// --- going on
// ------------------------------------------------------------------------------------------------

void Process::Impl::go_on() {
  if (!is_stopped()) return;
  kernel.children.at(pid).stopped_by = 0;
  tell_parent_of(Child::News::continued);
  for (std::size_t i = 0; i < threads.size() && !is_exited; ++i) {
    Thread& thread = *threads[i];
    if (is_own(thread) && thread.state == ThreadState::blocked) go_on_with_wait(thread);
  }
}

// Signals that came meanwhile are delivered first, as if they had come now.
void Process::Impl::go_on_with_wait(Thread& thread) {
  Wait& wait = info(thread).wait;
  if (wait.kind == WaitKind::stop) {  // signals are delivered to it before it runs
    end_wait(thread);
    return announce(thread);
  }
  if (is_uninterruptible(wait)) return;
  if (ends_by_stop(wait)) return wake(thread, -EINTR);
  if (const int signal = deliverable(thread); signal != 0) {
    interrupt_wait(thread, signal);
    deliver_pending(thread);
    if (!end_of_process() && thread.state == ThreadState::runnable) announce(thread);
    return;
  }
  if (wait.deadline) timeouts.emplace(*wait.deadline, thread.tid);
  if (wait.kind == WaitKind::files) files_changed = true;
  if (wait.kind == WaitKind::child) retry(thread, false);
  if (wait.kind != WaitKind::futex) return;
  leave_futex(thread);  // it may have begun to wait when the process was stopped already
  wait.key = key_of(wait.futex);
  if (!retry(thread, false)) futexes[wait.key].push_back(&thread);
}

// --- the parent
// ----------------------------------------------------------------------------------------------

void Process::Impl::tell_parent_of(Child::News news) {
  Child& own = kernel.children.at(pid);
  own.news = news;
  Impl* const parent = kernel.find(own.parent);
  if (parent == nullptr) return;
  const abi::Siginfo siginfo = own.siginfo(pid, abi::kSigChld, news);
  parent->retry_child_waits();
  if ((parent->actions[abi::kSigChld].flags & abi::kSaNoChildStop) == 0)
    parent->send_signal(nullptr, siginfo);
}

// --- groups
// --------------------------------------------------------------------------------------------------

bool Process::Impl::is_orphaned(int group) const {
  return std::none_of(kernel.children.begin(), kernel.children.end(), [&](const auto& member) {
    const Child& of = member.second;
    if (of.group != group || of.has_ended) return false;
    const auto parent = kernel.children.find(of.parent);
    return parent != kernel.children.end() && parent->second.session == of.session &&
           parent->second.group != group;
  });
}

std::vector<int> Process::Impl::groups_held() const {
  std::vector<int> groups;
  for (const auto& [one, of] : kernel.children)
    if ((one == pid || of.parent == pid) && !is_orphaned(of.group)) groups.push_back(of.group);
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

void Process::Impl::hang_up(const std::vector<int>& groups) {
  for (const int group : groups) {
    std::vector<int> members;
    bool is_any_stopped = false;
    for (const auto& [one, of] : kernel.children) {
      if (of.group != group || of.has_ended) continue;
      members.push_back(one);
      is_any_stopped = is_any_stopped || of.stopped_by != 0;
    }
    if (!is_any_stopped || !is_orphaned(group)) continue;
    for (const int signal : {abi::kSigHup, abi::kSigCont})
      for (const int one : members) {
        abi::Siginfo siginfo{};
        siginfo.signo = signal;
        siginfo.code = kSentByKernel;
        if (Impl* const process = kernel.find(one)) process->send_signal(nullptr, siginfo);
      }
  }
}

std::int64_t Process::Impl::sys_setpgid(Call& call) {
  const int whom = call.i32(0) == 0 ? pid : call.i32(0);
  const int group = call.i32(1) == 0 ? whom : call.i32(1);
  if (group < 0) return -EINVAL;
  const auto found = kernel.children.find(whom);
  if (found == kernel.children.end()) return find_any_thread(whom) != nullptr ? -EINVAL : -ESRCH;
  Child& of = found->second;
  const int session = kernel.children.at(pid).session;
  if (of.parent == pid) {
    if (of.session != session) return -EPERM;
    if (of.has_executed) return -EACCES;
  } else if (whom != pid) {
    return -ESRCH;
  }
  if (of.session == whom) return -EPERM;
  const bool is_there =
      whom == group || std::any_of(kernel.children.begin(), kernel.children.end(), [&](const auto& other) {
        return other.second.group == group && other.second.session == session;
      });
  if (!is_there) return -EPERM;
  of.group = group;
  return 0;
}

std::int64_t Process::Impl::sys_getpgid(Call& call) {
  const auto found = kernel.children.find(call.i32(0) == 0 ? pid : call.i32(0));
  return found != kernel.children.end() ? found->second.group : -ESRCH;
}

std::int64_t Process::Impl::sys_getsid(Call& call) {
  const auto found = kernel.children.find(call.i32(0) == 0 ? pid : call.i32(0));
  return found != kernel.children.end() ? found->second.session : -ESRCH;
}

std::int64_t Process::Impl::sys_setsid(Call&) {
  const bool leads = std::any_of(kernel.children.begin(), kernel.children.end(),
                                 [this](const auto& other) { return other.second.group == pid; });
  if (leads) return -EPERM;
  Child& own = kernel.children.at(pid);
  own.group = own.session = pid;
  return pid;
}

}  // namespace rubato::chip
