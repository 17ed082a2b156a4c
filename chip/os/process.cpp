// Process: start, dispatch of system calls, waits and their ends.
// SPDX-License-Identifier: MIT
#include "chip/os/process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

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

Process::Kernel::Kernel(const ProcessOptions& options, const GuestClock& its_clock)
    : clock(its_clock),
      log(options.log
              ? options.log
              : [](const std::string& sentence) { fmt::print(stderr, "rubato-chip: {}\n", sentence); }),
      begun_path(own_path(options)),
      begun_file(options.program),
      disk(options.disk, options.frequency_mhz),
      resolver(options.sandbox, log),
      rng(mix64(options.seed ^ 0x6f73ULL)) {
  // A guest that writes to a closed pipe gets its own SIGPIPE; the simulator must survive the host's.
  std::signal(SIGPIPE, SIG_IGN);
  children.emplace(kFirstTid, Child{});
}
// Files go before the network that their sockets are in.
Process::Kernel::~Kernel() {
  buried.clear();
  first_image.reset();
  processes.clear();
}

Process::Impl* Process::Kernel::find(int pid) {
  const auto found = processes.find(pid);
  return found != processes.end() ? found->second.get() : nullptr;
}

Process::Impl& Process::Kernel::process_of(const Thread& thread) {
  Impl* const process = find(info(thread).pid);
  RUBATO_CHECK(process != nullptr, "a thread acts, and its process has ended");
  return *process;
}

Thread& Process::Kernel::create_thread(int pid) {
  threads.push_back(std::make_unique<Thread>());
  infos.emplace_back().pid = pid;
  threads.back()->tid = kFirstTid + static_cast<int>(threads.size()) - 1;
  return *threads.back();
}

std::uint64_t Process::Kernel::pending_signals() const {
  const auto found = calling != nullptr ? processes.find(calling->pid) : processes.end();
  return found != processes.end() ? found->second->pending_signals(*calling) : 0;
}

abi::Siginfo Process::Kernel::take_pending(std::uint64_t signals) {
  return processes.at(calling->pid)->take_pending(*calling, signals);
}

Process::Impl::Impl(Kernel& its_kernel, ProcessOptions process_options, AddressSpace& of_program)
    : kernel(its_kernel),
      pid(kFirstTid),
      options(std::move(process_options)),
      memory(of_program),
      user(of_program),
      file_table(std::make_shared<FileTable>()),
      directory(resolver.initial_directory()) {
  load();
  files.put(0, {std::make_shared<StandardStream>(options.stdin_fd, abi::kReadOnly, nullptr)});
  files.put(1, {std::make_shared<StandardStream>(options.stdout_fd, abi::kWriteOnly, nullptr)});
  files.put(2,
            {std::make_shared<StandardStream>(options.stderr_fd, abi::kWriteOnly, options.stderr_listener)});
}

void Process::Impl::load() {
  if (options.stack_bytes < kMinStackBytes || options.stack_bytes > layout.most_stack_bytes)
    throw UsageError("run.stack_bytes is {}, expected {} to {}", options.stack_bytes, kMinStackBytes,
                     layout.most_stack_bytes);
  if (options.stack_bytes >= options.memory_bytes)
    throw UsageError(
        "run.stack_bytes is {}, but the program's whole memory, run.memory_bytes, is {}: make the stack "
        "smaller or the memory larger",
        options.stack_bytes, options.memory_bytes);
  program = load_elf(options.program, memory);
  if (!program.interpreter.empty()) load_interpreter(interpreter_file(), memory, program);

  brk_start = brk_now = brk_mapped = program.end;
  stack_high = layout.stack_top;
  stack_low = stack_high - ((options.stack_bytes + AddressSpace::kPageMask) & ~AddressSpace::kPageMask);
  memory.map(stack_low, stack_high - stack_low, Page::kRead | Page::kWrite);
  memory.map(layout.trampoline, AddressSpace::kPageBytes, Page::kRead | Page::kExecute);
  std::memcpy(memory.host(layout.trampoline), kSigreturnCode, sizeof kSigreturnCode);
  initial_sp = build_initial_stack(options, program, memory, stack_low, stack_high, rng);
}

std::string Process::Impl::interpreter_file() {
  ProgramFile file;
  const std::int64_t error = program_file(abi::kAtCwd, program.interpreter, file);
  if (error == 0) return file.host;
  throw UsageError(
      "{}: is dynamically linked, and its loader {} is not there for the program ({}): link with -static, or "
      "give the path of a loader as the program, and this one behind it",
      options.program, program.interpreter, std::strerror(static_cast<int>(-error)));
}

// --- threads and waits
// ---------------------------------------------------------------------------------------

Thread* Process::Impl::find_any_thread(std::int64_t tid) const {
  const std::int64_t index = tid - kFirstTid;
  if (index < 0 || index >= static_cast<std::int64_t>(threads.size())) return nullptr;
  Thread* thread = threads[static_cast<std::size_t>(index)].get();
  return thread->state == ThreadState::exited ? nullptr : thread;
}

Thread* Process::Impl::named_thread(const Call& call) const {
  return call.i32(0) == 0 ? &call.thread : find_any_thread(call.i32(0));
}

Thread* Process::Impl::find_thread(std::int64_t tid) {
  Thread* const thread = find_any_thread(tid);
  return thread != nullptr && is_own(*thread) ? thread : nullptr;
}

std::size_t Process::Impl::live_threads() const {
  return static_cast<std::size_t>(std::count_if(threads.begin(), threads.end(), [this](const auto& thread) {
    return thread->state != ThreadState::exited && is_own(*thread);
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
  if (wait.kind == WaitKind::futex && wait.keys.empty()) futexes[wait.key].push_back(&call.thread);
  for (const FutexKey& key : wait.keys)
    if (auto& queue = futexes[key]; queue.empty() || queue.back() != &call.thread)
      queue.push_back(&call.thread);
  if (wait.kind == WaitKind::files) file_waits.push_back(&call.thread);
  if (wait.deadline) timeouts.emplace(*wait.deadline, call.thread.tid);
  call.info.wait = wait;
  call.thread.state = ThreadState::blocked;
  return 0;
}

void Process::Impl::leave_futex(Thread& thread) {
  const Wait& wait = info(thread).wait;
  for (const FutexKey& key : wait.keys.empty() ? std::span(&wait.key, 1) : std::span(wait.keys)) {
    const auto queue = futexes.find(key);
    if (queue == futexes.end()) continue;
    std::erase(queue->second, &thread);
    if (queue->second.empty()) futexes.erase(queue);
  }
}

void Process::Impl::end_wait(Thread& thread) {
  Wait& wait = info(thread).wait;
  if (wait.kind == WaitKind::futex) leave_futex(thread);
  if (wait.kind == WaitKind::files) std::erase(file_waits, &thread);
  if (wait.opening) files_changed = true;  // its end is gone, or is another's by now
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
  announce(thread);
}

bool Process::Impl::retry(Thread& thread, bool timed_out) {
  RUBATO_DCHECK(is_own(thread));
  ThreadInfo& of = info(thread);
  Call call{thread, of, of.wait.number, of.wait.arguments};
  call.timed_out = timed_out;
  call.progress = of.wait.progress;
  calling = &of;
  network.set_caller(pid);
  if (observer != nullptr) observer->on_retry(&thread);
  const auto bound = of.wait.at_once_stack;
  if (bound) user.bind(bound->first, bound->second);
  const std::int64_t result = (this->*handler_of(call.number))(call);
  if (bound) user.unbind();
  if (observer != nullptr) observer->on_retry(nullptr);
  if (call.outcome == SyscallOutcome::blocked) return false;
  note_watched_changes();
  wake(thread, result);
  return true;
}

void Process::Impl::retry_file_waits() {
  while (files_changed && !kernel.is_over) {
    files_changed = false;
    if (!kernel.asynchronous.empty()) signal_owners();
    const std::vector<Thread*> waiting(file_waits.begin(), file_waits.end());
    for (Thread* thread : waiting)
      if (thread->state == ThreadState::blocked && info(*thread).wait.kind == WaitKind::files &&
          !kernel.is_over && !kernel.process_of(*thread).is_stopped())
        kernel.process_of(*thread).retry(*thread, false);
    if (file_waits.empty()) break;
  }
  files_changed = false;
}

// The end of the first process is that of the run. Of another one its files, memory and threads go, and its
// parent is told.
void Process::Impl::exit_process(int exit_status, int signal) {
  if (is_exited || kernel.is_over) return;
  is_exited = true;
  for (const auto& thread : threads)
    if (ThreadInfo& of = info(*thread); is_own(*thread) && of.transfer && of.transfer->writes)
      end_disk_transfer(of);
  if (!is_first()) return end_child(exit_status & 0xff, signal);
  kernel.is_over = true;
  kernel.status = exit_status & 0xff;
  if (signal != 0) kernel.killed_by = signal;
  for (auto& thread : threads) thread->state = ThreadState::exited;
  futexes.clear();
  timeouts.clear();
  file_waits.clear();
  if (kernel.processes.size() > 1)
    log(fmt::format("the program has ended, and with it {} that it had started and not waited for",
                    kernel.processes.size() == 2 ? "a process"
                                                 : fmt::format("{} processes", kernel.processes.size() - 1)));
}

void Process::Impl::log(const std::string& sentence) const { kernel.log(sentence); }

// --- dispatch
// ------------------------------------------------------------------------------------------------

class Process::Impl::InCall {
 public:
  InCall(Kernel& its_kernel, Thread& thread) : kernel_(its_kernel) { kernel_.in_call = &thread; }
  ~InCall() { kernel_.in_call = nullptr; }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;

 private:
  Kernel& kernel_;
};

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
  network.set_caller(pid);
  const Handler handler = handler_of(call.number);
  const std::int64_t result =
      handler != nullptr ? (this->*handler)(call) : not_implemented(call, syscall_name(call.number));
  note_watched_changes();
  return result;
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
  if (const auto end = end_of_process()) return *end;
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
  // To its very end: a signal that the call has unblocked may end the process, too.
  const InCall in_call(kernel, thread);
  const std::int64_t result = is_exited ? 0 : perform(call);
  const bool is_gone = is_exited || call.outcome == SyscallOutcome::moved;
  if (is_gone && files_changed && !kernel.is_over) retry_file_waits();
  if (const auto end = end_of_process()) return *end;
  if (is_gone) return call.outcome;
  const bool has_result = call.outcome == SyscallOutcome::done || call.outcome == SyscallOutcome::yielded;
  if (has_result && !call.keeps_registers) thread.regs.x[reg::a0] = static_cast<std::uint64_t>(result);
  if (files_changed) retry_file_waits();
  if (const auto end = end_of_process()) return *end;
  if (call.outcome == SyscallOutcome::thread_exited) return call.outcome;

  // A signal that came before the wait began ends it at once.
  if (call.outcome == SyscallOutcome::blocked && thread.state == ThreadState::blocked) {
    const int signal = deliverable(thread);
    const WaitKind kind = info(thread).wait.kind;
    if (signal == 0 || kind == WaitKind::disk || kind == WaitKind::vfork) return call.outcome;
    interrupt_wait(thread, signal);
  }
  if (call.outcome == SyscallOutcome::blocked) call.outcome = SyscallOutcome::done;
  const SyscallOutcome delivered = deliver_pending(thread);
  return delivered == SyscallOutcome::done ? call.outcome : delivered;
}

// --- the public face
// -----------------------------------------------------------------------------------------

Process::Process(ProcessOptions options, AddressSpace& memory, const GuestClock& clock)
    : kernel_(std::make_unique<Kernel>(options, clock)) {
  auto first = std::make_unique<Impl>(*kernel_, std::move(options), memory);
  impl_ = first.get();
  kernel_->processes.emplace(kFirstTid, std::move(first));
  Thread& main = kernel_->create_thread(kFirstTid);
  main.stack_low = impl_->stack_low;
  main.stack_high = impl_->stack_high;
  main.regs.pc = impl_->program.start;
  main.regs.x[reg::sp] = impl_->initial_sp;
}
Process::~Process() = default;

void Process::set_observer(ThreadObserver* observer) { kernel_->observer = observer; }
void Process::observe_accesses(UserMemory::Observer* observer) {
  kernel_->access_observer = observer;
  for (const auto& [pid, process] : kernel_->processes) process->user.observe(observer);
}
Thread& Process::main_thread() { return *kernel_->threads.front(); }
const std::vector<std::unique_ptr<Thread>>& Process::threads() const { return kernel_->threads; }
SyscallOutcome Process::syscall(Thread& thread) {
  kernel_->bury();
  return kernel_->process_of(thread).syscall(thread);
}
SyscallOutcome Process::syscall_at_once(Thread& thread, Addr low, Addr high) {
  return kernel_->process_of(thread).syscall_at_once(thread, low, high);
}
SyscallOutcome Process::deliver_signals(Thread& thread) {
  const SyscallOutcome outcome = kernel_->process_of(thread).deliver_pending(thread);
  if (outcome == SyscallOutcome::thread_exited) impl_->retry_file_waits();
  return outcome;
}
bool Process::waits_at_once(const Thread& thread) const {
  return kernel_->info(thread).wait.at_once_stack.has_value();
}
void Process::interrupt(Thread& thread) {
  RUBATO_CHECK(waits_at_once(thread), "a wait is interrupted that is none of a capsule's call");
  const std::uint64_t progress = kernel_->info(thread).wait.progress;
  kernel_->process_of(thread).wake(thread, progress != 0 ? static_cast<std::int64_t>(progress) : -EINTR);
}
bool Process::has_signal(const Thread& thread) {
  Impl& process = kernel_->process_of(thread);
  return process.is_stopped() || process.deliverable(thread) != 0;
}

std::optional<std::uint64_t> Process::next_timeout() const {
  if (kernel_->files_changed && !kernel_->file_waits.empty()) return nanoseconds();
  std::optional<std::uint64_t> next;
  if (!kernel_->timeouts.empty()) next = kernel_->timeouts.begin()->first;
  for (const auto& [pid, process] : kernel_->processes)
    for (const auto& timer : {process->itimers.front().next, process->next_timer()})
      if (timer && (!next || *timer < *next)) next = timer;
  return next;
}

void Process::expire_timeouts() {
  kernel_->bury();
  // A timer may end its process.
  std::vector<int> pids;
  for (const auto& [pid, process] : kernel_->processes) pids.push_back(pid);
  for (const int pid : pids)
    if (Impl* const process = kernel_->find(pid)) process->expire_own_timers();
  const std::uint64_t now = nanoseconds();
  while (!kernel_->is_over && !kernel_->timeouts.empty() && kernel_->timeouts.begin()->first <= now) {
    Thread& thread =
        *kernel_->threads[static_cast<std::size_t>(kernel_->timeouts.begin()->second - kFirstTid)];
    Impl& process = kernel_->process_of(thread);
    Wait& wait = kernel_->info(thread).wait;
    if (process.is_stopped() && wait.kind != WaitKind::disk) {  // it looks at the time when it goes on
      kernel_->timeouts.erase(kernel_->timeouts.begin());
      continue;
    }
    switch (wait.kind) {
      case WaitKind::futex:
        process.wake(thread, -ETIMEDOUT);
        break;
      case WaitKind::signal:
        process.wake(thread, -EAGAIN);
        break;
      case WaitKind::disk:
        process.finish_disk_wait(thread);
        break;
      case WaitKind::files:
        // The wait ends whatever the files say; a try that would wait on is a bug.
        RUBATO_CHECK(process.retry(thread, true), "a wait for files outlived its time");
        break;
      default:
        process.wake(thread, 0);
        break;
    }
  }
  impl_->retry_file_waits();
}

void Process::Impl::expire_own_timers() {
  IntervalTimer& alarm = itimers.front();
  if (alarm.next && *alarm.next <= now() && !is_exited) {
    alarm.next.reset();
    if (alarm.interval != 0) alarm.next = now() + alarm.interval;
    abi::Siginfo siginfo{};
    siginfo.signo = abi::kSigAlrm;
    siginfo.code = 0x80;  // SI_KERNEL
    send_signal(nullptr, siginfo);
  }
  if (!is_exited) expire_cpu_itimers();
  if (!is_exited) expire_timers();
}

bool Process::exited() const { return kernel_->is_over; }
int Process::exit_status() const { return kernel_->status; }
std::optional<int> Process::death_signal() const { return kernel_->killed_by; }
std::uint64_t Process::nanoseconds() const { return kernel_->clock.nanoseconds(); }
const AddressSpace& Process::memory() const { return impl_->memory; }
const AddressSpace& Process::memory(const Thread& thread) const {
  const Impl* const process = kernel_->find(kernel_->info(thread).pid);
  return process != nullptr ? process->memory : impl_->memory;
}
const Symbols& Process::symbols() const { return impl_->program.symbols; }
const Symbols& Process::symbols(const Thread& thread) const {
  const Impl* const process = kernel_->find(kernel_->info(thread).pid);
  return process != nullptr ? process->program.symbols : symbols();
}
const LockMarks& Process::lock_marks() const { return impl_->program.lock_marks; }
const Disk& Process::disk() const { return kernel_->disk; }
Addr Process::entry() const { return impl_->program.entry; }
std::optional<std::uint64_t> Process::errno_offset() const { return impl_->program.errno_offset; }
std::pair<Addr, Addr> Process::mappings() const {
  return {impl_->layout.mappings, impl_->stack_low - Layout::kGuardBytes};
}
std::pair<Addr, Addr> Process::heap() const { return {impl_->brk_start, mappings().second}; }
std::uint64_t Process::processes_made() const { return kernel_->made; }
std::uint64_t Process::mapped_bytes() const {
  std::set<const AddressSpace*> memories = kernel_->memories();
  memories.insert(&impl_->memory);
  std::uint64_t sum = 0;
  for (const AddressSpace* const one : memories) sum += one->mapped_bytes();
  return sum;
}

std::vector<std::pair<std::string, std::uint64_t>> Process::unknown_calls() const {
  std::vector<std::pair<std::string, std::uint64_t>> calls;
  for (const auto& [number, count] : kernel_->unknown) calls.emplace_back(syscall_name(number), count);
  return calls;
}

}  // namespace rubato::chip
