// The inside of Process, shared by the files that implement the system calls: sys_*.cpp, one a subject.
// Glossary: a *call* is one system call of one thread; a *wait* is why a thread is blocked and how it ends.
// Every handler checks its arguments before any effect and returns what Linux returns: a value or -errno.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "chip/disk/disk.hpp"
#include "chip/os/elf_loader.hpp"
#include "chip/os/file_table.hpp"
#include "chip/os/linux_abi.hpp"
#include "chip/os/network.hpp"
#include "chip/os/open_file.hpp"
#include "chip/os/path_resolver.hpp"
#include "chip/os/process.hpp"
#include "chip/os/signal_file.hpp"
#include "chip/os/signal_queue.hpp"
#include "chip/os/socket.hpp"
#include "chip/os/timers.hpp"
#include "chip/os/user_memory.hpp"

namespace rubato::chip {

/// The guest's address space, from below: image and brk heap, mappings, stack, trampoline.
struct Layout {
  explicit Layout(const AddressSpace& memory)
      : mappings(ElfLimits::highest(memory)),
        trampoline(memory.size() - 2 * AddressSpace::kPageBytes),
        stack_top(memory.size() - (Addr{1} << 20)),
        most_stack_bytes(memory.size() / 16) {}

  const Addr mappings, trampoline, stack_top;
  const std::uint64_t most_stack_bytes;
  static constexpr std::uint64_t kGuardBytes = std::uint64_t{1}
                                               << 20;  ///< below the main stack, never mapped
};

inline constexpr int kFirstTid = 1000;
inline constexpr std::uint64_t kMaxTransfer = 0x7ffff000;  ///< bytes of one call, as Linux

enum class WaitKind : std::uint8_t { none, futex, sleep, files, signal, disk };

/// Why a thread is blocked.
struct Wait {
  WaitKind kind = WaitKind::none;
  Addr futex = 0;
  std::uint32_t bitset = 0;
  bool is_lock = false;                   ///< FUTEX_LOCK_PI: the waker hands the lock over
  std::optional<std::uint64_t> deadline;  ///< ns; in Impl::timeouts too
  Addr remaining = 0;                     ///< nanosleep: where an interrupted sleep stores what is left
  std::uint64_t signals = 0;              ///< rt_sigtimedwait: the set waited for
  std::uint64_t number = 0;               ///< the system call, tried again when files change, or restarted
  std::uint64_t progress = 0;             ///< bytes a blocked write has moved already
  /// A capsule's call that is tried again may reach the same memory as at first, with this stack (P49, P50).
  std::optional<std::pair<Addr, Addr>> at_once_stack{};
  std::array<std::uint64_t, 6> arguments{};
};

/// The transfer that a thread will make when its request of the disk is done (P80).
struct DiskTransfer {
  std::shared_ptr<OpenFile> file;
  std::vector<abi::Iovec> ranges{};  ///< of a read
  std::int64_t offset = 0;
  bool writes = false;
  bool moves_position = false;
  std::vector<std::byte> data{};  ///< of a write; none: fsync()
};

/// State of a thread that Process keeps beyond Thread.
struct ThreadInfo {
  Wait wait;
  std::unique_ptr<DiskTransfer> transfer;  ///< of a wait for the disk
  SignalQueue pending;                     ///< signals sent to this thread
  abi::StackT alternate_stack{0, abi::kSsDisable, 0, 0};
  std::uint64_t saved_mask = 0;  ///< of sigsuspend and ppoll, put back when the handler returns
  bool restores_mask = false;
  std::uint64_t cpu_shown = 0;  ///< the latest time that its CPU-time clock has shown
  std::string name;
};

/// A system call in progress.
struct Call {
  Thread& thread;
  ThreadInfo& info;
  std::uint64_t number;
  std::array<std::uint64_t, 6> a;
  SyscallOutcome outcome = SyscallOutcome::done;
  bool keeps_registers = false;  ///< rt_sigreturn: a0 is not the result
  bool timed_out = false;        ///< a retried wait whose time is over
  std::uint64_t progress = 0;    ///< of a retried write

  std::int32_t i32(unsigned i) const { return static_cast<std::int32_t>(a[i]); }
  std::uint32_t u32(unsigned i) const { return static_cast<std::uint32_t>(a[i]); }
  std::int64_t i64(unsigned i) const { return static_cast<std::int64_t>(a[i]); }
};

struct Process::Impl final : SignalSource {
  Impl(ProcessOptions options, AddressSpace& memory, const GuestClock& clock);

  using Handler = std::int64_t (Impl::*)(Call&);
  static Handler handler_of(std::uint64_t number);

  SyscallOutcome syscall(Thread& thread);
  SyscallOutcome syscall_at_once(Thread& thread, Addr low, Addr high);
  /// A system call that cannot be undone is being made for a task that may be (P49).
  bool is_at_once() const { return user.is_bound(); }
  /// The system call of `thread`, which is at an ecall.
  Call call_of(Thread& thread);
  /// Looks up and calls the handler.
  std::int64_t perform(Call& call);
  /// Counts and tells that `what` is not there. @returns -ENOSYS.
  std::int64_t not_implemented(Call& call, const std::string& what);

  // --- process.cpp: threads and waits
  // ------------------------------------------------------------------------
  ThreadInfo& info(const Thread& thread) { return infos[static_cast<std::size_t>(thread.tid - kFirstTid)]; }
  const ThreadInfo& info(const Thread& thread) const {
    return infos[static_cast<std::size_t>(thread.tid - kFirstTid)];
  }
  Thread* find_thread(std::int64_t tid);
  Thread& create_thread();
  std::size_t live_threads() const;
  /// Blocks the calling thread; its result comes from wake().
  std::int64_t block(Call& call, Wait wait);
  /// Ends a wait: result into a0, runnable, announced.
  void wake(Thread& thread, std::int64_t result);
  void end_wait(Thread& thread);
  /// Tries the file waits again, oldest first, until none makes progress.
  void retry_file_waits();
  bool retry(Thread& thread, bool timed_out);
  void exit_thread(Thread& thread);
  void exit_process(int status);
  void log(const std::string& sentence) const;
  std::uint64_t now() const { return clock.nanoseconds(); }

  // --- sys_signals.cpp
  // ---------------------------------------------------------------------------------------
  /// Sends a signal to a thread, or to the process (target null).
  void send_signal(Thread* target, const abi::Siginfo& siginfo) {
    send_signal(target, PendingSignal{siginfo, std::nullopt});
  }
  void send_signal(Thread* target, PendingSignal sent);
  /// As a call of the program does. @returns 0, or -EAGAIN: as many are queued as may be.
  std::int64_t queue_signal(Thread* target, const abi::Siginfo& siginfo);
  /// Takes the oldest of `signal` from `queue`, for delivery.
  abi::Siginfo take_signal(SignalQueue& queue, int signal);
  /// A signal that is ignored now is not pending any more.
  void drop_pending(SignalQueue& queue, int signal);
  /// Starts handlers of pending, unblocked signals of a thread whose registers are valid.
  SyscallOutcome deliver_pending(Thread& thread);
  bool start_handler(Thread& thread, int signal, const abi::Siginfo& siginfo);
  /// Ends the wait of a blocked thread because a signal with a handler came; its pc and a0 are those of
  /// EINTR, or of the call's restart.
  void interrupt_wait(Thread& thread, int signal);
  /// The lowest pending signal that `thread` does not block, 0 if none.
  int deliverable(const Thread& thread);
  bool is_ignored(int signal) const;
  void kill(int signal);

  // SignalSource, of the thread whose call is being made.
  std::uint64_t pending_signals() const override;
  abi::Siginfo take_pending(std::uint64_t signals) override;
  std::uint64_t signals_sent() const override { return sent_signals; }

  // --- sys_threads.cpp
  // ---------------------------------------------------------------------------------------
  std::int64_t futex_wait(Call& call, Addr word, std::uint32_t expected,
                          std::optional<std::uint64_t> deadline, std::uint32_t bitset);
  std::int64_t futex_wake(Addr word, std::int64_t count, std::uint32_t bitset);
  std::int64_t futex_requeue(Call& call, bool compares);
  std::int64_t futex_wake_op(Call& call);
  std::int64_t futex_lock_pi(Call& call, bool only_tries, std::optional<std::uint64_t> deadline);
  std::int64_t futex_unlock_pi(Call& call);
  std::int64_t clone_thread(Call& call, std::uint64_t flags, Addr stack, Addr parent_tid, Addr tls,
                            Addr child_tid);
  void release_robust_list(Thread& thread);

  // --- sys_memory.cpp
  // ----------------------------------------------------------------------------------------
  /// True if `more` bytes may be mapped writable besides those that are.
  bool has_room(std::uint64_t more) const;
  /// True if [a, a + bytes), whole pages, may get `rights`.
  bool has_room_for(Addr a, std::uint64_t bytes, std::uint8_t rights) const;
  /// The free memory that programs see.
  std::uint64_t free_bytes() const {
    return options.memory_bytes - std::min(options.memory_bytes, memory.mapped_bytes());
  }
  /// A call at once must not change [a, a + bytes), whole pages: tracked ones are among them.
  bool is_kept(Addr a, std::uint64_t bytes) const;

  // --- file_memory.cpp: memory that shows files
  // -------------------------------------------------------------------
  /// The host's file behind `file`, to be mapped. @returns 0 or -errno.
  std::int64_t mapped_file(OpenFile& file, std::shared_ptr<const MappedFile>& result);
  /// Before a call reads or writes bytes of `file`, from its position on if there is no offset: those that
  /// memory shows are accessed. False: a call at once must not do that.
  bool begin_file_access(OpenFile& file, std::optional<std::int64_t> offset, std::uint64_t bytes,
                         bool writes);
  /// After a call has written bytes of `file`, or has changed its length.
  void file_changed(OpenFile& file);
  void file_changed(FileId id);
  /// The thread's access at `a`, behind the end of a file: true if the file has grown meanwhile.
  bool has_grown(Addr a);
  /// The signal for a page that the host could not show.
  void report_lost_page(Thread& thread);
  std::int64_t remove_contents(Addr a, std::uint64_t bytes);
  void restore_view(CheckpointReader& file);

  // --- sys_files.cpp, sys_poll.cpp, sys_paths.cpp
  // --------------------------------------------------------------------------
  std::int64_t transfer_in(Call& call, const std::shared_ptr<OpenFile>& open_file,
                           const std::vector<abi::Iovec>& ranges, std::optional<std::int64_t> offset);
  std::int64_t transfer_out(Call& call, const std::shared_ptr<OpenFile>& open_file,
                            const std::vector<abi::Iovec>& ranges, std::optional<std::int64_t> offset);
  std::int64_t read_iovecs(Addr a, std::uint64_t count, std::vector<abi::Iovec>& ranges) const;
  std::int64_t would_block(Call& call, const OpenFile& file);
  std::int64_t poll_files(Call& call,
                          std::vector<std::pair<std::shared_ptr<OpenFile>, std::uint32_t>>& requests,
                          std::vector<std::uint32_t>& ready, std::optional<std::uint64_t> deadline);
  std::int64_t epoll_wait(Call& call, std::optional<std::uint64_t> deadline);
  std::int64_t resolve(Call& call, unsigned directory, unsigned path, PathResolver::Follow follow,
                       ResolvedPath& result);
  std::int64_t resolve(std::int32_t directory, std::string_view path, PathResolver::Follow follow,
                       ResolvedPath& result);
  /// As resolve(), and refuses what may not be written.
  std::int64_t resolve_for_change(Call& call, unsigned directory, unsigned path, PathResolver::Follow follow,
                                  ResolvedPath& result);
  std::int64_t open_path(std::int32_t directory, const std::string& path, std::uint32_t flags,
                         std::uint32_t mode);
  std::shared_ptr<OpenFile> open_virtual(const std::string& path, std::uint32_t flags, std::int64_t& error);
  std::int64_t stat_at(Call& call, unsigned directory, unsigned path, std::uint32_t flags, abi::Stat& result);
  /// As an open of that path: what a descriptor stands for is opened anew.
  std::shared_ptr<OpenFile> open_made_up(const std::string& path, std::uint32_t flags, std::int64_t& error);
  std::string proc_maps() const;

  // --- proc_files.cpp
  // ------------------------------------------------------------------------------------------
  std::shared_ptr<OpenFile> open_again(const std::string& path, std::uint32_t flags, std::int64_t& error);
  std::vector<ListedFile> list_proc_folder(const std::string& path);
  /// Null: there is no such folder.
  std::shared_ptr<OpenFile> open_proc_folder(const std::string& path, std::uint32_t flags);
  /// Nothing: there is no such file.
  std::optional<std::string> proc_text(const std::string& path);
  std::string proc_machine(std::string_view path);
  std::string proc_status(const Thread& thread) const;
  std::string proc_stat(const Thread& thread, bool of_process);
  std::string proc_limits() const;
  std::string proc_smaps() const;
  std::string proc_auxiliary() const;
  std::string thread_name(const Thread& thread) const;
  /// The thread of /proc/self/task/TID and what follows it, or null.
  Thread* thread_of_task(std::string_view path, std::string_view file);

  // --- sys_sockets.cpp, sys_socket_data.cpp
  // ------------------------------------------------------------------
  /// Null, with -errno: the descriptor is no socket.
  std::shared_ptr<Socket> find_socket(std::int64_t fd, std::int64_t& error) const;
  /// The call waits until files change, if it may, for `timeout` ns at most.
  std::int64_t wait_for_files(Call& call, bool may_wait, std::optional<std::uint64_t> timeout);
  std::int64_t get_address(const Socket& socket, Addr a, std::uint32_t bytes, SocketAddress& result) const;
  std::int64_t get_destination(const Socket& socket, Addr a, std::uint32_t bytes, Destination& result);
  /// Writes the address and its length, as far as there is room.
  std::int64_t put_address(const SocketAddress& address, Family family, Addr a, Addr length);
  std::int64_t socket_send(Call& call, Socket& socket, const std::vector<abi::Iovec>& ranges,
                           std::uint32_t flags, Outgoing with);
  std::int64_t socket_receive(Call& call, Socket& socket, const std::vector<abi::Iovec>& ranges,
                              std::uint32_t flags, Incoming& with);
  std::int64_t read_control(const Socket& socket, Addr a, std::uint64_t bytes, PassedFiles& result) const;
  /// @returns the flags that recvmsg() tells; `bytes`: of the buffer, then of what it holds.
  std::uint32_t write_control(const Socket& socket, PassedFiles passed, bool cloexec, Addr a,
                              std::uint64_t& bytes);
  std::int64_t send_message(Call& call, Socket& socket, Addr at, std::uint32_t flags);
  std::int64_t receive_message(Call& call, Socket& socket, Addr at, std::uint32_t flags);
  std::int64_t transfer_messages(Call& call, bool sends);
  /// A result of a file is that of the call, or the call waits.
  std::int64_t end_splice(Call& call, std::int64_t result, bool may_wait);
  /// SIGPIPE for the caller.
  void broken_pipe(Call& call);

  // --- sys_disk.cpp
  // ----------------------------------------------------------------------------------------
  bool is_on_disk(OpenFile& file) const;
  std::int64_t begin_disk_transfer(Call& call, std::shared_ptr<OpenFile> file, std::vector<abi::Iovec> ranges,
                                   std::optional<std::int64_t> offset, bool writes);
  std::int64_t wait_for_disk(Call& call, std::uint64_t done_at, DiskTransfer transfer);
  /// The request of the thread is done.
  void finish_disk_wait(Thread& thread);
  std::int64_t end_disk_transfer(ThreadInfo& of);
  std::int64_t put_all(OpenFile& file, std::span<const std::byte> data, std::int64_t offset);
  std::int64_t get_all(OpenFile& file, const DiskTransfer& transfer);

  // --- sys_timers.cpp
  // ----------------------------------------------------------------------------------------
  /// A setting of a timer whose clock is of this kind and says `now_there`.
  std::int64_t read_timer(Addr a, bool is_absolute, bool of_realtime, std::uint64_t now_there,
                          IntervalTimer& timer) const;
  /// The time of a timer's clock.
  std::uint64_t time_of(const PosixTimer& timer) const;
  /// How long until the CPU time of a thread, or (0) of the process, may have reached `due`; nothing while it
  /// stands still.
  std::optional<std::uint64_t> cpu_wait(int tid, std::uint64_t due) const;
  /// The CPU time of a thread, or (0) of the process, as the cores have it.
  std::uint64_t cpu_clock_now(int tid) const;
  /// The clock of the timer of setitimer() with this number.
  std::uint64_t itimer_now(std::int32_t which) const;
  void expire_cpu_itimers();
  /// When the next timer expires whose expiration matters; expire_timers() tells of those that have.
  std::optional<std::uint64_t> next_timer() const;
  void expire_timers();
  /// The signal of a timer leaves the queue: it gets how often the timer has expired besides.
  void tell_overrun(std::int32_t timer, abi::Siginfo& siginfo);

  std::int64_t install(std::shared_ptr<OpenFile> file, bool cloexec);
  std::optional<std::uint64_t> deadline_of(const abi::Timespec& time, bool absolute, bool realtime) const;
  bool read_deadline(Addr a, bool absolute, bool realtime, std::optional<std::uint64_t>& deadline,
                     std::int64_t& error) const;
  /// Nothing: there is no such clock.
  std::optional<std::uint64_t> clock_value(std::int32_t id, Thread& caller);
  struct CpuClock {
    Thread* thread = nullptr;  ///< null: of all threads
  };
  /// The CPU-time clock that `id` names; nothing: it names another kind of clock, or none.
  std::optional<CpuClock> cpu_clock(std::int32_t id, Thread& caller);
  /// Nanoseconds that a thread, or all threads together, have run.
  std::uint64_t cpu_time(const Thread& thread);
  std::uint64_t cpu_time();

  // --- the handlers, in order of their files
  // -----------------------------------------------------------------
#define RUBATO_SYSCALL(number, name) std::int64_t sys_##name(Call& call);
#include "chip/os/syscalls.inc"
#undef RUBATO_SYSCALL

  ProcessOptions options;
  AddressSpace& memory;
  const Layout layout{memory};
  UserMemory user;
  const GuestClock& clock;
  ThreadObserver* observer = nullptr;

  std::vector<std::unique_ptr<Thread>> threads;
  std::deque<ThreadInfo> infos;                      // by tid - kFirstTid
  std::map<Addr, std::deque<Thread*>> futexes;       // waiters, first come first
  std::set<std::pair<std::uint64_t, int>> timeouts;  // (ns, tid)
  std::deque<Thread*> file_waits;
  bool files_changed = false;  ///< a pipe or counter may be ready that was not

  ThreadInfo* calling = nullptr;  ///< whose call is being made, or was made last
  std::uint64_t sent_signals = 0;
  std::array<abi::Sigaction, abi::kSignals + 1> actions{};
  SignalQueue pending;  // signals sent to the process
  /// RLIMIT_SIGPENDING: signals that queue at once.
  std::uint64_t most_pending = 16384, most_pending_hard = 16384;
  /// By setitimer()'s numbers: on the clock, and two on the CPU time of the process.
  std::array<IntervalTimer, 3> itimers;
  std::map<std::int32_t, PosixTimer> posix_timers;  // by the guest's number
  std::vector<std::weak_ptr<TimerFile>> timer_files;

  LoadedProgram program;
  Addr brk_start = 0, brk_now = 0, brk_mapped = 0;
  Addr stack_low = 0, stack_high = 0, initial_sp = 0;

  Disk disk;
  Network network;
  FileTable files;
  PathResolver resolver;
  std::string directory;  // the guest's working directory
  std::uint32_t umask = 022;
  std::uint64_t next_pipe = 1000;
  Rng rng;

  std::array<std::string, 2> printed_before;  // of a restored program: standard output and error
  bool is_exited = false;
  int status = 0;
  std::optional<int> killed_by;
  std::map<std::uint64_t, std::uint64_t> unknown;  // number -> count
};

}  // namespace rubato::chip
