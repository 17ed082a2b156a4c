// A worker: its queues, and the loop that runs tasks. Rules R2, R5, R9, R10; MxTasking, Sec. 2.3 and 4.3.
//
// Sources of a worker's tasks, in the order in which an idle one looks: its own lists, the next timestamp,
// chunks and ready pools of its own, the inbox of other threads, then other workers' ready pools and
// published chunks.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "native/actor/actors.hpp"
#include "native/order/packed_tasks.hpp"
#include "native/order/radix_heap.hpp"
#include "native/pool/atomics.hpp"
#include "native/pool/pool.hpp"
#include "native/pool/ready_set.hpp"
#include "native/trace/trace_lane.hpp"
#include "native/worker/event_count.hpp"
#include "native/worker/known_functions.hpp"
#include "native/worker/own_tasks.hpp"
#include "native/worker/ring.hpp"
#include "native/worker/task_list.hpp"
#include "rubato/engine/native.hpp"

namespace rubato::runtime {

class Engine;
struct IdleLag;

struct alignas(128) TaskPool : Pool<StdAtomics, Task> {
  enum class Kind : std::uint8_t { shared, pinned, inbox };
  unsigned index = 0;  ///< shared: in every ready set; pinned: 0, in its worker's
  /// The owner's: the worker that it becomes ready at, unless that one is idle. Shared: the last to steal it.
  unsigned home = 0;
  Kind kind = Kind::shared;
  /// The owner's, like the pool's head: tasks that came as one (see carrier_of), and run before what is
  /// linked.
  PackedTasks packed;
};

/// Counted by one worker, read by anybody.
class Count {
 public:
  void add(std::uint64_t n = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }
  /// Who reads it by get_ordered() sees what was done before, other workers' counts included: a task that is
  /// counted as finished is also seen to have been created (see Sums).
  void add_ordered() { value_.store(value_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  std::uint64_t get_ordered() const { return value_.load(std::memory_order_acquire); }

 private:
  Atomic<std::uint64_t> value_{0};
};

class alignas(128) Worker : public engine::ThreadState {
 public:
  using Events = EventCount<StdAtomics>;
  using Length = KnownFunctions::Length;

  Worker(Engine& engine, unsigned index);
  ~Worker();

  /// Runs tasks until the run is over (worker 0) or threads end (the others).
  void work();
  /// Hands on a task that was created here or arrived in the inbox.
  void route(Task* task);
  /// A task that this worker's running task created: checked, then handed on, or kept until the task ends.
  void created_task(Task* task);
  /// The running task is an optimistic reader: what it does may be dropped.
  bool is_validating() const { return is_validating_; }
  /// If other workers are idle and there is enough to do: gives them some.
  void share();
  void share_if_wanted();

  struct Counts {
    Count finished, submitted, alone, long_tasks, timestamps, shared_timestamps, packed, reads_repeated,
        published, chunks_stolen, pools_stolen, parks, wake_ups;
    Count messages, actors, actors_stopped;
    Count lag_samples, lag_sample_hits, lags, lag_hits, lag_ticks, lag_decisions, lag_drops, lag_preempted,
        lag_switch_ticks;
  };
  Counts counts;
  CellCache cells;
  bool has_published() const;
  bool has_ready_pools() const;
  bool has_work_of_its_own() const;
  bool has_created_anything() const;

 private:
  friend class Engine;

  // ---- worker.cpp: the loop; alone.cpp: tasks that run alone ----
  bool attend(std::uint64_t word);
  Task* refill();
  [[gnu::noinline]] void fill_ring_from_all();
  /// What a worker takes its next tasks from, in turn; a bit each.
  static constexpr unsigned kCurrent = 1, kReady = 2, kPinned = 4, kPacked = 8, kPrivate = 16;
  /// The sources that have tasks, by priority.
  class Waiting {
   public:
    void add(unsigned rank, unsigned source) { bits_ |= source << rank * kBits; }
    void remove(unsigned rank, unsigned source) { bits_ &= ~(source << rank * kBits); }
    unsigned of(unsigned rank) const { return bits_ >> rank * kBits & ((1u << kBits) - 1); }

   private:
    static constexpr unsigned kBits = 8;  // a priority
    unsigned bits_ = 0;
  };
  Waiting look_at_sources() const;
  bool take_eligible(Waiting& waiting, unsigned last);
  bool take_of_rank(unsigned rank, Waiting& waiting);
  bool take_from(unsigned source, unsigned rank, std::uint64_t limit);
  [[gnu::noinline]] void take_own(std::uint64_t count);
  /// How many own tasks wait; while a task runs, what it asked for by on_commit() is among them.
  std::uint64_t own_size() const { return created.load(std::memory_order_relaxed) + appended_ - taken_; }
  void take_packed_now(std::uint64_t count);
  bool take_from_pool(ReadySet<StdAtomics>& set, unsigned rank, bool is_own);
  void take_batch(TaskPool& pool);
  void take_packed(TaskPool& pool);
  bool find_work();
  void stand_by();
  [[gnu::noinline]] void do_duties();
  void look_after_rest();
  void set_duty(unsigned duty, bool is_due) { duties_ = is_due ? duties_ | duty : duties_ & ~duty; }
  void refresh_epoch();
  void look_at_clock();
  void set_distance(unsigned distance) {
    ring_.set_distance(distance);
    prefetch_distance_.store(distance, std::memory_order_relaxed);
  }
  // Functions of their own, so that a profile tells what they cost.
  [[gnu::noinline]] void begin_timing(const Task& task);
  [[gnu::noinline]] void end_timing();
  void run_tasks();
  void fail() noexcept;
  void start(Slot slot);
  void start_here(Slot slot);
  bool run_alone();
  void run_turn_alone();
  bool is_turn_alone() const;
  void drop_everything();
  void enter_epochs();
  void leave_epochs();

  // ---- idle.cpp: nothing to run ----
  static constexpr unsigned kIdleSpins = 16;                  // about a microsecond (R10)
  static constexpr std::uint64_t kChoiceMicroseconds = 1000;  // a CPU is chosen for so long, but see wake()
  bool can_find_work() const;
  /// False: the run is over.
  bool wait_for_work();
  [[gnu::noinline]] bool lag(Events::Ticket ticket, std::uint64_t run);
  void sleep(Events::Ticket ticket, bool is_last);
  bool is_over_when_all_are_idle(std::uint64_t word);
  void pause();
  void wait_for_end_of_pause();
  void leave_cpu();
  void return_to_cpu();
  void choose_cpu();

  // ---- execute.hpp, execution.cpp: one task ----
  enum class Attempt : std::uint8_t { done, lost, not_begun };
  void execute(Slot slot);
  bool run_or_put_back(Slot slot);
  void finish_rest(Slot slot);
  Task* take_committed(unsigned in_a_row);
  /// False: it did not run.
  bool run_synchronized(Task* task, bool may_move);
  bool run_reader(Task* task, bool may_move);
  bool run_writer(Task* task);
  template <class TryLock, class Insist>
  bool lock_in_turn(const Task* task, TryLock try_lock, Insist insist);
  template <class TryLock>
  bool lock_in_turn(const Task* task, TryLock try_lock);
  Attempt read_once(Task* task, unsigned tries);
  void end_reading();
  void drop_attempt(TaskList::Mark mark);
  void begin(Task* task);
  void call(Task* task);
  /// The task has ended, or will never run; its children are handed on.
  void finish(Task* task) {
    count_finished(task);
    if (is_special(task)) finish_special(task);
  }
  void count_finished(const Task* task) {
    counts.finished.add_ordered();
    end_birth(task);
  }
  /// Whether finish_special() has something to do, or the task has a second line.
  static bool is_special(const Task* task) {
    constexpr std::uint64_t kSpecial =
        engine::handle::kTimestamped | engine::handle::kExtended | engine::handle::kSpec;
    return (task->handle & kSpecial) != 0;
  }
  void finish_special(Task* task);
  void drop_created(Task* task);
  /// It holds no removed object back any more (R7); what it created is counted.
  void end_birth(const Task* task) {
    if ((task->handle & engine::handle::kResource) != 0)
      epoch->count_finished(engine::birth_slot_of(task->handle));
  }
  void leave_group(Task* task);
  bool may_run_here(const Task* task) const;
  /// Behind the running task.
  void run_next(Task* task) {
    committed.append(task);
    ++appended_;
  }
  void destroy_run(Task* task);
  static void destroy(Task* task) {
    if (task->code->destroy != nullptr) [[unlikely]]
      task->code->destroy(task);
  }
  void free_block(Task* task) {
    if (task->is_extended()) {
      heap.free<sizeof(engine::ExtendedTask)>(task);
    } else {
      heap.free<sizeof(Task)>(task);
    }
  }
  void finish_pool(TaskPool& pool);
  [[gnu::noinline]] void route_deferred();
  void requeue(Task* task, bool must_wait = false);

  // ---- sharing.cpp: to and from other workers ----
  void push_pool(TaskPool& pool, Task* first, Task* last);
  void make_ready(TaskPool& pool);
  [[gnu::noinline]] void end_delivery(Task* task);
  bool steal();
  [[gnu::noinline]] bool take_back();
  bool take_published(Worker& from);
  bool empty_inbox();
  void admit(Task* task);
  void refuse(Task* task);
  void publish(const Chain& chain);
  void append_own(Task* task, bool fair) {
    if (fair) {
      own_.append_fair(task);
    } else {
      tasks.append(task);
    }
    ++appended_;
  }
  void put_back_own(const Chain& chain) {
    own_.put_back(chain);
    appended_ += chain.size;
  }
  void return_ring(unsigned keep);
  void wake(std::uint64_t workers = 1);
  void time_from_here();
  const Task* next_task();
  void measure(std::uint64_t now);
  void look_and_share();

  // ---- ordered_worker.cpp: timestamps ----
  void route_timestamped(Task* task);
  void append_current(Task* task);
  void keep(Task* task, std::uint64_t at);
  bool pack(Task* task, std::uint64_t at);
  RadixHeap::Earliest earliest() const;
  bool has_linked(std::uint64_t at) const;
  bool has_packed(std::uint64_t at) const;
  void gather_packed(PackedTimestamp& packed);
  void append_part(unsigned index, Task* task);
  void flush_parts();
  Task* unpack(PackedTasks& list);
  void drop_packed(PackedTasks& list);
  bool advance();
  bool advance_all();
  bool is_worth_less(std::uint64_t count) const;
  void update_worth();
  bool begin_inline(Worker& holder, std::uint64_t at);
  bool begin_packed(Worker& holder, std::uint64_t at);
  bool append_inline(Chain chain);
  void run_in_order();
  void begin_shared(std::int64_t unfinished);
  void begin_large(std::uint64_t at);
  void distribute_own();
  bool distribute_slice();
  void distribute(Chain chain);
  bool share_phase();
  void settle();
  void end_timestamped();
  bool owns_order() const;
  bool must_block(Task* task);
  bool may_run_inline();
  bool begin_to_run_inline();
  bool may_take_pools() const;
  void end_inline();
  void leave_inline();
  static std::uint64_t worth_ticks();
  static std::uint64_t ticks_of(std::uint64_t microseconds);

  Engine& engine_;
  const unsigned index_;

  OwnTasks own_{tasks};
  TaskList high_, low_;                     // the same of other priorities
  Lanes now_;                               // of the current timestamp
  PackedTasks packed_now_;                  // the same, without pools
  unsigned current_row_ = 0;                // batches taken from now_ in a row
  TaskList alone_;                          // spec tasks: run with nothing beside them
  TaskList deferred_;                       // created by the running task: handed on when it has ended
  std::uint64_t appended_ = 0, taken_ = 0;  // of own_, beyond `created`; from it
  std::uint64_t passed_[kPriorities] = {};  // tasks of higher rank that ran while one of this rank waited
  unsigned last_source_ = kPrivate;
  unsigned refills_before_alone_ = 0;        // since alone_ ran, while a task waits in it
  std::optional<std::uint32_t> turn_alone_;  // asked for and not had yet
  bool is_validating_ = false;               // an optimistic reader runs: what it creates is kept back
  bool is_destroying_ = false;        // the arguments of a task that has run: their destructors do not throw
  bool is_dropping_ = false;          // after a failure: groups release nothing
  bool is_dropping_attempt_ = false;  // of a reader that lost
  std::uint64_t clock_ = 0;           // of the last look at whether to share
  std::uint64_t finished_then_ = 0;
  static constexpr std::uint64_t kUnknownTicks = 100'000;  // what may be long is shared
  std::uint64_t ticks_a_task_ = kUnknownTicks, last_ticks_a_task_ = kUnknownTicks;
  std::uint64_t worth_tasks_ = 0;  // so many are worth waking somebody
  unsigned looks_skipped_ = 0;
  unsigned looks_ = 0;  // at whether to share, since it last did
  bool was_robbed_ = false;
  /// taken_ when a chunk of `tasks` came back: nothing is offered again before this worker has taken some of
  /// it, or the same tasks would go to and fro for ever.
  std::uint64_t taken_at_return_ = ~std::uint64_t{0};
  unsigned last_claimed_ = 0;

  // Timestamped tasks of later timestamps.
  RadixHeap heap_;
  PackedTimestamp packed_later_;
  PackedChunks packed_chunks_;
  std::int64_t phase_delta_ = 0;
  Chain rest_;  // of its part of a shared phase: counted, not handed out yet
  /// A slice is handed out after so many tasks at the latest: where only its tasks run, it is used up sooner.
  static constexpr std::uint64_t kTasksASlice = 8192;
  std::uint64_t finished_at_slice_ = 0;
  std::vector<Chain> parts_;  // of append_part(), a pool
  std::vector<unsigned> touched_;
  std::vector<Worker*> others_;  // scratch of begin_large()

  Ring ring_;
  static constexpr unsigned kRefreshBatch = 50;  // the paper's choice (Sec. 4.4)
  unsigned batch_ = kRefreshBatch;               // fewer if they take long
  unsigned until_refresh_ = 0;                   // tasks taken before the epoch is refreshed (R7)
  unsigned until_look_ = kRefreshBatch;  // before the next look at inbox, CPU and clock, if at every task
  bool refreshes_every_time_ = false;    // and not once a batch
  unsigned batches_before_rest_ = 1;
  std::uint64_t published_at_ = 0;  // the chunk, in ticks
  bool refreshes_ = true;
  // What is to be done before the next tasks are taken, a bit each. To share: a task by itself is worth
  // waking somebody. The rest: what else is done by who is idle.
  static constexpr unsigned kEmptyInbox = 1, kShare = 2, kRest = 4;
  unsigned duties_ = kShare;
  bool is_in_epochs_ = false;
  bool is_pinned_ = false;         // has a CPU of its own
  bool has_left_cpu_ = false;      // and may run on any, until another worker works beside it
  std::uint64_t chosen_ = 0;       // when it was bound or let go, or has woken up since
  unsigned tasks_to_time_ = 1000;  // with a trace never 0; changes between tasks
  TraceSpan span_{};               // of the task that is timed
  bool are_tasks_long_ = true;     // over a microsecond, on average of the last batch; unknown: they may be
  unsigned times_left_ = 0;        // refills that left ready pools to others for that reason
  TraceLane* trace_ = nullptr;     // null: no trace
  bool is_put_off_ = false;        // the last task to be timed was not run, but put back
  std::uint64_t batch_begin_ = 0;
  bool adapts_ = false;  // the prefetch distance, by hill-climbing
  int step_ = 1;
  std::uint64_t measured_ = 0, before_ = 0;
  unsigned batches_measured_ = 0;
  KnownFunctions functions_;
  std::unique_ptr<IdleLag> lag_;  // null: off

  // What other workers touch.
  alignas(64) Atomic<Task*> published_{nullptr};
  Atomic<bool> must_distribute_{false};
  Atomic<bool> is_idle_{false};
  Atomic<unsigned> prefetch_distance_{0};  // the ring's
  Atomic<std::uint64_t> idle_ends_{0};     // how often it was idle and went on
  ReadySet<StdAtomics> ready_;
  ReadySet<StdAtomics> pinned_;
};

}  // namespace rubato::runtime
