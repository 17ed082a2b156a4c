// SPDX-License-Identifier: MIT
#include "native/engine.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "base/function_names.hpp"
#include "native/actor/stepping.hpp"
#include "native/counters_file.hpp"
#include "native/options.hpp"
#include "native/policy.hpp"
#include "native/pool/inbox.hpp"
#include "native/sync/choice.hpp"
#include "native/topology/topology.hpp"
#include "rubato/resource.hpp"

namespace rubato::inline v0::native {
namespace {

unsigned workers_for(const Options& options) {
  check_options(options);
  const unsigned allowed = Shared::machine().workers;
  if (options.workers == 0) return allowed;
  if (options.workers > allowed && !options.oversubscribe) {
    throw TaskError(std::to_string(options.workers) +
                    " workers were asked for, but this process may use only " + std::to_string(allowed) +
                    (allowed == 1 ? " CPU" : " CPUs") +
                    ": ask for fewer, or set oversubscribe (RUBATO_OVERSUBSCRIBE=1)");
  }
  return options.workers;
}

const char* environment(const char* name) { return std::getenv(name); }

bool is_optimistic(Primitive primitive) {
  return primitive == Primitive::optimistic_latch || primitive == Primitive::optimistic_pool;
}
bool goes_to_pool(Primitive primitive, bool reads) {
  return primitive == Primitive::pool || (primitive == Primitive::optimistic_pool && !reads);
}

}  // namespace

/// Threads of workers that have left the engine and end: destructors of their thread_local objects may call
/// whatever a thread outside may, also algorithms. So they are joined while the turn is free.
class Engine::EndedThreads {
 public:
  EndedThreads() = default;
  ~EndedThreads() {
    for (std::thread& thread : threads_) thread.join();
  }
  EndedThreads(const EndedThreads&) = delete;
  EndedThreads& operator=(const EndedThreads&) = delete;
  void take(std::vector<std::thread>& threads) { threads_ = std::exchange(threads, {}); }

 private:
  std::vector<std::thread> threads_;
};

Engine::Engine() : Shared(task_memory_from_malloc(environment)) {
  inbox.kind = TaskPool::Kind::inbox;
  events.raise(Events::kPaused);
  check_counters_file();
  check_names(environ);
  if (const unsigned ns = actor_switch_ns(environment))
    dear_ticks_ = static_cast<std::uint64_t>(ns / 1000.0 * ticks_per_microsecond());
  EndedThreads none;
  build(options_from_environment(environment), none);
}

void Engine::build(const Options& options, EndedThreads& ended) {
  const unsigned count = workers_for(options);
  std::unique_ptr<TraceFile> trace;
  if (!options.trace.empty()) {
    trace = std::make_unique<TraceFile>(options.trace, count, options.trace_spans);
  }
  const auto lock = keep_workers();
  // Before the workers end: what their thread_local objects create at their end is for the new options.
  has_pools_.store(count > 1, std::memory_order_relaxed);
  fill_choices(options, count);
  tear_down(ended);
  trace_ = std::move(trace);
  options_ = options;
  count_.store(count, std::memory_order_relaxed);
  try {
    make_workers();
  } catch (...) {
    workers_.clear();  // all or none: the next run() makes them
    throw;
  }
}

void Engine::make_workers() {
  const unsigned count = workers();
  if (pins_workers() && count > 1) prepare_pinning();
  is_caller_pinned_ = true;
  std::vector<unsigned> nodes;
  for (unsigned w = 0; w < count && pins_workers(); ++w) nodes.push_back(*node_of_worker(w));
  pools.make(count, nodes);
  copies.store(0, std::memory_order_relaxed);  // their workers' counts are gone, too
  epochs = std::make_unique<Epochs>(Epochs::Options{.members = count});
  workers_.reserve(count);
  for (unsigned w = 0; w < count; ++w) {
    workers_.push_back(std::make_unique<Worker>(*this, w));
  }
}

void Engine::end_threads(EndedThreads& ended) {
  watch.end();
  events.raise(Events::kEnd);
  events.notify_all();
  for (std::size_t left; (left = left_.load(std::memory_order_acquire)) != threads_.size();) left_.wait(left);
  left_.store(0, std::memory_order_relaxed);
  ended.take(threads_);
  events.lower(Events::kEnd);
}

void Engine::tear_down(EndedThreads& ended) {
  end_threads(ended);
  if (!workers_.empty()) earlier_ = counters_so_far();
  for (const auto& worker : workers_) {
    const Counts& n = worker->counts;
    messages_handled.fetch_add(n.messages.get(), std::memory_order_relaxed);
    actors_spawned.fetch_add(n.actors.get(), std::memory_order_relaxed);
    actors_stopped.fetch_add(n.actors_stopped.get(), std::memory_order_relaxed);
  }
  workers_.clear();
}

void Engine::end_of_program() {
  if (is_copy_) return;  // nothing of this process is the engine's
  if (trace_ != nullptr) trace_->say_left_out();
  if (!turn.try_take(RunTurn::Taker::end)) return;
  EndedThreads ended;
  end_threads(ended);
  turn.give_back();
}

/// From a resource's options and a task's access to bits of its handle (engine::kChoices).
void Engine::fill_choices(const Options& engine_options, unsigned count) {
  choices_.assign(engine::kChoices, engine::handle::kLocale | engine::handle::kResource);
  ChoiceTable table;
  if (engine_options.synchronization != Synchronization::automatic) {
    table.set_all(requested(engine_options.synchronization));
  }
  for (unsigned i = 0; i < engine::kChoices; ++i) {
    const ResourceOptions options = engine::options_of(i);
    if (options.synchronization > Synchronization::pool) continue;  // no handle has it
    const Primitive primitive = table(options);
    const bool may_share = i < engine::kReadsOnceChoice || !is_optimistic(primitive);
    const bool reads = i >= engine::kReadsChoice && may_share && options.isolation == Isolation::shared_reads;
    if (reads) choices_[i] |= engine::handle::kReads;
    if (count == 1) continue;  // no other worker to be kept apart from
    if (goes_to_pool(primitive, reads)) choices_[i] |= engine::handle::kPooled;
    if (primitive != Primitive::pool)
      choices_[i] |= static_cast<std::uint64_t>(primitive) << engine::handle::kPrimitiveShift;
  }
}

/// Tasks are made for the options that count when they are created, so none may be created meanwhile.
void Engine::configure(const Options& options) {
  constexpr std::chrono::microseconds kBetweenTries{100};
  refuse_copy("configure()");
  EndedThreads ended;
  for (;; std::this_thread::sleep_for(kBetweenTries)) {
    take_turn_between_runs(RunTurn::Taker::list, errors::configured_in_run);
    const struct GivesTurnBack {
      RunTurn& turn;
      ~GivesTurnBack() { turn.give_back(); }
    } gives_back{turn};
    turn.wait_for_joining();
    const unsigned passing = turn.passing(), held = holds();
    if (held > passing) throw TaskError(errors::configured_beside_hold());
    if (held != 0) continue;  // calls of other threads that are about to return, but may need the turn before
    if (unset_events.count() != 0) throw TaskError(errors::configured_beside_event());
    if (has_tasks_of_program(*this)) throw TaskError(errors::configured_beside_tasks());
    return build(options, ended);
  }
}
Options Engine::options_now() const {
  const auto lock = keep_workers();
  return options_;
}

void Engine::take_turn_between_runs(RunTurn::Taker taker, std::string (*refusal)()) {
  using Taker = RunTurn::Taker;
  if (is_run_by_caller()) throw TaskError(refusal());
  turn.take(taker, [refusal](Taker other) {
    if (other != Taker::none && other != Taker::list) throw TaskError(refusal());
  });
}

/// The thread that calls run() is worker 0: it has a CPU of its own, too, from when another worker works
/// beside it until run() ends. To bind it and to let it go takes microseconds, so that runs are left alone
/// that follow a short one.
class Engine::PinnedCaller {
 public:
  PinnedCaller(Engine& engine, bool pins) : engine_(engine) {
    if (pins) scope_.emplace(machine().allowed);
    cpu().begin_unbound(scope_.has_value() && scope_->may_bind());
  }
  ~PinnedCaller() {
    cpu().end();
    engine_.is_caller_pinned_ = Clock::now() - begin_ >= policy::kShortRun;
  }
  PinnedCaller(const PinnedCaller&) = delete;
  PinnedCaller& operator=(const PinnedCaller&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  CpuBinding& cpu() { return engine_.workers_.front()->cpu; }
  Engine& engine_;
  const Clock::time_point begin_ = Clock::now();
  std::optional<AffinityScope> scope_;
};

void Engine::take_turn() {
  refuse_copy("run()");
  if (engine::is_in_task()) {
    const Task& task = *engine::current_thread->running;
    const std::string name = name_of(task);
    const auto at = timestamp_if_any(task);
    throw TaskError(errors::nested_run({name, at}), name, at);
  }
  if (is_run_by_caller()) throw TaskError(errors::run_in_destructor());
  turn.take(RunTurn::Taker::run, [](RunTurn::Taker other) {
    if (is_own_thread() || other == RunTurn::Taker::run) throw TaskError(errors::concurrent_run());
  });
}

Engine::GivesBack::~GivesBack() {
  if (TraceFile* const trace = engine_.trace()) trace->write();
  engine_.runner_.store({});
  engine_.turn.give_back();
}

/// Starts the threads that do not exist yet. They are paused.
void Engine::start_threads(bool pins) {
  if (workers_.size() > 1) watch.start();
  threads_.reserve(workers_.size());
  while (threads_.size() + 1 < workers_.size()) {
    Worker* const worker = workers_[threads_.size() + 1].get();
    threads_.emplace_back([this, worker, pins] {
      worker->cpu.begin_bound(pins);
      engine::current_thread = worker;
      worker->work();
      engine::current_thread = nullptr;
      left_.fetch_add(1, std::memory_order_release);
      left_.notify_one();
    });
  }
}

void Engine::prepare_run() {
  if (workers_.empty()) {  // for want of memory, the last time
    EndedThreads none;
    build(options_, none);
  }
  try {
    start_threads(pins_workers());
  } catch (const std::exception& e) {
    std::throw_with_nested(
        TaskError(errors::no_thread(static_cast<unsigned>(threads_.size()) + 1, workers(), e.what())));
  }
}

void Engine::run() {
  const bool pins = pins_workers();
  const PinnedCaller pinned(*this, pins && workers() > 1 && is_caller_pinned_);
  Worker& self = *workers_.front();
  engine::ThreadState* const outside = std::exchange(engine::current_thread, &self);
  runner_.store(std::this_thread::get_id());
  order.begin();
  is_running_.store(true, std::memory_order_seq_cst);  // first: see run_time()
  current_run.fetch_add(1, std::memory_order_seq_cst);
  if (trace_ != nullptr) trace_->begin_run();
  self.enter_epochs();
  empty_wholly(
      inbox, [&self] { return self.empty_inbox(); }, [] { std::this_thread::yield(); });
  events.lower(Events::kPaused);
  watch.note_busy();
  if (has_work_for_anybody()) events.notify_all();  // workers woken before this went to sleep again
  for (;;) {
    self.work();
    pause_workers();
    if (is_blocked()) report_blocked();
    if (is_stopping()) {
      // Tasks kept by a worker that has not woken up since its pause: it drops them before others' tasks are
      // destroyed.
      for (const auto& worker : workers_) {
        while (worker->seen.has_kept.load(std::memory_order_seq_cst)) {
          events.notify_all();
          std::this_thread::yield();
        }
      }
      pause_workers();
      break;
    }
    const Sums sums = this->sums();
    if (sums.created == sums.finished) break;
    // Another thread's tasks, taken from the inbox when the end had been found already: they are private to a
    // worker that has paused, and no other would see them in the next run.
    current_run.fetch_add(1, std::memory_order_seq_cst);
    events.lower(Events::kPaused);
    events.notify_all();
  }
  if (trace_ != nullptr) trace_->end_run();
  engine::current_thread = outside;
  is_running_.store(false, std::memory_order_seq_cst);
  const bool has_failed = is_stopping();
  if (has_failed) {
    waiting_threads.end_run(current_run.load());  // handlers on own threads that wait for this run
    drop_for_own_threads();
  }
  own_threads.end_all();
  if (has_failed) clear_after_failure();
  for (const auto& worker : workers_) {
    worker->ordered.reset();
    worker->alone.reset();
  }
  turns_alone.reset();
  engine::ResourceHeader* retired = nullptr;
  {
    const std::lock_guard lock(retired_mutex_);
    retired = std::exchange(retired_, nullptr);
  }
  engine::destroy_all(retired);
  self.leave_epochs();
  epochs->quiesce();
  waiting_threads.end_run(current_run.load());
  if (const std::exception_ptr error = failure.take()) std::rethrow_exception(error);
  say_what_actors_wait_for(*this);
}

/// The other workers are idle, but for wake-ups that come late. From here on they touch nothing.
void Engine::pause_workers() {
  events.raise(Events::kPaused);
  while (Events::idle(events.look_ordered()) + 1 < workers()) std::this_thread::yield();
}

/// While the workers are paused.
bool Engine::is_blocked() const {
  if (is_stopping() || !end_found.is_blocked(current_run.load())) return false;
  const Sums sums = this->sums();
  return sums.created != sums.finished;
}

/// After a failure handlers on own threads may wait for algorithms that have joined the run: their tasks are
/// dropped until all handlers have returned. Later ones come by the inbox.
void Engine::drop_for_own_threads() {
  constexpr std::chrono::microseconds kBetweenLooks{500};
  if (own_threads.busy() == 0) return;
  drop_tasks();
  for (; own_threads.busy() != 0; std::this_thread::sleep_for(kBetweenLooks))
    if (!inbox.is_empty()) drop_tasks();
}

/// The caller counts as worker 0: what destructors create is that worker's, and is destroyed, too.
void Engine::drop_tasks() {
  Worker& self = *workers_.front();
  engine::ThreadState* const outside = std::exchange(engine::current_thread, &self);
  do {
    self.drop_everything();
    self.drop_shared();
  } while (self.has_created_anything() || has_work_at_workers());
  engine::current_thread = outside;
}

/// All workers are idle: their private tasks are gone. The rest is destroyed unrun.
void Engine::clear_after_failure() {
  drop_tasks();
  drop_pending();
  try {
    end_in_next_run(cells);
  } catch (const std::bad_alloc&) {  // with their next message
  }
  forget_put_aside();
  events.lower(Events::kStop);
}

void Engine::submit_outside(engine::ThreadState& self, Task* task) {
  if (Chain* const kept = static_cast<OutsideThread&>(self).kept) {
    Groups::join(task);
    return kept->append(task);
  }
  if (is_stranger() ||
      (task->is_timestamped() && is_running() && std::this_thread::get_id() != runner_.load())) {
    const struct Dropped {
      engine::ThreadState& creator;
      Task* task;
      ~Dropped() {
        if (task->code->destroy != nullptr) task->code->destroy(task);
        free_outside(creator, task);
      }
    } dropped{self, task};
    throw TaskError(errors::foreign_thread(name_of(*task)));
  }
  Groups::join(task);
  push_outside(task, task);
}

/// Ordered as close_hold() is: a worker that sees no event finds its task in the inbox.
void Engine::note_event_end() {
  if (unset_events.count() == 0) events.notify_all();
}

void Engine::open_hold() { holds_.fetch_add(1, std::memory_order_seq_cst); }
void Engine::close_hold() {
  if (holds_.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
  events.notify_all();
  if (!is_running()) waiting_threads.end_hold([this] { return is_running() || holds() != 0; });
}

namespace {

Engine* started = nullptr;

/// The engine is never destroyed. Any thread may end the process at any time, even in the middle of a run.
/// Static objects that are destroyed later may still have threads that create tasks.
Engine* start() {
  started = new Engine;
  std::atexit([] { started->end_of_program(); });
  pthread_atfork(nullptr, nullptr, [] { started->become_copy(); });
  return started;
}

}  // namespace

Engine& started_engine() { return *started; }
Engine& the_engine() {
  static Engine& engine = *start();
  return engine;
}

Shared& the_shared() { return the_engine(); }

bool is_forked_copy() { return started != nullptr && started->is_copy(); }

}  // namespace rubato::inline v0::native

// ---- What the headers call ----

namespace rubato::inline v0::engine {

constinit thread_local ThreadState* current_thread = nullptr;

namespace {

/// State of a thread that is not a worker, from its first create() to its end. Destructors that run after
/// that of AtEnd, of static objects for one, may still create tasks: for them there is another state, which
/// is never deleted.
constinit thread_local native::OutsideThread* outside_state = nullptr;
constinit thread_local bool is_ending = false;
struct AtEnd {
  ~AtEnd() {
    delete std::exchange(outside_state, nullptr);
    is_ending = true;
  }
};

}  // namespace

ThreadState& attach_thread() {
  if (outside_state == nullptr) {
    if (!is_ending) {
      static thread_local AtEnd at_end;
      static_cast<void>(&at_end);
    }
    native::Engine& engine = native::the_engine();
    outside_state = new native::OutsideThread(engine.heap, engine.cells, engine.reached);
  }
  native::started_engine().prepare(*outside_state);
  return *outside_state;
}

void submit(ThreadState& self, Task* task) {
  if (self.is_worker) return static_cast<native::Worker&>(self).created_task(task);
  native::the_engine().submit_outside(self, task);
}

void created_many(ThreadState& self) {
  auto& worker = static_cast<native::Worker&>(self);
  worker.sharing.share_if_wanted();
}

void run() {
  native::Engine& engine = native::the_engine();
  engine.take_turn();
  const native::Engine::GivesBack gives_back(engine);
  const native::RunClock clock;
  engine.prepare_run();
  engine.run();
}
void run_group(TaskGroup& group, void (*start)(void*), void* work) {
  native::the_engine().run_group(group, start, work);
}
void retire(ResourceHeader* header) { native::the_engine().retire(header); }

}  // namespace rubato::inline v0::engine

namespace rubato::inline v0::native {

Options options() { return native::the_engine().options_now(); }
void configure(const Options& options) { native::the_engine().configure(options); }
void drop_pending() { native::the_engine().drop_between_runs(); }
unsigned workers() { return native::the_engine().workers(); }
Counters counters() { return native::the_engine().counters(); }
std::vector<LongTask> long_tasks() { return native::the_engine().long_tasks.list(); }
void Hold::release() { native::the_engine().close_hold(); }
Hold hold() {
  native::the_engine().open_hold();
  Hold result;
  result.is_open_ = true;
  return result;
}

}  // namespace rubato::inline v0::native
