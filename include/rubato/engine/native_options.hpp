// Public interface of the native engine beside tasks: options, counters, hold(). Each option has an
// environment variable, read once when the engine starts; configure() overrides them. R3, R4, R6, R7,
// R11, R13.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "rubato/synchronization.hpp"

namespace rubato::inline v0::native {

/// How far ahead the worker prefetches tasks and the resources they are annotated with (R6).
struct PrefetchMode {
  /// Distance of prefetching: none, always the same, or the one that measured times suggest.
  enum class Kind : std::uint8_t { off, fixed, adapted };
  Kind kind = Kind::fixed;  ///< which of them
  unsigned distance = 4;    ///< tasks ahead, 1 to 63; adapted: where to begin
};

using rubato::Synchronization;

/// When removed resources are freed (R7).
enum class Reclamation : std::uint8_t {
  batch,  ///< the worker's epoch follows the global one every few tasks
  task,   ///< before every task
  off,    ///< when run() ends, or when every worker that was at work at the removal has had nothing to do
};

/// Speculative lagging: a worker that finds nothing waits a little before it sleeps. An actor without
/// messages waits a little before it gives up its turn. Both do so if samples say that it pays
/// (docs/lagging.md).
struct Lagging {
  /// Whether, and by which rules.
  enum class Kind : std::uint8_t {
    off,
    published,  ///< as in the publication
    on,         ///< with the corrections that docs/native.md lists
  };
  Kind kind = Kind::on;            ///< RUBATO_LAG=off, published or on
  double initial_rate = 0.002;     ///< RUBATO_LAG_PHI0; the share of sleeps before which is sampled, at first
  unsigned delays = 32;            ///< RUBATO_LAG_DELAYS; 4 to 32 that are compared
  double confidence = 0.95;        ///< RUBATO_LAG_CONFIDENCE, and
  double error = 0.15;             ///< RUBATO_LAG_ERROR: both say how many samples a decision takes
  double switch_microseconds = 0;  ///< RUBATO_LAG_SWITCH; what a sleep costs, up to 1000; 0: is measured
  static constexpr unsigned kWorkers = 1;  ///< a worker lags, before it sleeps
  static constexpr unsigned kTurns = 2;    ///< an actor lags, before it gives up its turn
  /// RUBATO_LAG_LEVELS=turns,workers: what lags. Turns do only where it is asked for: by this variable, or by
  /// RUBATO_LAG without it.
  unsigned levels = kWorkers;
  /// RUBATO_LAG_TURN_SWITCH; cost of a switch from turn to turn, up to 1000; 0: is measured.
  double turn_switch_microseconds = 0;
  /// Whether kWorkers or kTurns is among them.
  bool has_level(unsigned level) const { return (levels & level) != 0; }
};
/// The choices of the engine. Each has an environment variable, which is read once.
struct Options {
  unsigned workers = 0;        ///< RUBATO_WORKERS; 0: one for each CPU that this process may use
  bool oversubscribe = false;  ///< RUBATO_OVERSUBSCRIBE=1; allows more workers than that
  PrefetchMode prefetch{};     ///< RUBATO_PREFETCH=off, a distance, or adapt
  /// RUBATO_SYNC; for every resource that does not ask for one itself (ResourceOptions). `automatic`: by its
  /// isolation, ratio and frequency (R4).
  Synchronization synchronization = Synchronization::automatic;
  Reclamation reclamation = Reclamation::batch;  ///< RUBATO_RECLAIM
  std::string trace{};  ///< RUBATO_TRACE; the file of a trace for ui.perfetto.dev; empty: none (R13)
  unsigned trace_spans = 1u << 18;  ///< RUBATO_TRACE_SPANS; of each worker, the first that the trace keeps
  Lagging lagging{};                ///< RUBATO_LAG; not where there are more workers than CPUs
  /// RUBATO_BIND=0: no worker is bound to a CPU. Else each to one of its own, if the process has as many.
  bool bind = true;
  /// RUBATO_STANDSTILL; seconds in which no task starts or ends, though tasks wait, after which standard
  /// error says so once; 0: never. Several workers only. With any number of workers: seconds in which nothing
  /// runs, since the run waits for an OutsideEvent that is not set.
  unsigned standstill_seconds = 5;
  /// RUBATO_MINIQUEUE=1: the turn of an actor that a running turn causes runs next, unless another worker has
  /// nothing to do.
  bool miniqueue = false;
};

/// The options in force. Any thread may ask, also beside configure().
/// Errors: TaskError if an environment variable cannot be understood.
Options options();

/// Replaces the options. Between two runs of whatever thread, and while nothing may create tasks: no task is
/// pending, no hold open, no actor's timer running, and each OutsideEvent is set.
/// Errors: TaskError otherwise, inside tasks, or if more workers are asked for than CPUs are allowed.
void configure(const Options& options);

/// Destroys, unrun, the tasks and messages that wait for the next run(), and those that their destructors
/// create: for a program that goes on after std::bad_alloc from create(). Outside run() only.
/// Errors: TaskError in a task, and while a run goes on.
void drop_pending();

/// Number of workers that run() uses. The thread that calls run() is one of them.
unsigned workers();

/// Sums over all workers since the program started.
struct Counters {
  std::uint64_t tasks_created = 0;      ///< by create() and what is built on it
  std::uint64_t tasks_run = 0;          ///< have ended, cancelled ones too
  std::uint64_t tasks_run_alone = 0;    ///< spec tasks: nothing ran beside them (R9)
  std::uint64_t tasks_run_long = 0;     ///< took over 10 ms (R11)
  std::uint64_t timestamps = 0;         ///< distinct points of order that were reached
  std::uint64_t tasks_packed = 0;       ///< kept as records of a few words, their timestamps having many
  std::uint64_t timestamps_shared = 0;  ///< of these: with tasks enough for several workers
  std::uint64_t reads_repeated = 0;     ///< optimistic reads that lost against a writer
  std::uint64_t chunks_published = 0;   ///< of private tasks, for idle workers
  std::uint64_t chunks_stolen = 0;      ///< of these: taken by another worker
  std::uint64_t pools_stolen = 0;       ///< of locales, taken by another worker
  std::uint64_t parks = 0;              ///< a worker went to sleep
  std::uint64_t wake_ups = 0;           ///< system calls that woke workers
  std::uint64_t prefetch_distance = 0;  ///< of worker 0, now
  std::uint64_t unreclaimed_bytes = 0;  ///< of removed resources that are not freed yet; exact in spec tasks
  std::uint64_t lag_samples = 0;      ///< a worker waited in order to learn whether something comes (Lagging)
  std::uint64_t lag_sample_hits = 0;  ///< something came
  std::uint64_t lags = 0;             ///< a worker waited since it had learnt that this pays
  std::uint64_t lag_hits = 0;         ///< something came
  std::uint64_t lag_ns = 0;           ///< that samples and lags took
  std::uint64_t lag_decisions = 0;    ///< a worker had samples enough
  std::uint64_t lag_drops = 0;        ///< lags ceased to pay
  std::uint64_t lag_preempted = 0;    ///< a worker lost its CPU while it waited
  std::uint64_t lag_switch_ns = 0;    ///< what sleeping and being woken costs worker 0, as it takes it to be
  // The same of actors that wait before they give up a turn.
  std::uint64_t turn_lag_samples = 0;      ///< a turn waited in order to learn whether a message comes
  std::uint64_t turn_lag_sample_hits = 0;  ///< one came
  std::uint64_t turn_lags = 0;             ///< a turn waited since its actor had learnt that this pays
  std::uint64_t turn_lag_hits = 0;         ///< a message came
  std::uint64_t turn_lag_ns = 0;           ///< that samples and lags took
  std::uint64_t turn_lag_decisions = 0;    ///< an actor had samples enough
  std::uint64_t turn_lag_drops = 0;        ///< lags ceased to pay
  std::uint64_t turn_lag_preempted = 0;    ///< a worker lost its CPU while a turn waited
  std::uint64_t turn_switch_ns = 0;  ///< what a switch from turn to turn costs worker 0; 0: not known yet
  std::uint64_t turns_run_next = 0;  ///< turns that ran right behind the one that caused them (miniqueue)
};
Counters counters();  ///< The sums now, for any thread.

/// Adds its lifetime to the time that the engine's counters file calls seconds, as run() does: see
/// serial_region(). Outside of run(), one at a time.
class SerialClock {
 public:
  SerialClock();
  ~SerialClock();
  SerialClock(const SerialClock&) = delete;
  SerialClock& operator=(const SerialClock&) = delete;
};

/// Tasks that kept a worker for over 10 ms, by function, the longest first. It is the time on the clock: a
/// task counts, too, whose worker had to give its CPU to others meanwhile. Every task is timed while a worker
/// has run few, and again as soon as 50 of them take over a millisecond together; a single one among short
/// ones is missed.
struct LongTask {
  std::string function;        ///< its name
  std::uint64_t count = 0;     ///< of such tasks
  double longest_seconds = 0;  ///< of one of them
};
std::vector<LongTask> long_tasks();  ///< Since the program started.

/// Keeps run() open although there are no tasks: for servers, whose tasks other threads create. While one is
/// open, every thread may create tasks (without timestamps); run() returns when all are closed and all tasks
/// are done.
class Hold {
 public:
  Hold() = default;
  /// `other` is closed then.
  Hold(Hold&& other) noexcept : is_open_(other.is_open_.exchange(false)) {}
  /// Closes this one; `other` is closed then.
  Hold& operator=(Hold&& other) noexcept {
    close();
    is_open_ = other.is_open_.exchange(false);
    return *this;
  }
  ~Hold() { close(); }
  /// Closes the hold, from any thread, several at once, too; closing twice does nothing.
  void close() {
    if (is_open_.exchange(false)) release();
  }

 private:
  friend Hold hold();
  static void release();
  std::atomic<bool> is_open_{false};
};

/// Opens a hold, from any thread: before run(), or while it is kept open or runs tasks.
[[nodiscard]] Hold hold();

}  // namespace rubato::inline v0::native
