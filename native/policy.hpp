// The constants of the native engine's policies: the next task, the pace, and when tasks are shared. Each
// with its unit and reason, and the row of bench/native that shows when it is wrong, or the unit test where
// no row can. Constants that only limit memory, or that a protocol needs to be correct, are with their
// classes.
//
// To change one: this file, then `bench/native --rows ROW` before and after, in turns.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>

namespace rubato::inline v0::native::policy {

// ---- The next task: rotation.hpp, own_tasks.hpp, worker.cpp (R5) ----

/// Tasks from one list into the ring at once: enough to prefetch, few enough for one of high priority to come
/// soon. Row: empty-task.
inline constexpr unsigned kBatch = 16;
/// The most such batches of the current timestamp's linked tasks in a row. They go first since the
/// timestamp's tasks create them: left waiting they would become more and more; but each source has its turn
/// (R10). Row: sssp-serial.
inline constexpr unsigned kCurrentRow = 16;
/// Tasks of higher priority after which one of a lower priority runs. Row: latency-p99-500.
inline constexpr unsigned kPassLimit = 64;
/// Refills of the ring while a spec task waits; sooner if idle. Test: progress_test.cpp.
inline constexpr unsigned kRefillsBeforeAlone = 64;
/// Own tasks that may wait and still run oldest first; of more the newest run first. Row: fib-memory.
inline constexpr std::uint64_t kFewOwn = 1024;
/// Takes of the newest own tasks before one of the oldest, if there are many. Row: tree-memory.
inline constexpr unsigned kTakesBeforeOldest = 4096;
/// Tasks that run at once when the one before has ended (on_commit, a group's last), in a row: what waits
/// between two tasks waits for no more. Row: wavefront-1.
inline constexpr unsigned kRunInARow = 16;

// ---- The pace: pace.hpp, task_timer.hpp (R7, R10, R11) ----

/// Tasks before the epoch is refreshed and the clock is read: the paper's choice (Sec. 4.4). Row:
/// reclamation-batch.
inline constexpr unsigned kRefreshBatch = 50;
/// Microseconds of tasks before the worker looks around, one task at least: the longest that the inbox and
/// the end of a timestamp wait. Row: long-tasks.
inline constexpr std::uint64_t kBatchMicroseconds = 1000;
/// Batches of short tasks before a busy worker does what else only an idle one does. Row: empty-task.
inline constexpr unsigned kBatchesBeforeRest = 4;
/// Microseconds: a task that takes so long is reported as a long one. Test:
/// engine_test.cpp.
inline constexpr std::uint64_t kLongMicroseconds = 10'000;
/// Microseconds a task on average of a batch, from which on the next tasks are timed one by one: a clock read
/// costs 1 % of it at most. Row: long-tasks.
inline constexpr std::uint64_t kTimedMicroseconds = 20;
/// Tasks that are timed then, and at the beginning. Row: long-tasks.
inline constexpr unsigned kTimedTasks = 1000;

/// Microseconds of a handler from which on its actor keeps it as its longest one: shorter ones need no
/// memory. Test: living_test.cpp.
inline constexpr double kNotedHandlerMicroseconds = 100;

// ---- The prefetch distance: prefetch_tuner.hpp (R6) ----

/// Full batches before it changes by one: 3000 tasks, which a preemption does not hide. Row: prefetch-zipf.
inline constexpr unsigned kBatchesAStep = 60;
/// Tasks ahead at most: half of the ring. Row: prefetch-uniform.
inline constexpr int kLargestDistance = 32;

// ---- What is shared: worth.hpp, sharing.cpp (R2) ----

/// Microseconds of work that are worth waking a worker: waking takes a few of both. Row: for-onetbb.
inline constexpr std::uint64_t kWorthMicroseconds = 8;
/// Ticks of a task that nothing is known of: what may be long is shared. Row: long-tasks.
inline constexpr std::uint64_t kUnknownTicks = 100'000;
/// Microseconds: tasks that take so long are shared at once, if each worker has a CPU. Row: long-tasks.
inline constexpr std::uint64_t kSharedMicroseconds = 100;
/// Looks in kWorthMicroseconds at whether to share: one each half a microsecond. Row: empty-task.
inline constexpr std::uint64_t kLooks = 16;
/// Calls of share() that are no look, at most, in a row. Row: empty-task.
inline constexpr unsigned kMostSkipped = 15;
/// A task below kWorthMicroseconds divided by this, 0.1 microseconds, is not offered: to take it from here
/// costs more. Row: fib-1.
inline constexpr std::uint64_t kTooBrief = 80;
/// Looks, while a worker is idle, after which anything is offered: what comes of tasks may be worth more than
/// they are. Row: tree-onetbb.
inline constexpr unsigned kOverdueLooks = 256;
/// Tasks of a chunk: at least, so that its taker has something to prefetch, and at most. Row: scaling-C.
inline constexpr std::uint64_t kLeastChunk = 8;
inline constexpr std::uint64_t kMostChunk = 256;
/// Tasks in a ready pool: a guess. Row: scaling-A.
inline constexpr std::uint64_t kTasksAPool = 8;
/// Microseconds that a worker that was woken for a chunk is given to come for it. Row: sort-onetbb.
inline constexpr std::uint64_t kMicrosecondsToArrive = 100;
/// Microseconds after which a chunk that no worker takes comes back. Test: sharing_test.cpp.
inline constexpr std::uint64_t kMicrosecondsBeforeReturn = 5000;

// ---- What waits behind a task that goes on: watch.cpp (R2, R10) ----

/// Microseconds between two looks at whether tasks wait behind one that goes on while a worker is idle; at
/// most, when there has been nothing for long. Test: watch_test.cpp.
inline constexpr unsigned kWatchMicroseconds = 500;
inline constexpr unsigned kLongestWatchMicroseconds = 4000;
/// Microseconds between two looks where a handler may be long. The system adds some 20, so that with the age
/// below the messages of a long handler go out within 100. Test: watch_pace_test.cpp.
inline constexpr unsigned kHurriedMicroseconds = 60;
/// Hurried looks after a task that was long. Test: watch_pace_test.cpp.
inline constexpr unsigned kHurriedLooks = 8;
/// Hurried looks while actors' turns come and go beside an idle worker, 10 ms in all: a look costs 4 to 16
/// microseconds of processor time, too much to go on for ever where no handler is long. Test:
/// watch_pace_test.cpp.
inline constexpr unsigned kSavedLooks = 125;
/// The same at most, 100 ms in all, where long handlers follow each other at up to half of that. Test:
/// watch_pace_test.cpp.
inline constexpr unsigned kMostSavedLooks = 1600;
/// Microseconds of a turn, by its worker's last look at the clock, from which on what waits behind it is
/// handed over: waking a worker takes as long. Test: task_age_test.cpp.
inline constexpr std::uint64_t kWaitedMicroseconds = 20;
/// Microseconds from which on others like it are looked for, if something waited. Test: task_age_test.cpp.
inline constexpr std::uint64_t kLengthyMicroseconds = 100;
/// Microseconds from which on it publishes each turn that it makes due: that costs it a system call, too much
/// for a turn of many short handlers. Test: task_age_test.cpp.
inline constexpr std::uint64_t kPublishingMicroseconds = 250;
/// Looks at idle workers only, after which the watch sleeps: to wake it costs a system call. Row: idle.
inline constexpr unsigned kIdleLooks = 16;

// ---- Timestamps: ordered_part.cpp, packed_tasks.hpp (R9) ----

/// Tasks of one timestamp from which on each worker hands out its own heap's. Row: scaling-bfs.
inline constexpr std::uint64_t kDistributed = 4096;
/// Tasks that are handed out at once: still in the cache when they run. Row: scaling-bfs.
inline constexpr std::uint64_t kSlice = 2048;
/// Tasks that ran since, after which the next slice is handed out at the latest: where only its tasks run it
/// is used up sooner. Row: scaling-bfs.
inline constexpr std::uint64_t kTasksASlice = 8192;
/// Tasks of a timestamp that run without the ring: more are worth prefetching. Row: sssp-serial.
inline constexpr unsigned kShortTimestamp = 4;
/// Timestamps in a row at most between two looks at pools and idle workers. Row: sssp-scaling.
inline constexpr std::uint64_t kMostTimestamps = 64;
/// Tasks of one function and later timestamp in a row, from which on they are packed. Row: scaling-bfs.
inline constexpr std::uint64_t kPackedRow = 1024;

// ---- Waiting: idling.cpp, alone.cpp, execution.cpp, cpu_binding.hpp (R4, R9, R10) ----

/// Looks for work before a worker sleeps: about a microsecond. Row: idle.
inline constexpr unsigned kIdleSpins = 16;
/// Looks of a worker whose fork was stolen before it gives its CPU to other threads: under a microsecond; how
/// often it does that before it sleeps; and microseconds of such sleeps, after which it looks whether the
/// thief has forks. Row: forks-onetbb.
inline constexpr unsigned kJoinSpins = 16;
inline constexpr unsigned kJoinYields = 16;
inline constexpr std::uint32_t kShortestJoinSleep = 50;
inline constexpr std::uint32_t kLongestJoinSleep = 1000;
/// Microseconds that a CPU is chosen for: to bind a thread or to let it go takes some. Row: for-8.
inline constexpr std::uint64_t kChoiceMicroseconds = 1000;
/// A run that is shorter leaves the caller's thread unbound in the next. Row: wake-up.
inline constexpr std::chrono::milliseconds kShortRun{1};
/// Microseconds, and tasks, that one worker runs alone before others have their turn. Test:
/// progress_test.cpp.
inline constexpr std::uint64_t kMicrosecondsAlone = 1000;
inline constexpr unsigned kTasksAlone = 1024;
/// Microseconds that a task waits for a latch before it insists. Row: scaling-A.
inline constexpr std::uint64_t kMicrosecondsForLatch = 1000;
/// Attempts of an optimistic reader before it takes the latch or its pool. Row: scaling-A.
inline constexpr unsigned kReaderLosses = 16;

// ---- Pools: engine.cpp (R2) ----

/// Pools a worker, for locales; a power of two. Row: scaling-A.
inline constexpr unsigned kPoolsAWorker = 16;

}  // namespace rubato::inline v0::native::policy
