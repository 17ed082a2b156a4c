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
#include "chip/os/file_locks.hpp"
#include "chip/os/file_table.hpp"
#include "chip/os/guest_space.hpp"
#include "chip/os/kernel.hpp"
#include "chip/os/linux_abi.hpp"
#include "chip/os/local_network.hpp"
#include "chip/os/open_file.hpp"
#include "chip/os/path_resolver.hpp"
#include "chip/os/process.hpp"
#include "chip/os/signal_file.hpp"
#include "chip/os/signal_queue.hpp"
#include "chip/os/socket.hpp"
#include "chip/os/timers.hpp"
#include "chip/os/user_memory.hpp"

namespace rubato::chip {

class PidFile;

/// The guest's address space, from below: image and brk heap, mappings, stack, trampoline.
struct Layout {
  explicit Layout(const AddressSpace& memory)
      : mappings(ElfLimits::highest(memory)),
        trampoline(memory.size() - 2 * AddressSpace::kPageBytes),
        stack_top(memory.size() - (Addr{1} << 20)),
        most_stack_bytes(memory.size() / 16) {}

  static std::uint64_t page_up(std::uint64_t bytes) {
    return (bytes + AddressSpace::kPageMask) & ~AddressSpace::kPageMask;
  }
  /// The addresses that the guest may map: all but page 0's neighbourhood and the trampoline.
  bool is_user_range(Addr a, std::uint64_t bytes) const {
    return a >= kLowestMapping && a < trampoline && bytes <= trampoline - a;
  }

  const Addr mappings, trampoline, stack_top;
  static constexpr Addr kLowestMapping = 0x10000;  ///< vm.mmap_min_addr
  const std::uint64_t most_stack_bytes;
  static constexpr std::uint64_t kGuardBytes = std::uint64_t{1}
                                               << 20;  ///< below the main stack, never mapped
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

  /// The thread waits already, and its call is tried again.
  bool is_retried() const { return thread.state == ThreadState::blocked; }
  std::int32_t i32(unsigned i) const { return static_cast<std::int32_t>(a[i]); }
  std::uint32_t u32(unsigned i) const { return static_cast<std::uint32_t>(a[i]); }
  std::int64_t i64(unsigned i) const { return static_cast<std::int64_t>(a[i]); }
};

struct Process::Impl final {
  /// The first process, in memory of the program.
  Impl(Kernel& kernel, ProcessOptions options, AddressSpace& memory);
  /// A process like `parent`, in `space` (null: the parent's).
  Impl(const Impl& parent, int pid, std::shared_ptr<GuestSpace> space, bool shares_files);
  /// `before` goes on with the program that `options` name, in `space`.
  /// @throws UsageError for what cannot be loaded; `before` is as it was then.
  Impl(const Impl& before, ProcessOptions options, std::shared_ptr<GuestSpace> space);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  class InCall;  ///< the time of a call, in which its thread leaves its core by itself
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
  ThreadInfo& info(const Thread& thread) const { return kernel.info(thread); }
  bool is_own(const Thread& thread) const { return info(thread).pid == pid; }
  bool is_first() const { return pid == kFirstTid; }
  /// A thread of this process, or null.
  Thread* find_thread(std::int64_t tid);
  /// A thread of any process, or null.
  Thread* find_any_thread(std::int64_t tid) const;
  /// The thread that a call's first argument names, 0 for its own, or null.
  Thread* named_thread(const Call& call) const;
  Thread& main_thread() const { return *threads[static_cast<std::size_t>(pid - kFirstTid)]; }
  std::size_t live_threads() const;
  /// Blocks the calling thread; its result comes from wake().
  std::int64_t block(Call& call, Wait wait);
  /// Ends a wait: result into a0, runnable, announced.
  void wake(Thread& thread, std::int64_t result);
  void end_wait(Thread& thread);
  /// The thread is no longer among those that a wake of its futex finds.
  void leave_futex(Thread& thread);
  /// Any call may have changed a file that an inotify queue watches.
  void note_watched_changes() {
    if (kernel.inotify_queues.open != 0) files_changed = true;
  }
  /// Tries the file waits again, oldest first, until none makes progress.
  void retry_file_waits();
  bool retry(Thread& thread, bool timed_out);
  void exit_thread(Thread& thread);
  /// `signal`: that has killed it, or 0.
  void exit_process(int status, int signal = 0);
  void expire_own_timers();
  void log(const std::string& sentence) const;
  std::uint64_t now() const { return clock.nanoseconds(); }
  /// The date, in ns since 1970, when now() was 0.
  std::uint64_t start() const { return options.start_date * 1000000000; }
  /// The outcome of a call by a thread of this process if the run or the process is over.
  std::optional<SyscallOutcome> end_of_process() const {
    if (kernel.is_over) return SyscallOutcome::process_exited;
    return is_exited ? std::optional(SyscallOutcome::thread_exited) : std::nullopt;
  }

  // --- sys_signals.cpp
  // ---------------------------------------------------------------------------------------
  /// Sends a signal to a thread, or to the process (target null).
  void send_signal(Thread* target, const abi::Siginfo& siginfo) {
    send_signal(target, PendingSignal{siginfo, std::nullopt});
  }
  void send_signal(Thread* target, PendingSignal sent);
  /// `signal` is sent to the process: a stopped one may go on by that.
  void prepare_for(int signal);
  /// The process is stopped, and the signal does not kill.
  void keep_while_stopped(Thread* target, PendingSignal sent);
  /// The process ends or stops by a signal that is not ignored and has no handler.
  void take_default_action(int signal);
  /// Until the wait of the call is over.
  void use_mask_for_wait(Call& call, std::uint64_t mask);
  /// As a call of the program does. @returns 0, or -EAGAIN: as many are queued as may be.
  std::int64_t queue_signal(Thread* target, const abi::Siginfo& siginfo);
  /// To thread `tid` of any process, or of the process `of` if that is not 0.
  std::int64_t signal_thread(std::int32_t of, std::int32_t tid, int signal, const abi::Siginfo& siginfo);
  /// Takes the oldest of `signal` from `queue`, for delivery.
  abi::Siginfo take_signal(SignalQueue& queue, int signal);
  /// A signal that is ignored now is not pending any more.
  void drop_pending(SignalQueue& queue, int signal);
  /// Starts handlers of pending, unblocked signals of a thread whose registers are valid. `blocked`: its
  /// process is stopped.
  SyscallOutcome deliver_pending(Thread& thread);
  bool start_handler(Thread& thread, int signal, const abi::Siginfo& siginfo);
  /// Ends the wait of a blocked thread because a signal with a handler came; its pc and a0 are those of
  /// EINTR, or of the call's restart.
  void interrupt_wait(Thread& thread, int signal);
  /// The lowest pending signal that `thread` does not block, 0 if none.
  int deliverable(const Thread& thread);
  bool is_ignored(int signal) const;
  void kill(int signal);
  std::uint64_t pending_signals(const ThreadInfo& of) const { return of.pending.mask() | pending.mask(); }
  abi::Siginfo take_pending(ThreadInfo& of, std::uint64_t signals);

  // --- sys_threads.cpp
  // ---------------------------------------------------------------------------------------
  std::int64_t futex_wait(Call& call, Addr word, std::uint32_t expected,
                          std::optional<std::uint64_t> deadline, std::uint32_t bitset);
  std::int64_t futex_wake(Addr word, std::int64_t count, std::uint32_t bitset);
  /// Reads what futex_waitv() waits for. @returns 0 or -errno.
  std::int64_t read_futexes(Call& call, Wait& wait);
  std::int64_t futex_requeue(Call& call, bool compares);
  std::int64_t futex_wake_op(Call& call);
  std::int64_t futex_lock_pi(Call& call, bool only_tries, std::optional<std::uint64_t> deadline);
  std::int64_t futex_unlock_pi(Call& call);
  /// The lock at `word` is the first waiter's.
  void hand_over(Addr word, const std::deque<Thread*>& waiters, std::uint32_t marks);
  std::int64_t clone_thread(Call& call, std::uint64_t flags, Addr stack, Addr parent_tid, Addr tls,
                            Addr child_tid, Addr pidfd);
  void release_robust_list(Thread& thread);
  FutexKey key_of(Addr word) const;
  /// A fork has made files of shared memory without one: threads that wait there have other keys.
  void rename_futexes();

  // --- sys_processes.cpp, sys_execve.cpp
  // ---------------------------------------------------------------------
  /// 0; or -ENOSYS if the program can make no processes, which it tells.
  std::int64_t refuse_processes(Call& call);
  /// New memory for a process, or null: there may be no more, which has been told.
  std::shared_ptr<GuestSpace> make_space(Call& call, std::int64_t& error);
  std::int64_t clone_process(Call& call, std::uint64_t flags, Addr stack, Addr parent_tid, Addr tls,
                             Addr child_tid, Addr pidfd);
  /// Another process has the same memory: one of the two comes from vfork.
  bool shares_memory() const;
  /// No process is in the program's own memory any longer.
  void release_program_memory();
  void close_files();
  /// The other threads end, as in an exec or at the end of the process.
  void end_threads(const Thread* but);
  /// The end of a process that is not the first.
  void end_child(int status, int signal);
  /// The children get another parent. @returns those that can still be waited for.
  std::vector<int> leave_children();
  /// Orphans, and their new parent, hear of it.
  void tell_orphans(const std::vector<int>& left);
  void tell_parent(const Child& of);
  /// A thread of the parent that waits for the end of `pid`, or for it to have its own memory, goes on.
  void release_vfork_waiter();
  struct ChildQuery {
    std::int32_t kind = 0, id = 0;  ///< as those of waitid()
    std::uint32_t options = 0;
    bool may_not_wait = false;  ///< asked by a descriptor that is nonblocking
  };
  /// The child that the call waits for; 0: none yet, and the call waits if it may; or -errno.
  std::int64_t await_child(Call& call, const ChildQuery& query);
  bool is_asked_for(int child, const Child& of, const ChildQuery& query) const;
  /// A wait has told of the child: its end makes it go.
  void take_news(int child, Child::News told);
  /// Threads of this process that wait for children look again.
  void retry_child_waits();
  std::int64_t execute(Call& call, ProcessOptions its_options);
  struct ProgramFile {
    std::string host, guest;  ///< paths; the guest's is empty if the host cannot tell it
  };
  std::int64_t program_file(std::int32_t from, const std::string& path, ProgramFile& result);
  std::int64_t read_strings(Addr list, std::uint64_t& room, std::vector<std::string>& result) const;

  // --- sys_job_control.cpp
  // -------------------------------------------------------------------------------------
  bool is_stopped() const { return kernel.children.at(pid).stopped_by != 0; }
  /// The default action of `signal`, which stops: the process stops, if its group is no orphan and the
  /// program may have processes.
  void act_on_stop(int signal);
  void stop(int signal);
  /// SIGCONT has come: the process goes on if it is stopped.
  void go_on();
  /// The thread, whose process is stopped and which could run, waits until that goes on.
  void park(Thread& thread);
  /// The wait of a thread, as the process goes on.
  void go_on_with_wait(Thread& thread);
  /// `thread` can run: it is announced, or waits for its stopped process to go on.
  void announce(Thread& thread);
  /// The parent learns that this process has stopped or goes on.
  void tell_parent_of(Child::News news);
  /// No process outside of the group, in its session, is parent of one of it: none could continue it.
  bool is_orphaned(int group) const;
  /// The groups that have a parent in this process, or by its own one.
  std::vector<int> groups_held() const;
  /// Hangs up those of `groups` that are orphaned by the end of this process, and stopped.
  void hang_up(const std::vector<int>& groups);

  // --- pid_file.cpp
  // --------------------------------------------------------------------------------------------
  /// A descriptor of the process `whom`, or -errno.
  std::int64_t install_pidfd(int whom, std::uint32_t flags);
  /// The file of a descriptor of a process, or null.
  std::shared_ptr<PidFile> pid_file(int descriptor) const;

  // --- sys_memory.cpp
  // ----------------------------------------------------------------------------------------
  /// Bytes that may be written now, of all processes.
  std::uint64_t writable_bytes() const;
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

  // --- sys_other_memory.cpp
  /// process_vm_readv() and process_vm_writev().
  std::int64_t move_between(Call& call, bool writes);

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

  // --- thread_checkpoint.cpp: threads and their waits
  // -------------------------------------------------------------------
  void save_threads(CheckpointWriter& file) const;
  /// Memory is restored already: a futex is known by what is mapped there.
  void restore_threads(CheckpointReader& file);
  void restore_wait(CheckpointReader& file, Thread& thread);
  /// The thread that the file names next, which waits in this way.
  Thread& waiting_thread(CheckpointReader& file, WaitKind kind) const;

  // --- sys_files.cpp, sys_poll.cpp, sys_paths.cpp
  // --------------------------------------------------------------------------
  /// Linux's access_ok(): no byte of the range is the kernel's. Whether all are mapped shows when they move.
  bool is_user_address(Addr a, std::uint64_t bytes) const {
    return bytes <= memory.size() && a <= memory.size() - bytes;
  }
  std::int64_t read_before_fault(OpenFile& file, std::optional<std::int64_t> offset, std::uint64_t room);
  std::int64_t transfer_in(Call& call, const std::shared_ptr<OpenFile>& open_file,
                           const std::vector<abi::Iovec>& ranges, std::optional<std::int64_t> offset);
  std::int64_t transfer_out(Call& call, const std::shared_ptr<OpenFile>& open_file,
                            const std::vector<abi::Iovec>& ranges, std::optional<std::int64_t> offset);
  std::int64_t read_iovecs(Addr a, std::uint64_t count, std::vector<abi::Iovec>& ranges) const;
  std::int64_t would_block(Call& call, const OpenFile& file);
  std::int64_t poll_files(Call& call,
                          std::vector<std::pair<std::shared_ptr<OpenFile>, std::uint32_t>>& requests,
                          std::vector<std::uint32_t>& ready, std::optional<std::uint64_t> deadline);
  /// Tells a poll with a limit how much of its time is left.
  void put_time_left(std::uint64_t number, const std::array<std::uint64_t, 6>& arguments,
                     std::optional<std::uint64_t> deadline);
  std::int64_t epoll_wait(Call& call, std::optional<std::uint64_t> deadline);
  std::int64_t resolve(Call& call, unsigned directory, unsigned path, PathResolver::Follow follow,
                       ResolvedPath& result);
  std::int64_t resolve(std::int32_t directory, std::string_view path, PathResolver::Follow follow,
                       ResolvedPath& result);
  /// As resolve(), and refuses what may not be written.
  std::int64_t resolve_for_change(Call& call, unsigned directory, unsigned path, PathResolver::Follow follow,
                                  ResolvedPath& result);
  /// `call`: null in a restore, which opens no FIFO.
  std::int64_t open_path(Call* call, std::int32_t directory, const std::string& path, std::uint32_t flags,
                         std::uint32_t mode);
  /// 0, or -errno: the program may not do with the file what the bits (R_OK, W_OK, X_OK) ask.
  std::int64_t check_access(const ResolvedPath& where, const abi::Stat& info, std::uint32_t asked) const;
  /// `answer`, if the file of the path call.a[0] is there.
  std::int64_t no_attribute(Call& call, bool follows, std::int64_t answer);
  /// The error of giving a file of that kind the mode, or 0.
  std::int64_t check_mode(std::uint32_t kind, std::uint32_t mode, std::string_view path) const;

  // --- fifo.cpp
  // -----------------------------------------------------------------------------------------------
  std::int64_t open_fifo(Call& call, const ResolvedPath& where, FileId id, std::uint32_t flags);
  std::int64_t finish_open(Call& call, const Opening& opening);

  // --- sys_paths.cpp, virtual_files.cpp
  // ---------------------------------------------------------------------------------------------
  std::shared_ptr<OpenFile> open_virtual(const std::string& path, std::uint32_t flags, std::int64_t& error);
  std::int64_t stat_at(Call& call, unsigned directory, unsigned path, std::uint32_t flags, abi::Stat& result);
  /// As an open of that path: what a descriptor stands for is opened anew.
  std::shared_ptr<OpenFile> open_made_up(const std::string& path, std::uint32_t flags, std::int64_t& error);
  std::string proc_maps() const;

  // --- sys_locks.cpp
  // ------------------------------------------------------------------------------------------
  enum class RangeLockCommand : std::uint8_t { ask, try_once, wait };
  std::int64_t lock_range(Call& call, const std::shared_ptr<OpenFile>& file, RangeLockCommand what,
                          bool is_of_open_file);
  std::int64_t take_lock(Call& call, const FileLocks::Lock& lock, bool waits);
  /// A descriptor of the file is closed: as on Linux the process loses its own locks of the file.
  void note_close(const OpenFile& file);

  // --- sys_asynchronous.cpp
  // -------------------------------------------------------------------------------------------
  std::int64_t set_asynchronous(const std::shared_ptr<OpenFile>& file, bool is_on);
  /// The part of fcntl() for the owner of a file; -EINVAL if the command is for something else.
  std::int64_t control_owner(Call& call, OpenFile& file);
  /// Files have changed: owners of those that became ready get their signals.
  void signal_owners();
  void signal_owner(OpenFile& file);

  // --- sys_shared_memory.cpp, sys_semaphores.cpp, sys_message_queues.cpp
  // -------------------------------------------------------------------------------------------
  /// Seconds of the guest's date.
  std::int64_t date() const;
  /// A process has the attached segments of this one, too; or this one leaves its memory.
  void note_attached();
  void note_left();
  std::int64_t put_segment_status(Call& call, const SharedSegment& segment);
  std::int64_t operate(Call& call, std::optional<std::uint64_t> deadline);
  /// At the end of the process.
  void undo_semaphores();
  /// Threads whose operations wait for the semaphore to become larger, or zero.
  std::int64_t count_waits(const SemaphoreSet& set, std::uint16_t index, bool for_zero) const;
  std::int64_t put_set_status(Call& call, const SemaphoreSet& set);
  std::int64_t ask_or_set_values(Call& call, SemaphoreSet& set);
  std::int64_t put_queue_status(Call& call, const MessageQueue& queue);

  // --- posix_queues.cpp
  // -------------------------------------------------------------------------------------------
  std::int64_t make_queue(Call& call, PosixQueue& queue);
  /// The queue of a call's first argument, or null.
  std::shared_ptr<PosixQueueFile> posix_queue(const Call& call) const;
  std::int64_t wait_for_queue(Call& call, const PosixQueueFile& file, std::optional<std::uint64_t> deadline);
  /// A message has come into the empty queue.
  void notify(PosixQueue& queue);

  // --- proc_files.cpp
  // ------------------------------------------------------------------------------------------
  std::shared_ptr<OpenFile> open_again(const std::string& path, std::uint32_t flags, std::int64_t& error);
  std::vector<ListedFile> list_proc_folder(const std::string& path);
  /// Null: there is no such folder.
  std::shared_ptr<OpenFile> open_proc_folder(const std::string& path, std::uint32_t flags);
  /// Null: it is no file of a thread's name.
  std::shared_ptr<OpenFile> open_name(const std::string& path, std::uint32_t flags);
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
  std::int64_t read_control(const Socket& socket, Addr a, std::uint64_t bytes, Outgoing& result) const;
  /// @returns the flags that recvmsg() tells; `bytes`: of the buffer, then of what it holds.
  std::uint32_t write_control(const Incoming& with, bool cloexec, Addr a, std::uint64_t& bytes);
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

  abi::ResourceLimit limit(std::uint32_t which) const;
  /// The processes that getpriority() names; empty: none.
  std::vector<Impl*> of_priority(std::uint32_t kind, std::int32_t whom);

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

  Kernel& kernel;
  const int pid;
  ProcessOptions options;
  std::shared_ptr<GuestSpace> space;  ///< null: the program's own memory
  AddressSpace& memory;
  const Layout layout{memory};
  UserMemory user;

  // State that it shares with other processes.
  const GuestClock& clock = kernel.clock;
  ThreadObserver*& observer = kernel.observer;
  std::vector<std::unique_ptr<Thread>>& threads = kernel.threads;
  std::deque<ThreadInfo>& infos = kernel.infos;
  std::map<FutexKey, std::deque<Thread*>>& futexes = kernel.futexes;
  std::set<std::pair<std::uint64_t, int>>& timeouts = kernel.timeouts;
  std::deque<Thread*>& file_waits = kernel.file_waits;
  bool& files_changed = kernel.files_changed;
  ThreadInfo*& calling = kernel.calling;
  std::uint64_t& sent_signals = kernel.sent_signals;
  Disk& disk = kernel.disk;
  LocalNetwork& network = kernel.network;
  PathResolver& resolver = kernel.resolver;
  std::uint64_t& next_pipe = kernel.next_pipe;
  Rng& rng = kernel.rng;
  std::map<std::uint64_t, std::uint64_t>& unknown = kernel.unknown;

  std::array<abi::Sigaction, abi::kSignals + 1> actions{};
  /// Limits that bound nothing, by their number; those that were never set are as at the start.
  std::map<std::uint32_t, abi::ResourceLimit> limits;
  ProcessSettings settings;
  int nice = 0;         ///< told, and of no effect: cores are shared as threads are, by turns
  SignalQueue pending;  // signals sent to the process
  /// RLIMIT_SIGPENDING: signals that queue at once.
  std::uint64_t most_pending = 16384, most_pending_hard = 16384;
  /// By setitimer()'s numbers: on the clock, and two on the CPU time of the process.
  std::array<IntervalTimer, 3> itimers;
  std::map<std::int32_t, PosixTimer> posix_timers;  // by the guest's number
  std::vector<std::weak_ptr<TimerFile>> timer_files;

  std::shared_ptr<LoadedProgram> image = std::make_shared<LoadedProgram>();  ///< also of processes forked
  LoadedProgram& program = *image;
  struct Heap {
    Addr start = 0, now = 0, mapped = 0;
  };
  std::shared_ptr<Heap> heap = std::make_shared<Heap>();  ///< of all processes in the same memory
  Addr &brk_start = heap->start, &brk_now = heap->now, &brk_mapped = heap->mapped;
  Addr stack_low = 0, stack_high = 0, initial_sp = 0;

  std::shared_ptr<FileTable> file_table;  ///< of several processes, if they share it (CLONE_FILES)
  FileTable& files = *file_table;
  std::string directory;  // the guest's working directory
  std::uint32_t umask = 022;

  std::array<std::string, 2> printed_before;  // of a restored program: standard output and error
  bool is_exited = false;
  std::uint64_t waited_nanoseconds = 0;  ///< CPU time of children that it has waited for

 private:
  /// Loads options.program, and makes its stack.
  void load();
  /// The host's path of the dynamic loader that the program names.
  std::string interpreter_file();
};

}  // namespace rubato::chip
