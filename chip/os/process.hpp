// The emulated Linux process, and those that it makes: memory, threads, files, futexes, time. Knows nothing
// of cores or cycles: the code that runs threads (fast-forward, or the detailed cores through
// ThreadScheduler) calls syscall() at each ecall. ThreadObserver tells it when a thread becomes runnable. C1
// to C3.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "chip/config/config.hpp"
#include "chip/disk/disk.hpp"
#include "chip/isa/hart_state.hpp"
#include "chip/memory/address_space.hpp"
#include "chip/memory/fault.hpp"
#include "chip/os/lock_marks.hpp"
#include "chip/os/symbols.hpp"
#include "chip/os/thread.hpp"
#include "chip/os/thread_profile.hpp"
#include "chip/os/user_memory.hpp"

namespace rubato::chip {

class CheckpointReader;  // chip/memory/checkpoint_file.hpp
class CheckpointWriter;
struct GuestSpace;  // chip/os/guest_space.hpp

struct ProcessOptions {
  std::string program;                   ///< path of the ELF file on the host
  std::vector<std::string> arguments;    ///< argv[1..]
  std::vector<std::string> environment;  ///< "NAME=value"
  std::string argv0;                     ///< the program's name for itself; empty: as `program`
  const std::string& name() const { return argv0.empty() ? program : argv0; }
  std::string executed_path;  ///< of the program in the guest's view, if a process has executed it
  std::string sandbox;        ///< --sandbox: every file access is confined to this directory; empty: none
  std::uint64_t seed = 1;     ///< of getrandom and AT_RANDOM
  std::uint64_t start_date = 1704067200;  ///< seconds since 1970, when the clock begins
  std::uint64_t stack_bytes = 8u << 20;
  std::uint64_t memory_bytes = std::uint64_t{64} << 30;  ///< that may be written at once; beyond: ENOMEM
  /// The host's memory that this process may fill; what would take it beyond: ENOMEM.
  std::uint64_t host_bytes = ~std::uint64_t{0};
  DiskSection disk{};                  ///< of its files that are opened with O_DIRECT
  std::uint64_t frequency_mhz = 2000;  ///< turns the disk's time into cycles
  std::uint32_t cores = 1;             ///< what sched_getaffinity and sysconf(_SC_NPROCESSORS_ONLN) report

  /// Host descriptors behind the guest's 0, 1 and 2; not closed. -1: nothing is there.
  int stdin_fd = 0, stdout_fd = 1, stderr_fd = 2;
  /// If set, receives the bytes that the guest has written to its standard error.
  std::function<void(std::span<const std::byte>)> stderr_listener;
  /// Takes one sentence for each refused file access and each first unknown system call; empty: host stderr.
  std::function<void(const std::string&)> log;
};

/// Simulated time, asked for by clock_gettime and timeouts.
class GuestClock {
 public:
  virtual ~GuestClock() = default;
  /// Nanoseconds since the program started.
  virtual std::uint64_t nanoseconds() const = 0;
  /// Nanoseconds that `thread` has run so far. In fast-forward an instruction takes half of one.
  virtual std::uint64_t cpu_nanoseconds(const Thread& thread) const { return thread.instructions / 2; }
};

class ThreadObserver {
 public:
  virtual ~ThreadObserver() = default;
  /// Empty, or why the program can make no processes, as a part of a sentence.
  virtual std::string why_no_processes() const { return {}; }
  /// Memory for another process; its deleter is told when the last process has left it. Null: `why` says, in
  /// a part of a sentence, why there can be no (further) process.
  virtual std::shared_ptr<GuestSpace> make_space(std::string& why) {
    return why = "the program has no place for them", nullptr;
  }
  /// `thread`, which may be on a core or wait for one, has ended by another thread's call or a signal.
  virtual void on_ended(Thread&) {}
  /// `thread` was created or woken and may run now.
  virtual void on_runnable(Thread& thread) = 0;
  /// All actions until the call with null are made for the system call that `thread` waits in.
  virtual void on_retry(const Thread*) {}
  /// A signal was sent to `thread`, which is runnable: deliver_signals() is due, however long it runs on.
  virtual void on_signal(Thread&) {}
  /// The affinity of `thread` has changed: perhaps it may not stay where it runs.
  virtual void on_affinity(Thread&) {}
  /// The program marks the beginning or the end of a region (rubato/markers.h).
  virtual void on_marker(const Thread&, bool begins, const std::string& name) {
    static_cast<void>(begins), static_cast<void>(name);
  }
};

enum class SyscallOutcome : std::uint8_t {
  done,     ///< a0 holds the result; the thread goes on behind the ecall
  blocked,  ///< the thread waits; when on_runnable() announces it, a0 is set and it goes on behind the ecall
  yielded,  ///< sched_yield: done, but let others run first
  moved,    ///< execve: the thread is runnable and goes on in other memory, with registers of its own
  thread_exited,   ///< this thread is gone
  process_exited,  ///< exit_group or a fatal signal: exit_status() or death_signal() is set
};

class Process {
 public:
  /// Loads the program and makes its main thread (runnable, not announced).
  /// @throws UsageError for what is not a RISC-V 64-bit Linux executable, saying what it is instead.
  Process(ProcessOptions options, AddressSpace& memory, const GuestClock& clock);
  ~Process();

  void set_observer(ThreadObserver* observer);
  /// Sees the addresses that system calls read and write, before they do. Null: no observer. Outlives its
  /// use.
  void observe_accesses(UserMemory::Observer* observer);
  Thread& main_thread();
  const std::vector<std::unique_ptr<Thread>>& threads()
      const;  ///< in order of creation; exited ones stay listed

  /// Performs the system call of `thread`, whose pc is at the ecall; advances pc behind it.
  SyscallOutcome syscall(Thread& thread);
  /// Likewise, in a capsule of a task that may be undone, with the stack [low, high): the call has effect at
  /// once and for good (P49). It may block (P50), but not for a signal or a lock, and sends no signal (a
  /// call that would gives -EAGAIN). It touches no memory that attempts may have versions of (-EFAULT), takes
  /// nothing away from tracked pages (-EPERM), and has no handler run: signals stay pending. Others that wait
  /// for what it did to a file are served when the next timeout is.
  SyscallOutcome syscall_at_once(Thread& thread, Addr low, Addr high);
  /// `thread` is blocked in such a call.
  bool waits_at_once(const Thread& thread) const;
  /// The wait of `thread`, which is blocked in such a call, ends as if for a signal: -EINTR, or what the call
  /// has moved so far.
  void interrupt(Thread& thread);

  /// Runs the handlers of signals that other threads sent to `thread` meanwhile; its registers must be valid.
  /// Call it when a thread is switched out or in. Process_exited if a signal ended the program; blocked if
  /// one has stopped its process: on_runnable() tells when it goes on.
  SyscallOutcome deliver_signals(Thread& thread);
  /// True if deliver_signals() would find one, or its process stopped.
  bool has_signal(const Thread& thread);

  /// A fault of `thread` at its pc: runs the guest's signal handler if it installed one for the signal that
  /// Linux would send (returns true: the thread goes on, its registers were changed), else returns false and
  /// the program is to end with a fault report.
  bool deliver_fault(Thread& thread, const Fault& fault);

  /// Earliest time (ns) at which a blocked thread's timeout ends, or files must be looked at again, or
  /// nothing; expire_timeouts() wakes those due.
  std::optional<std::uint64_t> next_timeout() const;
  void expire_timeouts();

  /// From now on what it prints is kept, for save(). Before it runs.
  void keep_output();
  /// Saves the program's state for a checkpoint. No thread is in a system call, unless it waits there.
  /// @throws UsageError, which says what a checkpoint cannot hold: open pipes, files open for writing,
  /// timers.
  void save(CheckpointWriter& file) const;
  /// Restores the state. Precondition: a process of the same program, arguments and environment that has not
  /// run.
  /// @throws UsageError if the file is damaged, or a file that was open cannot be opened.
  void restore(CheckpointReader& file);
  /// Prints what a restored program had printed until then, once. Before it goes on.
  void print_restored();
  /// How a system call depends on the chip.
  enum class ChipCall : std::uint8_t {
    none,
    asks,    ///< its answer depends on the number of cores
    starts,  ///< it starts a thread, a process or another program
    marks,   ///< it begins or ends a region
  };
  /// The dependence of the system call that `thread` is at.
  ChipCall chip_call(const Thread& thread) const;

  bool exited() const;
  int exit_status() const;                  ///< of exit_group, 0 to 255
  std::optional<int> death_signal() const;  ///< abort() and friends without a handler

  /// Simulated time of the process's clock.
  std::uint64_t nanoseconds() const;
  const AddressSpace& memory() const;
  const Symbols& symbols() const;
  /// The memory and symbols of the process of `thread`; memory() and symbols() are those of the program as it
  /// was loaded.
  const AddressSpace& memory(const Thread& thread) const;
  const Symbols& symbols(const Thread& thread) const;
  const LockMarks& lock_marks() const;
  const Disk& disk() const;
  Addr entry() const;
  /// Bytes from a thread's thread pointer to its errno, if the program has it.
  std::optional<std::uint64_t> errno_offset() const;
  /// The range of mappings without a wanted address.
  std::pair<Addr, Addr> mappings() const;
  /// The range of brk and of those mappings: behind the program's file, and below the main thread's stack.
  std::pair<Addr, Addr> heap() const;
  /// True if [a, a+1) lies in the guard or limit region of some thread's stack: a stack overflow.
  bool is_stack_overflow(Addr a, const Thread& thread) const;

  /// A line for each blocked thread: tid, pc, symbol, what it waits for, holder where known (C3).
  std::string describe_waiting() const;
  /// The wait of `thread`, which is blocked. The `holder` of a join is the thread that is waited for.
  ThreadWait wait_of(const Thread& thread) const;
  /// Unknown system calls met so far, name and count each (C2).
  std::vector<std::pair<std::string, std::uint64_t>> unknown_calls() const;

  /// False for a fault of a thread of the first process. Another process ends by the signal of its fault,
  /// which is told in a sentence, and the thread with it.
  bool end_by_fault(Thread& thread, const Fault& fault);
  /// Processes that other processes made, so far.
  std::uint64_t processes_made() const;
  /// Bytes that are mapped in all processes together.
  std::uint64_t mapped_bytes() const;

 private:
  struct Impl;
  struct Kernel;
  std::unique_ptr<Kernel> kernel_;
  Impl* impl_;  // the program as it was loaded: reports name its functions
};

}  // namespace rubato::chip
