// Sentences about faults and waits.
// SPDX-License-Identifier: MIT
#include "chip/os/fault_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "chip/isa/disassemble.hpp"
#include "chip/os/call_stack.hpp"
#include "chip/os/process_impl.hpp"
#include "chip/os/syscall_names.hpp"
#include "include/rubato/errors.hpp"

namespace rubato::chip {
namespace {

/// A call on semaphores or queues of messages.
bool is_of_ipc(std::uint64_t number) {
  constexpr std::uint64_t kMqTimedsend = 182, kMqTimedreceive = 183, kMsgrcv = 188, kMsgsnd = 189,
                          kSemtimedop = 192, kSemop = 193;
  return number == kMqTimedsend || number == kMqTimedreceive || number == kMsgrcv || number == kMsgsnd ||
         number == kSemtimedop || number == kSemop;
}

/// The function in which include/rubato ends programs that broke a rule, with a sentence at a0.
constexpr std::string_view kMisuseFunction = "rubato_misuse";

std::string at(Addr a, const Symbols& symbols) {
  const auto* symbol = symbols.at(a);
  return symbol == nullptr ? fmt::format("{:#x}", a) : fmt::format("{:#x} ({})", a, symbols.describe(a));
}

/// The sentence with which the guest's part of the task model ended the program by the breakpoint at `pc`.
std::optional<std::string> misuse_at(Addr pc, const Thread& thread, const Process& process) {
  constexpr std::size_t kMostBytes = 4096;
  const AddressSpace& memory = process.memory(thread);
  const auto* symbol = process.symbols(thread).at(pc);
  // The compiler may have made a clone of it, whose name goes on.
  if (symbol == nullptr || !symbol->raw.starts_with(kMisuseFunction)) return std::nullopt;
  std::string sentence;
  for (Addr a = thread.regs.x[reg::a0]; sentence.size() < kMostBytes; ++a) {
    if (!memory.allows(a, 1, Page::kRead)) return std::nullopt;
    const auto c = memory.load<std::uint8_t>(a);
    if (c == 0) break;
    sentence += c < ' ' ? ' ' : static_cast<char>(c);  // an exception's text may have lines
  }
  sentence = name_functions(sentence, process.symbols(thread));
  if (thread.is_worker) return sentence;  // it names the task
  std::vector<std::string> names = callers(thread, process.symbols(thread), memory);
  std::erase_if(names, [](const std::string& name) { return name.starts_with("rubato::v0::"); });
  if (!names.empty()) sentence += fmt::format(", called from {}", fmt::join(names, " < "));
  return sentence;
}

std::string signal_name(int signal) {
  static constexpr std::string_view kNames[] = {
      "0",         "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",
      "SIGFPE",    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM",
      "SIGSTKFLT", "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",
      "SIGXCPU",   "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS"};
  if (signal >= 0 && signal < static_cast<int>(std::size(kNames))) return std::string(kNames[signal]);
  return fmt::format("signal {}", signal);
}

std::string named(const TaskDescriptor& task, const Symbols& symbols) {
  std::optional<std::uint64_t> timestamp;
  if (task.has_timestamp) timestamp = task.timestamp;
  return errors::describe({symbols.describe(task.name()), timestamp});
}

}  // namespace

std::string name_functions(std::string_view rest, const Symbols& symbols) {
  std::string named;
  while (!rest.empty()) {
    const std::size_t found = std::min(rest.find("0x"), rest.size());
    named += rest.substr(0, found);
    rest.remove_prefix(found);
    if (rest.empty()) break;
    Addr address = 0;
    const auto [end, error] = std::from_chars(rest.data() + 2, rest.data() + rest.size(), address, 16);
    const std::string_view text = rest.substr(0, static_cast<std::size_t>(end - rest.data()));
    const auto* symbol = error == std::errc{} ? symbols.at(address) : nullptr;
    named += symbol != nullptr && symbol->address == address ? Symbols::name(*symbol) : std::string(text);
    rest.remove_prefix(text.size());
  }
  return named;
}

std::string describe_position(const Thread& thread, const Process& process) {
  const AddressSpace& memory = process.memory(thread);
  std::string text = at(thread.regs.pc, process.symbols(thread));
  const auto names = callers(thread, process.symbols(thread), memory);
  if (!names.empty()) text += fmt::format(", called from {}", fmt::join(names, " < "));
  return text;
}

int signal_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::breakpoint:
      return abi::kSigTrap;
    case FaultKind::illegal_instruction:
      return abi::kSigIll;
    case FaultKind::misaligned_atomic:
    case FaultKind::misaligned_fetch:
      return abi::kSigBus;
    case FaultKind::task_error:
      return abi::kSigAbrt;
    case FaultKind::none:
    case FaultKind::load_access:
    case FaultKind::store_access:
    case FaultKind::fetch_access:
      return abi::kSigSegv;
  }
  return abi::kSigSegv;
}

std::string describe_death(int signal) {
  if (signal == abi::kSigAbrt)
    return "the program was ended by SIGABRT: it called abort(), an assertion failed, or an exception was "
           "not caught";
  return fmt::format("the program was ended by {}", signal_name(signal));
}

std::string describe(const Fault& fault, const Thread& thread, const Process& process,
                     const TaskDescriptor* task) {
  const AddressSpace& memory = process.memory(thread);
  const Symbols& symbols = process.symbols(thread);
  const std::string who = task == nullptr ? fmt::format("thread {}", thread.tid) : named(*task, symbols);
  const std::uint8_t page = memory.attributes(fault.address);
  const auto place = [&] {
    std::string text = fmt::format("{:#x}", fault.address);
    if (fault.address < AddressSpace::kPageBytes) text += " (a null pointer?)";
    if (symbols.at(fault.address) != nullptr) text += fmt::format(" ({})", symbols.describe(fault.address));
    return text;
  };
  std::string cause;
  std::string_view remedy;
  switch (fault.kind) {
    case FaultKind::load_access:
    case FaultKind::store_access: {
      const bool is_load = fault.kind == FaultKind::load_access;
      if (process.is_stack_overflow(fault.address, thread)) {
        cause = fmt::format("{} overflowed its stack: it {} {:#x}, below the stack's end, with sp {:#x}", who,
                            is_load ? "read" : "wrote", fault.address, thread.regs.x[reg::sp]);
        remedy = thread.stack_low != 0
                     ? "; run.stack_bytes says how large the main thread's stack is"
                     : "; a worker's stack for tasks has 262,144 bytes unless the program is compiled with "
                       "-DRUBATO_TASK_STACK_BYTES=BYTES, another thread's what it was created with";
      } else {
        const FileViews::Range* const range = memory.file_views().at(fault.address);
        cause =
            fmt::format("{} {} address {}, which is {}", who, is_load ? "read" : "wrote", place(),
                        page == 0 ? "not mapped"
                        : (page & Page::kBehindEnd) != 0 && range != nullptr
                            ? fmt::format("behind the end of the mapped file {}", range->view.file->path())
                        : (page & Page::kRead) != 0 ? "read-only"
                                                    : "mapped without that right");
      }
      break;
    }
    case FaultKind::fetch_access:
      cause = fmt::format("{} jumped to {}, which is {}", who, place(),
                          page == 0 ? "not mapped" : "not executable");
      break;
    case FaultKind::illegal_instruction:
      cause = fmt::format("{} executed the illegal instruction {:#x}", who, fault.address);
      break;
    case FaultKind::breakpoint:
      if (auto sentence = misuse_at(fault.pc, thread, process)) return *std::move(sentence);
      cause = fmt::format("{} executed ebreak", who);
      break;
    case FaultKind::misaligned_atomic:
      cause = fmt::format("{} made an atomic access to {}, which is not aligned to its size", who, place());
      break;
    case FaultKind::misaligned_fetch:
      cause = fmt::format("{} jumped to the odd address {}", who, place());
      break;
    case FaultKind::task_error:
      cause = fmt::format("{}: {}", who, name_functions(fault.sentence, symbols));
      break;
    case FaultKind::none:
      cause = who;
      break;
  }
  std::string where = fmt::format("{:#x}", fault.pc);
  std::vector<std::string> details;
  if (symbols.at(fault.pc) != nullptr) details.push_back(symbols.describe(fault.pc));
  if (const auto insn = instruction_at(fault.pc, memory);
      insn && fault.kind != FaultKind::illegal_instruction)
    details.push_back(isa::disassemble(*insn, fault.pc));
  if (!details.empty()) where += fmt::format(" ({})", fmt::join(details, ": "));
  Thread copy = thread;
  copy.regs.pc = fault.pc;
  if (const auto names = callers(copy, symbols, memory); !names.empty())
    where += fmt::format(", called from {}", fmt::join(names, " < "));
  return fmt::format("{}, at {}{}", cause, where, remedy);
}

bool Process::is_stack_overflow(Addr a, const Thread& thread) const {
  const AddressSpace& memory = kernel_->process_of(thread).memory;
  if (a >= AddressSpace::kSize || (memory.attributes(a) & Page::kWrite) != 0) return false;
  if (thread.stack_low != 0) return a < thread.stack_low && thread.stack_low - a <= Layout::kGuardBytes;
  if (thread.stack_high == 0 || a >= thread.stack_high) return false;
  // The lowest writable page above `a`: the stack's end, if all from there up to the thread's start of stack
  // is.
  Addr low = (a & ~AddressSpace::kPageMask) + AddressSpace::kPageBytes;
  const Addr most = std::min(a + Layout::kGuardBytes, thread.stack_high);
  while (low < most && (memory.attributes(low) & Page::kWrite) == 0) low += AddressSpace::kPageBytes;
  if (low >= most) return false;
  const Addr sp = thread.regs.x[reg::sp];
  const bool is_near_sp = sp >= low ? sp - low <= Layout::kGuardBytes : low - sp <= Layout::kGuardBytes;
  return is_near_sp && memory.allows_range(low, thread.stack_high - low, Page::kWrite);
}

ThreadWait Process::wait_of(const Thread& thread) const {
  const Wait& wait = kernel_->info(thread).wait;
  switch (wait.kind) {
    case WaitKind::none:
      return {};
    case WaitKind::sleep:
      return {wait.deadline ? ThreadWait::Kind::sleep : ThreadWait::Kind::signal, 0, 0};
    case WaitKind::files:
    case WaitKind::disk:
      return {ThreadWait::Kind::files, 0, 0};
    case WaitKind::signal:
    case WaitKind::stop:
      return {ThreadWait::Kind::signal, 0, 0};
    case WaitKind::child:
    case WaitKind::vfork:
      return {ThreadWait::Kind::process, 0, 0};
    case WaitKind::futex:
      break;
  }
  const Impl& impl = kernel_->process_of(thread);
  for (const auto& other : impl.threads)
    if (other->clear_child_tid == wait.futex && other->state != ThreadState::exited &&
        other->tid != thread.tid)
      return {ThreadWait::Kind::join, wait.futex, other->tid};
  // glibc's pthread_mutex_t: {int lock; unsigned count; int owner; ...}. PI futexes hold the owner
  // themselves.
  const auto word = impl.user.get<std::uint32_t>(wait.futex);
  const auto owner = impl.user.get<std::uint32_t>(wait.futex + 8);
  const std::uint32_t tid = wait.is_lock && word ? *word & 0x3fffffff : owner.value_or(0);
  const bool is_mutex = wait.is_lock || (word && *word >= 2 && wait.bitset == 0xffffffff);
  const bool is_thread = tid >= static_cast<std::uint32_t>(kFirstTid) &&
                         tid < static_cast<std::uint32_t>(kFirstTid) + impl.threads.size();
  if (is_mutex && is_thread) return {ThreadWait::Kind::lock, wait.futex, static_cast<int>(tid)};
  return {ThreadWait::Kind::futex, wait.futex, 0};
}

std::string Process::describe_waiting() const {
  Impl& impl = *impl_;
  std::string text;
  for (const auto& thread : impl.threads) {
    if (thread->state != ThreadState::blocked) continue;
    const Wait& wait = impl.info(*thread).wait;
    const Symbols& all = symbols(*thread);
    std::string reason;
    switch (wait.kind) {
      case WaitKind::futex: {
        const ThreadWait what = wait_of(*thread);
        reason = fmt::format("waits for the futex at {}", at(wait.futex, all));
        if (what.kind == ThreadWait::Kind::join)
          reason = fmt::format("waits for the end of thread {}", what.holder);
        if (what.kind == ThreadWait::Kind::lock && what.holder != 0) {
          const bool is_there = impl.find_any_thread(what.holder) != nullptr;
          reason +=
              fmt::format(", a mutex held by thread {}{}", what.holder, is_there ? "" : ", which has ended");
        }
        break;
      }
      case WaitKind::sleep:
        reason = wait.deadline ? "sleeps" : "waits for a signal";
        break;
      case WaitKind::files:
        reason = is_of_ipc(wait.number) ? fmt::format("waits in system call {} for another process or thread",
                                                      syscall_name(wait.number))
                                        : "waits for a pipe, socket or other file to become ready";
        break;
      case WaitKind::disk:
        reason = "waits for the disk";
        break;
      case WaitKind::signal:
        reason = "waits for a signal";
        break;
      case WaitKind::child:
        reason = "waits for a process that it has started";
        break;
      case WaitKind::vfork:
        reason = "waits until the process that it has started executes another program";
        break;
      case WaitKind::stop:
      case WaitKind::none:
        reason = "waits";
        break;
    }
    if (const int signal = impl.kernel.children.at(impl.info(*thread).pid).stopped_by; signal != 0)
      reason = fmt::format("is stopped by signal {} until SIGCONT comes", signal);
    text += fmt::format("thread {}{} at {} {}\n", thread->tid, thread->is_worker ? " (worker)" : "",
                        describe_position(*thread, *this), reason);
  }
  return text;
}

}  // namespace rubato::chip
