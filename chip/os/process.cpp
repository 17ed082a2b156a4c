// Process: start, dispatch of system calls, waits and their ends.
// SPDX-License-Identifier: MIT
#include "chip/os/process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "base/check.hpp"
#include "base/error.hpp"
#include "chip/os/initial_stack.hpp"
#include "chip/os/process_impl.hpp"
#include "chip/os/syscall_names.hpp"

namespace rubato::chip {
namespace {

// `li a7, 139; ecall`: where signal handlers return to. The unwinder knows the frame by these words.
constexpr std::uint32_t kSigreturnCode[] = {0x08b00893, 0x00000073};
constexpr std::uint64_t kMinStackBytes = 64 << 10;

/// Replaces the caller's registers, or gives them to a thread: of a capsule's nothing may go on elsewhere.
bool gives_up_registers(std::uint64_t number) {
  constexpr std::uint64_t kSigreturn = 139, kClone = 220, kExecve = 221, kClone3 = 435;
  return number == kSigreturn || number == kClone || number == kExecve || number == kClone3;
}

/// Another thread's wait ends, and its stack, which is tracked, gets a handler's frame.
bool sends_signal(std::uint64_t number) {
  constexpr std::uint64_t kKill = 129, kTkill = 130, kTgkill = 131, kSigqueue = 138, kTgsigqueue = 240;
  return number == kKill || number == kTkill || number == kTgkill || number == kSigqueue ||
         number == kTgsigqueue;
}

}  // namespace

Process::Impl::Impl(ProcessOptions process_options, AddressSpace& space, const GuestClock& guest_clock)
    : options(std::move(process_options)),
      memory(space),
      user(space),
      clock(guest_clock),
      disk(options.disk, options.frequency_mhz),
      resolver(options.sandbox, [this](const std::string& sentence) { log(sentence); }),
      directory(resolver.initial_directory()),
      rng(mix64(options.seed ^ 0x6f73ULL)) {
  if (options.stack_bytes < kMinStackBytes || options.stack_bytes > layout.most_stack_bytes)
    throw UsageError("run.stack_bytes is {}, expected {} to {}", options.stack_bytes, kMinStackBytes,
                     layout.most_stack_bytes);
  program = load_elf(options.program, memory);

  brk_start = brk_now = brk_mapped = program.end;
  stack_high = layout.stack_top;
  stack_low = stack_high - ((options.stack_bytes + AddressSpace::kPageMask) & ~AddressSpace::kPageMask);
  memory.map(stack_low, stack_high - stack_low, Page::kRead | Page::kWrite);
  memory.map(layout.trampoline, AddressSpace::kPageBytes, Page::kRead | Page::kExecute);
  std::memcpy(memory.host(layout.trampoline), kSigreturnCode, sizeof kSigreturnCode);

  // A guest that writes to a closed pipe gets its own SIGPIPE; the simulator must survive the host's.
  std::signal(SIGPIPE, SIG_IGN);
  files.put(0, {std::make_shared<StandardStream>(options.stdin_fd, abi::kReadOnly, nullptr)});
  files.put(1, {std::make_shared<StandardStream>(options.stdout_fd, abi::kWriteOnly, nullptr)});
  files.put(2,
            {std::make_shared<StandardStream>(options.stderr_fd, abi::kWriteOnly, options.stderr_listener)});

  Thread& main = create_thread();
  main.stack_low = stack_low;
  main.stack_high = stack_high;
  main.regs.pc = program.entry;
  initial_sp = build_initial_stack(options, program, memory, stack_low, stack_high, rng);
  main.regs.x[reg::sp] = initial_sp;
}

// --- threads and waits
// ---------------------------------------------------------------------------------------

Thread* Process::Impl::find_thread(std::int64_t tid) {
  const std::int64_t index = tid - kFirstTid;
  if (index < 0 || index >= static_cast<std::int64_t>(threads.size())) return nullptr;
  Thread* thread = threads[static_cast<std::size_t>(index)].get();
  return thread->state == ThreadState::exited ? nullptr : thread;
}

Thread& Process::Impl::create_thread() {
  threads.push_back(std::make_unique<Thread>());
  infos.emplace_back();
  threads.back()->tid = kFirstTid + static_cast<int>(threads.size()) - 1;
  return *threads.back();
}

std::size_t Process::Impl::live_threads() const {
  return static_cast<std::size_t>(std::count_if(threads.begin(), threads.end(), [](const auto& thread) {
    return thread->state != ThreadState::exited;
  }));
}

std::int64_t Process::Impl::block(Call& call, Wait wait) {
  // A capsule's call gets no signal, which its thread keeps, and no lock, which its task would own.
  if (is_at_once() && (wait.kind == WaitKind::signal || wait.is_lock)) return -EAGAIN;
  if (is_at_once()) wait.at_once_stack = user.bound_stack();
  call.outcome = SyscallOutcome::blocked;
  if (call.thread.state == ThreadState::blocked) {  // tried again, and has to wait on
    call.info.wait.progress = wait.progress;
    return 0;
  }
  wait.number = call.number;
  wait.arguments = call.a;
  if (wait.kind == WaitKind::futex) futexes[wait.futex].push_back(&call.thread);
  if (wait.kind == WaitKind::files) file_waits.push_back(&call.thread);
  if (wait.deadline) timeouts.emplace(*wait.deadline, call.thread.tid);
  call.info.wait = wait;
  call.thread.state = ThreadState::blocked;
  return 0;
}

void Process::Impl::end_wait(Thread& thread) {
  Wait& wait = info(thread).wait;
  if (wait.kind == WaitKind::futex) {
    const auto queue = futexes.find(wait.futex);
    if (queue != futexes.end()) {
      std::erase(queue->second, &thread);
      if (queue->second.empty()) futexes.erase(queue);
    }
  }
  if (wait.kind == WaitKind::files) std::erase(file_waits, &thread);
  info(thread).transfer.reset();
  if (wait.deadline) timeouts.erase({*wait.deadline, thread.tid});
  wait = {};
  thread.state = ThreadState::runnable;
}

void Process::Impl::wake(Thread& thread, std::int64_t result) {
  end_wait(thread);
  ThreadInfo& of = info(thread);
  if (of.restores_mask) thread.signal_mask = of.saved_mask;
  of.restores_mask = false;
  thread.regs.x[reg::a0] = static_cast<std::uint64_t>(result);
  if (observer != nullptr) observer->on_runnable(thread);
}

bool Process::Impl::retry(Thread& thread, bool timed_out) {
  ThreadInfo& of = info(thread);
  Call call{thread, of, of.wait.number, of.wait.arguments};
  call.timed_out = timed_out;
  call.progress = of.wait.progress;
  calling = &of;
  if (observer != nullptr) observer->on_retry(&thread);
  const auto bound = of.wait.at_once_stack;
  if (bound) user.bind(bound->first, bound->second);
  const std::int64_t result = (this->*handler_of(call.number))(call);
  if (bound) user.unbind();
  if (observer != nullptr) observer->on_retry(nullptr);
  if (call.outcome == SyscallOutcome::blocked) return false;
  wake(thread, result);
  return true;
}

void Process::Impl::retry_file_waits() {
  while (files_changed && !is_exited) {
    files_changed = false;
    const std::vector<Thread*> waiting(file_waits.begin(), file_waits.end());
    for (Thread* thread : waiting)
      if (thread->state == ThreadState::blocked && !is_exited) retry(*thread, false);
    if (file_waits.empty()) break;
  }
  files_changed = false;
}

void Process::Impl::exit_process(int exit_status) {
  if (is_exited) return;
  is_exited = true;
  for (auto& of : infos)
    if (of.transfer && of.transfer->writes) end_disk_transfer(of);
  status = exit_status & 0xff;
  for (auto& thread : threads) thread->state = ThreadState::exited;
  futexes.clear();
  timeouts.clear();
  file_waits.clear();
}

void Process::Impl::log(const std::string& sentence) const {
  if (options.log) {
    options.log(sentence);
  } else {
    fmt::print(stderr, "rubato-chip: {}\n", sentence);
  }
}

// --- dispatch
// ------------------------------------------------------------------------------------------------

Process::Impl::Handler Process::Impl::handler_of(std::uint64_t number) {
  constexpr std::size_t kTableSize = 512;
  static const std::array<Handler, kTableSize> table = [] {
    std::array<Handler, kTableSize> handlers{};
#define RUBATO_SYSCALL(call_number, name) handlers[call_number] = &Impl::sys_##name;
#include "chip/os/syscalls.inc"
#undef RUBATO_SYSCALL
    return handlers;
  }();
  return number < kTableSize ? table[number] : nullptr;
}

std::int64_t Process::Impl::perform(Call& call) {
  calling = &call.info;
  const Handler handler = handler_of(call.number);
  return handler != nullptr ? (this->*handler)(call) : not_implemented(call, syscall_name(call.number));
}

std::int64_t Process::Impl::not_implemented(Call& call, const std::string& what) {
  if (unknown[call.number]++ == 0)
    log(fmt::format("system call {} is not implemented: thread {} got ENOSYS (reported once)", what,
                    call.thread.tid));
  return -ENOSYS;
}

Call Process::Impl::call_of(Thread& thread) {
  const auto& x = thread.regs.x;
  return {thread,
          info(thread),
          x[reg::a7],
          {x[reg::a0], x[reg::a1], x[reg::a2], x[reg::a3], x[reg::a4], x[reg::a5]}};
}

SyscallOutcome Process::Impl::syscall_at_once(Thread& thread, Addr low, Addr high) {
  RUBATO_CHECK(thread.state == ThreadState::runnable, "a blocked or exited thread made a system call");
  Call call = call_of(thread);
  thread.regs.pc += 4;
  thread.regs.reservation = HartState::kNoReservation;
  user.bind(low, high);
  const std::int64_t result = gives_up_registers(call.number) ? -EPERM
                              : sends_signal(call.number)     ? -EAGAIN
                                                              : perform(call);
  user.unbind();
  if (is_exited) return SyscallOutcome::process_exited;
  if (call.outcome == SyscallOutcome::blocked) return call.outcome;
  if (call.info.restores_mask)
    thread.signal_mask = call.info.saved_mask;  // it would have waited with another
  call.info.restores_mask = false;
  if (call.outcome != SyscallOutcome::thread_exited)
    thread.regs.x[reg::a0] = static_cast<std::uint64_t>(result);
  return call.outcome;
}

SyscallOutcome Process::Impl::syscall(Thread& thread) {
  RUBATO_CHECK(thread.state == ThreadState::runnable, "a blocked or exited thread made a system call");
  Call call = call_of(thread);
  thread.regs.pc += 4;
  thread.regs.reservation = HartState::kNoReservation;

  report_lost_page(thread);
  const std::int64_t result = is_exited ? 0 : perform(call);
  if (is_exited) return SyscallOutcome::process_exited;
  const bool has_result = call.outcome == SyscallOutcome::done || call.outcome == SyscallOutcome::yielded;
  if (has_result && !call.keeps_registers) thread.regs.x[reg::a0] = static_cast<std::uint64_t>(result);
  if (files_changed) retry_file_waits();
  if (call.outcome == SyscallOutcome::thread_exited) return call.outcome;

  // A signal that came before the wait began ends it at once.
  if (call.outcome == SyscallOutcome::blocked && thread.state == ThreadState::blocked) {
    const int signal = deliverable(thread);
    if (signal == 0 || info(thread).wait.kind == WaitKind::disk) return call.outcome;
    interrupt_wait(thread, signal);
  }
  if (call.outcome == SyscallOutcome::blocked) call.outcome = SyscallOutcome::done;
  if (deliver_pending(thread) == SyscallOutcome::process_exited) return SyscallOutcome::process_exited;
  return call.outcome;
}

// --- the public face
// -----------------------------------------------------------------------------------------

Process::Process(ProcessOptions options, AddressSpace& memory, const GuestClock& clock)
    : impl_(std::make_unique<Impl>(std::move(options), memory, clock)) {}
Process::~Process() = default;

void Process::set_observer(ThreadObserver* observer) { impl_->observer = observer; }
void Process::observe_accesses(UserMemory::Observer* observer) { impl_->user.observe(observer); }
Thread& Process::main_thread() { return *impl_->threads.front(); }
const std::vector<std::unique_ptr<Thread>>& Process::threads() const { return impl_->threads; }
SyscallOutcome Process::syscall(Thread& thread) { return impl_->syscall(thread); }
SyscallOutcome Process::syscall_at_once(Thread& thread, Addr low, Addr high) {
  return impl_->syscall_at_once(thread, low, high);
}
SyscallOutcome Process::deliver_signals(Thread& thread) { return impl_->deliver_pending(thread); }
bool Process::waits_at_once(const Thread& thread) const {
  return impl_->info(thread).wait.at_once_stack.has_value();
}
void Process::interrupt(Thread& thread) {
  RUBATO_CHECK(waits_at_once(thread), "a wait is interrupted that is none of a capsule's call");
  const std::uint64_t progress = impl_->info(thread).wait.progress;
  impl_->wake(thread, progress != 0 ? static_cast<std::int64_t>(progress) : -EINTR);
}
bool Process::has_signal(const Thread& thread) { return impl_->deliverable(thread) != 0; }

std::optional<std::uint64_t> Process::next_timeout() const {
  if (impl_->files_changed && !impl_->file_waits.empty()) return impl_->now();
  std::optional<std::uint64_t> next = impl_->itimers.front().next;
  if (!impl_->timeouts.empty() && (!next || impl_->timeouts.begin()->first < *next))
    next = impl_->timeouts.begin()->first;
  const std::optional<std::uint64_t> timer = impl_->next_timer();
  return timer && (!next || *timer < *next) ? timer : next;
}

void Process::expire_timeouts() {
  const std::uint64_t now = impl_->now();
  IntervalTimer& alarm = impl_->itimers.front();
  if (alarm.next && *alarm.next <= now && !impl_->is_exited) {
    alarm.next.reset();
    if (alarm.interval != 0) alarm.next = now + alarm.interval;
    abi::Siginfo siginfo{};
    siginfo.signo = abi::kSigAlrm;
    siginfo.code = 0x80;  // SI_KERNEL
    impl_->send_signal(nullptr, siginfo);
  }
  if (!impl_->is_exited) impl_->expire_cpu_itimers();
  if (!impl_->is_exited) impl_->expire_timers();
  while (!impl_->is_exited && !impl_->timeouts.empty() && impl_->timeouts.begin()->first <= now) {
    Thread& thread = *impl_->threads[static_cast<std::size_t>(impl_->timeouts.begin()->second - kFirstTid)];
    Wait& wait = impl_->info(thread).wait;
    switch (wait.kind) {
      case WaitKind::futex:
        impl_->wake(thread, -ETIMEDOUT);
        break;
      case WaitKind::signal:
        impl_->wake(thread, -EAGAIN);
        break;
      case WaitKind::disk:
        impl_->finish_disk_wait(thread);
        break;
      case WaitKind::files:
        // The wait ends whatever the files say; a try that would wait on is a bug.
        RUBATO_CHECK(impl_->retry(thread, true), "a wait for files outlived its time");
        break;
      default:
        impl_->wake(thread, 0);
        break;
    }
  }
  impl_->retry_file_waits();
}

bool Process::exited() const { return impl_->is_exited; }
int Process::exit_status() const { return impl_->status; }
std::optional<int> Process::death_signal() const { return impl_->killed_by; }
std::uint64_t Process::nanoseconds() const { return impl_->now(); }
const AddressSpace& Process::memory() const { return impl_->memory; }
const Symbols& Process::symbols() const { return impl_->program.symbols; }
const LockMarks& Process::lock_marks() const { return impl_->program.lock_marks; }
const Disk& Process::disk() const { return impl_->disk; }
Addr Process::entry() const { return impl_->program.entry; }
std::optional<std::uint64_t> Process::errno_offset() const { return impl_->program.errno_offset; }
std::pair<Addr, Addr> Process::mappings() const {
  return {impl_->layout.mappings, impl_->stack_low - Layout::kGuardBytes};
}

std::vector<std::pair<std::string, std::uint64_t>> Process::unknown_calls() const {
  std::vector<std::pair<std::string, std::uint64_t>> calls;
  for (const auto& [number, count] : impl_->unknown) calls.emplace_back(syscall_name(number), count);
  return calls;
}

}  // namespace rubato::chip
