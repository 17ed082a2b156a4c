// Processes that a program makes: clone without CLONE_THREAD (fork, vfork, posix_spawn), their end, and the
// parent's wait for it.
// Invariant: Kernel::children holds every process that runs, and every one that has ended and that its parent
// can still wait for.
// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "chip/os/fault_report.hpp"
#include "chip/os/pid_file.hpp"
#include "chip/os/process_impl.hpp"
#include "chip/os/syscall_names.hpp"

namespace rubato::chip {
namespace {

constexpr std::uint64_t kClearHandlers = std::uint64_t{1} << 32;
constexpr std::uint64_t kNoChildWait = 2;  // SA_NOCLDWAIT
constexpr std::uint32_t kNoHang = 1, kStopped = 2, kExited = 4, kContinued = 8, kNoReap = 0x01000000,
                        kAnyChild = 0x40000000, kClones = 0x80000000, kKinds = 0xe0000000;
enum QueryKind : std::int32_t { kAll = 0, kPid = 1, kGroup = 2, kPidfd = 3 };

struct Usage {
  abi::Timeval user, system;
  std::int64_t others[14];
};

Usage usage_of(const Child& child) {
  Usage usage{};
  usage.user = {static_cast<std::int64_t>(child.cpu_nanoseconds / 1000000000),
                static_cast<std::int64_t>(child.cpu_nanoseconds / 1000 % 1000000)};
  return usage;
}

}  // namespace

// --- what its parent hears of it
// -----------------------------------------------------------------------------------------

Child::News Child::news_for(std::uint32_t options) const {
  if (has_ended) return (options & kExited) != 0 ? News::ended : News::none;
  const std::uint32_t wanted = news == News::stopped ? kStopped : kContinued;
  return (options & wanted) != 0 ? news : News::none;
}

std::int32_t Child::status_of(News told) const {
  constexpr std::int32_t kStatusOfContinued = 0xffff, kMarkOfStopped = 0x7f;
  if (told == News::continued) return kStatusOfContinued;
  return told == News::stopped ? stopped_by << 8 | kMarkOfStopped : status;
}

abi::Siginfo Child::siginfo(int pid, int signal, News told) const {
  enum Code : std::int32_t { exited = 1, killed = 2, stopped = 5, continued = 6 };
  const std::int32_t killed_by = status & 0x7f;
  abi::Siginfo siginfo{};
  siginfo.signo = signal;
  siginfo.code = killed_by != 0 ? killed : exited;
  siginfo.child = {pid, kGuestUser, killed_by != 0 ? killed_by : status >> 8};
  if (told == News::ended) return siginfo;
  siginfo.code = told == News::stopped ? stopped : continued;
  siginfo.child.status = told == News::stopped ? stopped_by : abi::kSigCont;
  return siginfo;
}

// --- the beginning of a process
// ------------------------------------------------------------------------------

Process::Impl::Impl(const Impl& parent, int its_pid, std::shared_ptr<GuestSpace> its_space, bool shares_files)
    : kernel(parent.kernel),
      pid(its_pid),
      options(parent.options),
      space(std::move(its_space)),
      memory(space != nullptr ? space->memory : parent.memory),
      user(memory),
      actions(parent.actions),
      limits(parent.limits),
      settings(parent.settings),
      nice(parent.nice),
      most_pending(parent.most_pending),
      most_pending_hard(parent.most_pending_hard),
      timer_files(parent.timer_files),
      image(parent.image),
      heap(&memory == &parent.memory ? parent.heap : std::make_shared<Heap>(*parent.heap)),
      stack_low(parent.stack_low),
      stack_high(parent.stack_high),
      initial_sp(parent.initial_sp),
      file_table(shares_files ? parent.file_table : std::make_shared<FileTable>(*parent.file_table)),
      directory(parent.directory),
      umask(parent.umask) {
  user.observe(kernel.access_observer);
}

std::int64_t Process::Impl::refuse_processes(Call& call) {
  const std::string why = observer != nullptr ? observer->why_no_processes() : "";
  if (why.empty()) return 0;
  if (!std::exchange(kernel.has_refused_processes, true))
    log(fmt::format(
        "system call {} would make or change a process, but {}: thread {} got ENOSYS (reported once)",
        syscall_name(call.number), why, call.thread.tid));
  ++unknown[call.number];
  return -ENOSYS;
}

std::shared_ptr<GuestSpace> Process::Impl::make_space(Call& call, std::int64_t& error) {
  std::string why;
  try {
    auto made = observer != nullptr ? observer->make_space(why)
                                    : std::make_shared<GuestSpace>(++kernel.last_space, memory.size());
    if (made != nullptr) return made;
  } catch (const Error& refused) {  // the host's
    why = refused.what();
  }
  if (!std::exchange(kernel.has_told_of_limit, true))
    log(fmt::format("system call {}: {}: thread {} got EAGAIN (reported once)", syscall_name(call.number),
                    why, call.thread.tid));
  error = -EAGAIN;
  return nullptr;
}

std::int64_t Process::Impl::clone_process(Call& call, std::uint64_t flags, Addr stack, Addr parent_tid,
                                          Addr tls, Addr child_tid, Addr pidfd) {
  constexpr std::uint64_t kKnown = abi::kCloneSignalMask | abi::kCloneVm | abi::kClonePidfd |
                                   abi::kCloneVfork | abi::kCloneFiles | abi::kCloneSetTls |
                                   abi::kCloneParentSetTid | abi::kCloneChildClearTid |
                                   abi::kCloneChildSetTid | kClearHandlers;
  constexpr std::size_t kMost = 32768;
  if ((flags & abi::kCloneSignalMask) > abi::kSignals) return -EINVAL;
  if ((flags & ~kKnown) != 0)
    return not_implemented(
        call, fmt::format("{} with the flags {:#x}", syscall_name(call.number), flags & ~kKnown));
  if (const auto error = refuse_processes(call); error < 0) return error;
  if (kernel.children.size() >= kMost) return -EAGAIN;
  if ((flags & abi::kCloneParentSetTid) != 0 && !user.writable(parent_tid, 4)) return -EFAULT;
  if ((flags & abi::kCloneChildSetTid) != 0 && !user.writable(child_tid, 4)) return -EFAULT;
  const bool has_pidfd = (flags & abi::kClonePidfd) != 0;
  if (has_pidfd && !user.writable(pidfd, 4)) return -EFAULT;
  if (has_pidfd && !files.has_room()) return -EMFILE;

  std::shared_ptr<GuestSpace> its_space = space;
  if ((flags & abi::kCloneVm) == 0) {
    if (!has_room(memory.writable_bytes())) return -ENOMEM;
    std::int64_t error = 0;
    its_space = make_space(call, error);
    if (its_space == nullptr) return error;
    const bool is_copied = its_space->memory.copy_from(memory);
    note_attached();
    rename_futexes();
    if (!is_copied) return -ENOMEM;
  }
  const int its_pid = kFirstTid + static_cast<int>(threads.size());
  auto made = std::make_unique<Impl>(*this, its_pid, its_space, (flags & abi::kCloneFiles) != 0);
  if ((flags & kClearHandlers) != 0)
    for (auto& action : made->actions)
      if (action.handler > 1) action = {};
  Impl& child = *made;
  kernel.processes.emplace(its_pid, std::move(made));
  const Child& own = kernel.children.at(pid);
  Child& of_child = kernel.children.emplace(its_pid, Child{}).first->second;
  of_child.parent = pid;
  of_child.group = own.group;
  of_child.session = own.session;
  of_child.exit_signal = static_cast<int>(flags & abi::kCloneSignalMask);
  ++kernel.made;

  Thread& thread = kernel.create_thread(its_pid);
  ThreadInfo& of_thread = info(thread);
  of_thread.inherit(call.info);
  // A process that shares memory and runs beside its parent must not share the stack of handlers.
  if ((flags & abi::kCloneVm) == 0 || (flags & abi::kCloneVfork) != 0)
    of_thread.alternate_stack = call.info.alternate_stack;
  thread.space = its_space.get();
  thread.regs = call.thread.regs;
  thread.regs.reservation = HartState::kNoReservation;
  thread.regs.x[reg::a0] = 0;
  if (stack != 0) thread.regs.x[reg::sp] = stack;
  if (stack == 0) thread.stack_low = call.thread.stack_low;
  thread.stack_high = stack != 0 ? stack : call.thread.stack_high;
  if ((flags & abi::kCloneSetTls) != 0) thread.regs.x[reg::tp] = tls;
  if ((flags & abi::kCloneChildClearTid) != 0) thread.clear_child_tid = child_tid;
  if ((flags & abi::kCloneParentSetTid) != 0) user.put(parent_tid, its_pid);
  if ((flags & abi::kCloneChildSetTid) != 0) child.user.put(child_tid, its_pid);
  if (has_pidfd) user.put(pidfd, static_cast<std::int32_t>(install_pidfd(its_pid, 0)));
  thread.signal_mask = call.thread.signal_mask;
  thread.affinity = call.thread.affinity;
  if ((flags & abi::kCloneVfork) != 0) {
    of_child.vfork_waiter = call.thread.tid;
    Wait wait;
    wait.kind = WaitKind::vfork;
    block(call, wait);
  }
  if (observer != nullptr) observer->on_runnable(thread);
  return its_pid;
}

// --- its end
// -------------------------------------------------------------------------------------------------

bool Process::Impl::shares_memory() const {
  return std::any_of(kernel.processes.begin(), kernel.processes.end(), [this](const auto& other) {
    return other.second.get() != this && &other.second->memory == &memory;
  });
}

void Process::Impl::end_threads(const Thread* but) {
  const bool is_shared = shares_memory();
  for (const auto& thread : threads) {
    if (!is_own(*thread) || thread.get() == but || thread->state == ThreadState::exited) continue;
    if (thread->state == ThreadState::blocked) end_wait(*thread);
    for (int signal = 1; signal <= abi::kSignals && !info(*thread).pending.empty(); ++signal)
      drop_pending(info(*thread).pending, signal);
    thread->state = ThreadState::exited;
    release_robust_list(*thread);  // other processes may have mapped its locks
    if (is_shared && thread->clear_child_tid != 0 && user.put<std::uint32_t>(thread->clear_child_tid, 0))
      futex_wake(thread->clear_child_tid, 1, ~std::uint32_t{0});
    if (thread.get() != kernel.in_call && observer != nullptr) observer->on_ended(*thread);
  }
}

void Process::Impl::release_vfork_waiter() {
  const auto waiter = std::exchange(kernel.children.at(pid).vfork_waiter, std::nullopt);
  if (!waiter) return;
  Thread* const thread = find_any_thread(*waiter);
  if (thread != nullptr && info(*thread).wait.kind == WaitKind::vfork)
    kernel.process_of(*thread).wake(*thread, pid);
}

void Process::Impl::close_files() {
  if (file_table.use_count() == 1) files = FileTable{};
  file_table.reset();  // it makes no call any longer
  if (is_exited) kernel.locks.release(pid);
  files_changed = true;
}

void Process::Impl::end_child(int exit_status, int signal) {
  const std::vector<int> groups = groups_held();
  Child& own = kernel.children.at(pid);
  own.cpu_nanoseconds = cpu_clock_now(0) + waited_nanoseconds;
  own.has_ended = true;
  own.stopped_by = 0;
  own.status = signal != 0 ? signal : exit_status << 8;
  end_threads(nullptr);
  undo_semaphores();
  note_left();
  release_vfork_waiter();
  close_files();
  const auto here = kernel.processes.find(pid);
  kernel.buried.push_back(std::move(here->second));  // this function is its own
  kernel.processes.erase(here);
  kernel.drop_removed_segments();
  const std::vector<int> left = leave_children();
  tell_parent(own);
  tell_orphans(left);
  hang_up(groups);
}

std::vector<int> Process::Impl::leave_children() {
  int heir = kernel.children.at(pid).parent;
  while (heir != Child::kInit && !kernel.children.at(heir).is_subreaper)
    heir = kernel.children.at(heir).parent;
  std::vector<int> left;
  for (auto child = kernel.children.begin(); child != kernel.children.end();) {
    Child& of = child->second;
    if (of.parent != pid) {
      ++child;
      continue;
    }
    of.parent = heir;
    of.exit_signal = abi::kSigChld;
    const bool is_gone = of.has_ended && heir == Child::kInit;
    if (!is_gone) left.push_back(child->first);
    child = is_gone ? kernel.children.erase(child) : std::next(child);
  }
  return left;
}

void Process::Impl::tell_orphans(const std::vector<int>& left) {
  for (const int child : left) {
    const auto found = kernel.children.find(child);
    Impl* const heir = found != kernel.children.end() ? kernel.find(found->second.parent) : nullptr;
    if (heir == nullptr || !found->second.has_ended) continue;
    const abi::Siginfo siginfo = found->second.siginfo(child, abi::kSigChld, Child::News::ended);
    heir->retry_child_waits();
    heir->send_signal(nullptr, siginfo);
  }
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].death_signal == 0 || std::find(left.begin(), left.end(), infos[i].pid) == left.end())
      continue;
    abi::Siginfo siginfo{};  // SI_USER, of the parent
    siginfo.signo = infos[i].death_signal;
    siginfo.sender = {pid, kGuestUser, 0};
    Impl* const process = kernel.find(infos[i].pid);
    if (process != nullptr && threads[i]->state != ThreadState::exited)
      process->send_signal(nullptr, siginfo);
  }
}

void Process::Impl::tell_parent(const Child& of) {
  Impl* const parent = kernel.find(of.parent);
  const int signal = of.exit_signal;
  const abi::Siginfo siginfo = of.siginfo(pid, signal, Child::News::ended);
  bool is_forgotten = parent == nullptr;
  if (parent != nullptr && signal == abi::kSigChld) {
    const abi::Sigaction& action = parent->actions[abi::kSigChld];
    is_forgotten = action.handler == 1 || (action.flags & kNoChildWait) != 0;
  }
  if (is_forgotten) kernel.children.erase(pid);  // and `of` with it
  if (parent == nullptr) return;
  parent->retry_child_waits();
  if (signal != 0) parent->send_signal(nullptr, siginfo);
}

// A stopped process looks for itself when it goes on.
void Process::Impl::retry_child_waits() {
  if (is_stopped()) return;
  std::vector<Thread*> waiting;
  for (const auto& thread : threads)
    if (is_own(*thread) && info(*thread).wait.kind == WaitKind::child) waiting.push_back(thread.get());
  for (Thread* const thread : waiting) retry(*thread, false);
}

bool Process::end_by_fault(Thread& thread, const Fault& fault) {
  Impl& process = kernel_->process_of(thread);
  if (process.is_first()) return false;
  const int signal = signal_of(fault.kind);
  process.log(fmt::format("process {} ({}) was ended by signal {}: {}", process.pid,
                          process.options.program.substr(process.options.program.find_last_of('/') + 1),
                          signal, describe(fault, thread, *this)));
  process.kill(signal);
  impl_->retry_file_waits();
  return true;
}

void Process::Kernel::bury() { buried.clear(); }

std::set<const AddressSpace*> Process::Kernel::memories() const {
  std::set<const AddressSpace*> found;
  for (const auto& [pid, process] : processes) found.insert(&process->memory);
  return found;
}

// --- the wait for it
// -----------------------------------------------------------------------------------------

bool Process::Impl::is_asked_for(int child, const Child& of, const ChildQuery& query) const {
  const bool is_clone = of.exit_signal != abi::kSigChld;
  if (of.parent != pid) return false;
  if ((query.options & kAnyChild) == 0 && is_clone != ((query.options & kClones) != 0)) return false;
  if (query.kind == kAll) return true;
  return query.kind == kGroup ? of.group == query.id : child == query.id;
}

std::int64_t Process::Impl::await_child(Call& call, const ChildQuery& query) {
  bool is_there = false;
  for (const auto& [child, of] : kernel.children) {
    if (!is_asked_for(child, of, query)) continue;
    if (of.news_for(query.options) != Child::News::none) return child;
    is_there = is_there || !of.has_ended;
  }
  if (!is_there) return -ECHILD;
  if ((query.options & kNoHang) != 0) return 0;
  if (query.may_not_wait) return -EAGAIN;
  Wait wait;
  wait.kind = WaitKind::child;
  return block(call, wait);
}

void Process::Impl::take_news(int child, Child::News told) {
  Child& of = kernel.children.at(child);
  if (told != Child::News::ended) {
    of.news = Child::News::none;
    return;
  }
  waited_nanoseconds += of.cpu_nanoseconds;
  kernel.children.erase(child);
}

std::int64_t Process::Impl::sys_wait4(Call& call) {
  const std::int32_t whom = call.i32(0);
  const std::uint32_t wanted = call.u32(2);
  if ((wanted & ~(kNoHang | kStopped | kContinued | kKinds)) != 0) return -EINVAL;
  if (whom == std::numeric_limits<std::int32_t>::min()) return -ESRCH;
  ChildQuery query{kAll, 0, wanted | kExited};
  if (whom > 0) query = {kPid, whom, query.options};
  if (whom == 0) query = {kGroup, kernel.children.at(pid).group, query.options};
  if (whom < -1) query = {kGroup, -whom, query.options};
  const std::int64_t child = await_child(call, query);
  if (child <= 0) return child;
  const Child& of = kernel.children.at(static_cast<int>(child));
  const Child::News told = of.news_for(query.options);
  if ((call.a[1] != 0 && !user.writable(call.a[1], sizeof of.status)) ||
      (call.a[3] != 0 && !user.writable(call.a[3], sizeof(Usage))))
    return -EFAULT;
  if (call.a[1] != 0) user.put(call.a[1], of.status_of(told));
  if (call.a[3] != 0) user.put(call.a[3], usage_of(of));
  take_news(static_cast<int>(child), told);
  return child;
}

std::int64_t Process::Impl::sys_waitid(Call& call) {
  const std::uint32_t wanted = call.u32(3);
  ChildQuery query{call.i32(0), call.i32(1), wanted};
  if (query.kind < kAll || query.kind > kPidfd) return -EINVAL;
  if ((wanted & ~(kNoHang | kStopped | kExited | kContinued | kNoReap | kKinds)) != 0) return -EINVAL;
  if ((wanted & (kExited | kStopped | kContinued)) == 0) return -EINVAL;
  if (query.kind == kPid && query.id <= 0) return -EINVAL;
  if (query.kind == kGroup && query.id < 0) return -EINVAL;
  if (query.kind == kGroup && query.id == 0) query.id = kernel.children.at(pid).group;
  if (query.kind == kPidfd && query.id < 0) return -EINVAL;
  if (query.kind == kPidfd) {
    const auto file = pid_file(query.id);
    if (!file) return -EBADF;
    query.id = file->pid();
    query.may_not_wait = (file->flags & abi::kNonBlock) != 0;
  }
  const std::int64_t child = await_child(call, query);
  if (child < 0 || call.outcome == SyscallOutcome::blocked) return child;
  abi::Siginfo siginfo{};
  Usage usage{};
  Child::News told = Child::News::none;
  if (child != 0) {
    const Child& of = kernel.children.at(static_cast<int>(child));
    told = of.news_for(wanted);
    siginfo = of.siginfo(static_cast<int>(child), abi::kSigChld, told);
    usage = usage_of(of);
  }
  if ((call.a[2] != 0 && !user.writable(call.a[2], sizeof siginfo)) ||
      (call.a[4] != 0 && !user.writable(call.a[4], sizeof usage)))
    return -EFAULT;
  if (call.a[2] != 0) user.put(call.a[2], siginfo);
  if (call.a[4] != 0 && child != 0) user.put(call.a[4], usage);
  if (child != 0 && (wanted & kNoReap) == 0) take_news(static_cast<int>(child), told);
  return 0;
}

// --- names
// ----------------------------------------------------------------------------------------

std::int64_t Process::Impl::sys_getpid(Call&) { return pid; }
std::int64_t Process::Impl::sys_getppid(Call&) { return kernel.children.at(pid).parent; }

}  // namespace rubato::chip
