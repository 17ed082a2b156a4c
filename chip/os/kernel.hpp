// The state that all processes of a program share: threads and their waits, the network, the disk and the
// places of files. Each process has its own Process::Impl, with memory, files and signals. Threads and
// processes have numbers of one row, so a thread's number finds its place here. Glossary: a *wait* is why a
// thread is blocked and how it ends; a *child* is a process as its parent knows it.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "chip/disk/disk.hpp"
#include "chip/os/fifo.hpp"
#include "chip/os/file_locks.hpp"
#include "chip/os/inotify_file.hpp"
#include "chip/os/ipc_objects.hpp"
#include "chip/os/linux_abi.hpp"
#include "chip/os/local_network.hpp"
#include "chip/os/open_file.hpp"
#include "chip/os/path_resolver.hpp"
#include "chip/os/posix_queues.hpp"
#include "chip/os/process.hpp"
#include "chip/os/signal_file.hpp"
#include "chip/os/signal_queue.hpp"
#include "chip/os/user_memory.hpp"

namespace rubato::chip {

inline constexpr int kFirstTid = 1000;
inline constexpr std::uint64_t kMaxTransfer = 0x7ffff000;  ///< bytes of one call, as Linux

enum class WaitKind : std::uint8_t { none, futex, sleep, files, signal, disk, child, vfork, stop };

/// The identity of a futex word: the memory that it lies in and its place there. Processes that share memory
/// have the same, wherever each has mapped it.
using FutexKey = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

/// An open of a FIFO that waits for its other end.
struct Opening {
  std::shared_ptr<FifoEnd> end;  ///< counts already: the other end's open finds it
  bool closes_on_exec = false;
};

/// Why a thread is blocked.
struct Wait {
  WaitKind kind = WaitKind::none;
  Addr futex = 0;
  FutexKey key{};                ///< of the futex
  std::vector<FutexKey> keys{};  ///< of all, where futex_waitv() waits: `key` is the first of them
  std::uint32_t bitset = 0;
  bool is_lock = false;                   ///< FUTEX_LOCK_PI: the waker hands the lock over
  std::optional<std::uint64_t> deadline;  ///< ns; in Impl::timeouts too
  Addr remaining = 0;                     ///< nanosleep: where an interrupted sleep stores what is left
  std::uint64_t signals = 0;              ///< rt_sigtimedwait: the set waited for
  std::uint64_t number = 0;               ///< the system call, tried again when files change, or restarted
  std::uint64_t progress = 0;             ///< bytes a blocked write has moved already
  std::optional<Opening> opening{};       ///< of an open
  std::vector<SemaphoreOperation> operations{};  ///< of semop()
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
  int pid = kFirstTid;  ///< of its process
  Wait wait;
  std::unique_ptr<DiskTransfer> transfer;  ///< of a wait for the disk
  SignalQueue pending;                     ///< signals sent to this thread
  abi::StackT alternate_stack{0, abi::kSsDisable, 0, 0};
  std::uint64_t saved_mask = 0;  ///< of sigsuspend and ppoll, put back when the handler returns
  bool restores_mask = false;
  std::uint64_t cpu_shown = 0;  ///< the latest time that its CPU-time clock has shown
  int policy = 0;               ///< of scheduling, as sched_setscheduler() has set it: told, and of no effect
  int death_signal = 0;         ///< that its process gets when the parent ends; 0: none
  /// ns: told, and what it is set back to; timers are exact whatever it says.
  std::uint64_t timer_slack = 50000, usual_timer_slack = 50000;
  /// A thread or process that another one makes begins with that one's settings.
  void inherit(const ThreadInfo& maker) {
    name = maker.name;
    timer_slack = usual_timer_slack = maker.timer_slack;
    policy = maker.policy;
  }
  std::string name;
};

/// Settings of a process by prctl() that are told, inherited, and of no effect here.
struct ProcessSettings {
  bool is_dumpable = true, keeps_capabilities = false, has_no_new_privileges = false,
       has_no_huge_pages = false;
};

/// A process as its parent knows it, until the parent has waited for it.
struct Child {
  static constexpr int kInit = 1;  ///< the parent of the first process and of orphans

  int parent = kInit, group = kFirstTid, session = kFirstTid;
  int exit_signal = abi::kSigChld;  ///< sent to the parent at its end
  bool has_ended = false;
  bool has_executed = false;          ///< a program of its own: its parent gives it no group any longer
  std::int32_t status = 0;            ///< as wait4() tells it
  std::uint64_t cpu_nanoseconds = 0;  ///< of the process and of children that it has waited for
  bool is_subreaper = false;          ///< orphans among its descendants become its children
  std::optional<int> vfork_waiter{};  ///< the parent's thread that waits until the child has its own memory

  enum class News : std::uint8_t { none, ended, stopped, continued };
  int stopped_by = 0;      ///< the signal; 0: it is not stopped
  News news = News::none;  ///< stopped or continued, and no wait of the parent has told of it
  /// The news for a wait with these options of waitid().
  News news_for(std::uint32_t options) const;
  std::int32_t status_of(News told) const;
  /// The news as `signal` brings them to the parent. `pid`: its own.
  abi::Siginfo siginfo(int pid, int signal, News told) const;
};

/// The path of the program in the guest's view, as /proc/self/exe has it; empty if the host cannot tell it.
std::string own_path(const ProcessOptions& options);

struct Process::Kernel final : SignalSource {
  Kernel(const ProcessOptions& options, const GuestClock& its_clock);
  ~Kernel() override;

  /// Null: the process has ended.
  Impl* find(int pid);
  Impl& process_of(const Thread& thread);
  ThreadInfo& info(const Thread& thread) { return infos[static_cast<std::size_t>(thread.tid - kFirstTid)]; }
  Thread& create_thread(int pid);
  /// The memories of all processes that run, each once.
  std::set<const AddressSpace*> memories() const;
  /// How often the segment is attached, in all of them.
  std::uint64_t attached(const SharedSegment& segment) const;
  /// Segments that were removed go when no process has attached them.
  void drop_removed_segments();
  /// Processes of before an exec, or that have ended, can go: none of their functions runs.
  void bury();

  // SignalSource, of the thread whose call is being made.
  std::uint64_t pending_signals() const override;
  abi::Siginfo take_pending(std::uint64_t signals) override;
  std::uint64_t signals_sent() const override { return sent_signals; }

  const GuestClock& clock;
  std::function<void(const std::string&)> log;
  /// The program that the run began with: its path in the guest's view, and on the host. The former may name
  /// no file, or one outside of the sandbox. An execve of it finds the program even so.
  const std::string begun_path, begun_file;
  ThreadObserver* observer = nullptr;
  UserMemory::Observer* access_observer = nullptr;
  InotifyQueues inotify_queues;

  std::map<int, std::unique_ptr<Impl>> processes;  // that run, by pid
  std::map<int, Child> children;                   // all that run, and those not waited for, by pid
  std::vector<std::unique_ptr<Impl>> buried;
  std::unique_ptr<Impl> first_image;  ///< of the first process, if it has executed another program since

  std::vector<std::unique_ptr<Thread>> threads;
  std::deque<ThreadInfo> infos;                      // by tid - kFirstTid
  std::map<FutexKey, std::deque<Thread*>> futexes;   // waiters, first come first
  std::set<std::pair<std::uint64_t, int>> timeouts;  // (ns, tid)
  std::deque<Thread*> file_waits;
  std::vector<std::weak_ptr<OpenFile>> asynchronous;  ///< files whose owners get signals
  bool files_changed = false;                         ///< a pipe or counter may be ready that was not

  ThreadInfo* calling = nullptr;  ///< whose call is being made, or was made last
  Thread* in_call = nullptr;      ///< leaves its core by itself, as its call is over
  std::uint64_t sent_signals = 0;

  Disk disk;
  LocalNetwork network;
  FileLocks locks;
  IpcObjects ipc;
  PosixQueues posix_queues;
  Fifos fifos;
  PathResolver resolver;
  std::uint64_t next_pipe = 1000;
  Rng rng;

  bool is_over = false;  ///< the first process has ended
  int status = 0;
  std::optional<int> killed_by;
  std::map<std::uint64_t, std::uint64_t> unknown;  // number -> count
  bool has_refused_processes = false, has_told_of_limit = false, has_told_of_stops = false;
  std::uint32_t last_space = 0;  ///< where no observer gives spaces
  std::uint64_t made = 0;        ///< processes that processes made
};

}  // namespace rubato::chip
