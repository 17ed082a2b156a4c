// SPDX-License-Identifier: MIT
#include "native/engine.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "base/function_names.hpp"
#include "native/fault.hpp"
#include "native/options.hpp"
#include "native/sync/choice.hpp"
#include "native/topology/topology.hpp"
#include "native/trace/counters_file.hpp"
#include "native/worker/clock.hpp"
#include "native/worker/policy.hpp"
#include "rubato/resource.hpp"

namespace rubato::runtime {
namespace {

/// Read once: affinity, CPU sets and quotas as they were when the engine started. As long as there are
/// workers, like the engine.
const Topology& topology() {
  static const Topology& machine = *new const Topology(this_machine());
  return machine;
}

unsigned workers_for(const native::Options& options) {
  check_options(options);
  const unsigned allowed = topology().workers;
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

bool goes_to_pool(Primitive primitive, bool reads) {
  return primitive == Primitive::pool || (primitive == Primitive::optimistic_pool && !reads);
}

}  // namespace

Engine::Engine()
    : heap({.group_nodes = topology().group_nodes(), .uses_malloc = task_memory_from_malloc(environment)}) {
  inbox.kind = TaskPool::Kind::inbox;
  events.raise(Events::kPaused);
  check_counters_file();
  check_names(environ);
  if (const unsigned ns = actor_switch_ns(environment))
    dear_ticks_ = static_cast<std::uint64_t>(ns / 1000.0 * ticks_per_microsecond());
  build(options_from_environment(environment));
}

void Engine::build(const native::Options& options) {
  const unsigned count = workers_for(options);
  std::unique_ptr<TraceFile> trace;
  if (!options.trace.empty()) {
    trace = std::make_unique<TraceFile>(options.trace, count, options.trace_spans);
  }
  tear_down();
  trace_ = std::move(trace);
  options_ = options;
  count_ = count;
  fill_choices();
  try {
    make_workers();
  } catch (...) {
    workers_.clear();  // all or none: the next run() makes them
    throw;
  }
}

void Engine::make_workers() {
  const unsigned count = count_;
  if (options_.bind && topology().pins(count) && count > 1) prepare_pinning();
  is_caller_pinned_ = true;
  pool_count_ = policy::kPoolsAWorker;
  while (pool_count_ < policy::kPoolsAWorker * count) pool_count_ *= 2;
  pools_ = std::make_unique<TaskPool[]>(pool_count_ + count);
  for (unsigned p = 0; p < pool_count_; ++p) {
    pools_[p].index = p;
    pools_[p].home = p % count;
  }
  for (unsigned w = 0; w < count; ++w) {
    pinned_pool(w).home = w;
    pinned_pool(w).kind = TaskPool::Kind::pinned;
  }
  for (auto& given : given_pools_) given.store(kNotGiven, std::memory_order_relaxed);
  pools_given_.store(0, std::memory_order_relaxed);
  copies.store(0, std::memory_order_relaxed);  // their workers' counts are gone, too
  epochs = std::make_unique<Epochs>(Epochs::Options{.members = count});
  workers_.reserve(count);
  for (unsigned w = 0; w < count; ++w) {
    workers_.push_back(std::make_unique<Worker>(*this, w));
  }
}

const Topology& Engine::machine() { return topology(); }

unsigned Engine::core_group(unsigned worker) const { return topology().group_of(worker); }

void Engine::end_threads() {
  watch.end();
  events.raise(Events::kEnd);
  events.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  events.lower(Events::kEnd);
}

void Engine::tear_down() {
  end_threads();
  if (!workers_.empty()) earlier_ = counters();
  workers_.clear();
}

void Engine::end_of_program() {
  if (is_copy_) return;  // nothing of this process is the engine's
  if (trace_ != nullptr) trace_->say_left_out();
  if (!turn.try_take(RunTurn::Taker::end)) return;
  end_threads();
  turn.give_back();
}

void Engine::refuse_copy(const char* what) const {
  if (!is_copy_) return;
  throw TaskError(
      std::string(what) +
      " is called in a process that was forked after the engine had started, whose threads stayed "
      "in the parent: fork before the first task, or let the child exec() a program");
}

/// From a resource's options and a task's access to bits of its handle (engine::kChoices).
void Engine::fill_choices() {
  choices_.assign(engine::kChoices, engine::handle::kLocale | engine::handle::kResource);
  ChoiceTable table;
  if (options_.synchronization != native::Synchronization::automatic) {
    table.set_all(requested(options_.synchronization));
  }
  for (unsigned i = 0; i < engine::kChoices; ++i) {
    const ResourceOptions options = engine::options_of(i);
    const bool reads = (i & engine::kReadsChoice) != 0 && options.isolation == Isolation::shared_reads;
    if (reads) choices_[i] |= engine::handle::kReads;
    if (count_ == 1) continue;                                      // nobody to be kept apart from
    if (options.synchronization > Synchronization::pool) continue;  // no handle has it
    const Primitive primitive = table(options);
    if (goes_to_pool(primitive, reads)) choices_[i] |= engine::handle::kPooled;
    if (primitive != Primitive::pool)
      choices_[i] |= static_cast<std::uint64_t>(primitive) << engine::handle::kPrimitiveShift;
  }
}

std::uint16_t Engine::give_pool(std::uint64_t slot) {
  const unsigned given_before = pools_given_.fetch_add(1, std::memory_order_relaxed);
  const auto next = static_cast<std::uint16_t>(given_before & (pool_count_ - 1));
  std::uint16_t given = kNotGiven;
  return given_pools_[slot].compare_exchange_strong(given, next, std::memory_order_relaxed) ? next : given;
}

void Engine::prepare(engine::ThreadState& thread) const {
  thread.choices = choices_.data();
  thread.has_pools = count_ > 1;
}

void Engine::configure(const native::Options& options) {
  refuse_copy("configure()");
  if (engine::is_in_task() || is_running_.load() || !inbox.is_empty()) {
    throw TaskError(
        "configure() is called while there are tasks: call it before the first create(), or after run()");
  }
  build(options);
}

bool Engine::has_cpus() const { return count_ <= topology().allowed.size(); }

Sums Engine::sums() const {
  Sums sums{.created = 0, .finished = 0};
  for (const auto& worker : workers_) sums.finished += worker->counts.finished.get_ordered();
  for (const auto& worker : workers_)
    sums.created += worker->created.load(std::memory_order_relaxed) + worker->counts.submitted.get();
  sums.created += copies.load(std::memory_order_seq_cst);
  return sums;
}

/// The thread that calls run() is worker 0: it has a CPU of its own, too, from when another worker works
/// beside it until run() ends. To bind it and to let it go takes microseconds, so that runs are left alone
/// that follow a short one.
class Engine::PinnedCaller {
 public:
  PinnedCaller(Engine& engine, bool pins) : engine_(engine) {
    if (pins) scope_.emplace(topology().allowed);
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
  while (!turn.try_take(RunTurn::Taker::run)) {
    if (is_run_by_caller() || turn.taker() == RunTurn::Taker::run) throw TaskError(errors::concurrent_run());
    turn.wait([] { return false; });
  }
}

Engine::GivesBack::~GivesBack() {
  if (TraceFile* const trace = engine_.trace()) trace->write();
  engine_.runner_.store({});
  engine_.turn.give_back();
}

/// Those that there are not yet. They are paused.
void Engine::start_threads(bool pins) {
  if (workers_.size() > 1) watch.start();
  threads_.reserve(workers_.size());
  while (threads_.size() + 1 < workers_.size()) {
    Worker* const worker = workers_[threads_.size() + 1].get();
    threads_.emplace_back([worker, pins] {
      worker->cpu.begin_bound(pins);
      engine::current_thread = worker;
      worker->work();
      engine::current_thread = nullptr;
    });
  }
}

void Engine::prepare_run() {
  if (workers_.empty()) build(options_);  // for want of memory, the last time
  try {
    start_threads(options_.bind && topology().pins(count_));
  } catch (const std::exception& e) {
    std::throw_with_nested(
        TaskError(errors::no_thread(static_cast<unsigned>(threads_.size()) + 1, count_, e.what())));
  }
}

void Engine::run() {
  const bool pins = options_.bind && topology().pins(count_);
  const PinnedCaller pinned(*this, pins && count_ > 1 && is_caller_pinned_);
  Worker& self = *workers_.front();
  engine::ThreadState* const outside = std::exchange(engine::current_thread, &self);
  runner_.store(std::this_thread::get_id());
  order.begin();
  current_run.fetch_add(1, std::memory_order_seq_cst);
  is_running_.store(true, std::memory_order_seq_cst);
  if (trace_ != nullptr) trace_->begin_run();
  self.enter_epochs();
  while (self.empty_inbox()) {
  }
  events.lower(Events::kPaused);
  watch.note_busy();
  if (has_work_for_anybody()) events.notify_all();  // who was woken before went to sleep again
  for (;;) {
    self.work();
    pause_workers();
    if ((events.look_ordered() & Events::kStop) != 0) {
      // What a worker has kept that has not woken up since its pause, it drops before others' tasks are
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
  if ((events.look_ordered() & Events::kStop) != 0) clear_after_failure();
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
  while (Events::idle(events.look_ordered()) + 1 < count_) std::this_thread::yield();
}

bool Engine::has_work_for_anybody() const {
  if (!inbox_ready.is_empty()) return true;
  for (const auto& worker : workers_) {
    const SeenByOthers& seen = worker->seen;
    if (seen.has_published() || seen.has_ready_pools() || seen.has_work_of_its_own()) return true;
  }
  return false;
}

/// All workers are idle: their private tasks are gone. The rest is destroyed unrun.
void Engine::clear_after_failure() {
  workers_.front()->drop_shared();
  clear_mailboxes(cells);
  events.lower(Events::kStop);
}

void Engine::report_blocked() noexcept {
  const std::uint64_t blocked = groups.blocked();
  const Task* const first = groups.first();
  try {
    const std::string name = first != nullptr ? name_of(*first) : std::string("unknown");
    const auto at = first != nullptr ? timestamp_if_any(*first) : std::nullopt;
    throw TaskError(errors::blocked_groups(blocked, {name, at}), name, at);
  } catch (...) {
    failure.add(std::current_exception());
  }
  stop();
}

void Engine::note_long_task(const engine::TaskCode& code, std::uint64_t first_word, std::uint64_t took) {
  const std::lock_guard lock(long_tasks_mutex_);
  try {
    LongTasks& noted = long_tasks_[{&code, code.is_function_pointer ? first_word : 0}];
    ++noted.count;
    noted.longest = std::max(noted.longest, took);
  } catch (const std::bad_alloc&) {  // it is counted, without a name
  }
}

std::vector<native::LongTask> Engine::long_tasks() {
  const std::lock_guard lock(long_tasks_mutex_);
  std::map<std::string, native::LongTask> by_name;  // one function may be several codes
  for (const auto& [task, noted] : long_tasks_) {
    const void* const function = reinterpret_cast<const void*>(task.second);
    const std::string name = engine::function_name(function, *task.first->type);
    native::LongTask& entry = by_name.try_emplace(name, native::LongTask{name}).first->second;
    entry.count += noted.count;
    const double seconds = static_cast<double>(noted.longest) / ticks_per_microsecond() / 1e6;
    entry.longest_seconds = std::max(entry.longest_seconds, seconds);
  }
  std::vector<native::LongTask> list;
  for (auto& [name, entry] : by_name) list.push_back(std::move(entry));
  std::stable_sort(list.begin(), list.end(), [](const native::LongTask& a, const native::LongTask& b) {
    return a.longest_seconds > b.longest_seconds;
  });
  return list;
}

bool Engine::is_run_by_caller() const {
  return (engine::current_thread != nullptr && engine::current_thread->is_worker) ||
         runner_.load() == std::this_thread::get_id();
}

bool Engine::is_stranger() const {
  return is_running() && holds() == 0 && turn.taker() == RunTurn::Taker::run &&
         std::this_thread::get_id() != runner_.load();
}

void free_outside(engine::ThreadState& self, Task* task) {
  if (task->is_extended()) {
    self.heap.free<sizeof(engine::ExtendedTask)>(task);
  } else {
    self.heap.free<sizeof(Task)>(task);
  }
}

void Engine::submit_outside(engine::ThreadState& self, Task* task) {
  if (auto& outside = static_cast<OutsideThread&>(self); outside.is_joining) {
    Groups::join(task);
    return outside.joining.append(task);
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

void Engine::push_outside(Task* first, Task* last) {
  if (!inbox.push(first, last)) return;
  inbox_ready.add(0, kNormalRank);
  // Looks again: a run() that began meanwhile may have found the inbox empty. Ordered against that as work is
  // against can_find_work().
  if (is_running_.load(std::memory_order_seq_cst) && !has_fault(Fault::silent_arrival)) {
    if (options_.lagging.kind != native::Lagging::Kind::off && events.has_sleepers())
      woken_at.store(ticks(), std::memory_order_relaxed);
    events.notify_last();
  }
}

void Engine::retire(engine::ResourceHeader* header) {
  if (!is_running_.load(std::memory_order_seq_cst)) return header->destroy(header);
  if (engine::current_thread != nullptr && engine::current_thread->is_worker) {
    return epochs->retire(*engine::current_thread->epoch, header);
  }
  {
    const std::lock_guard lock(retired_mutex_);
    if (is_running_.load(std::memory_order_seq_cst)) {  // else run() has looked already
      header->next_retired = std::exchange(retired_, header);
      return;
    }
  }
  header->destroy(header);
}

void Engine::retire_later(engine::ResourceHeader* header) {
  if (is_running()) return retire(header);
  const std::lock_guard lock(retired_mutex_);
  header->next_retired = std::exchange(retired_, header);
}

void Engine::open_hold() { holds_.fetch_add(1, std::memory_order_seq_cst); }
void Engine::close_hold() {
  if (holds_.fetch_sub(1, std::memory_order_seq_cst) != 1) return;
  events.notify_all();
  if (!is_running()) waiting_threads.end_hold([this] { return is_running() || holds() != 0; });
}

namespace {

Engine* started = nullptr;

/// The process may end by any thread and at any time, in the middle of a run, too, and static objects that
/// are destroyed later may still have threads that create tasks: the engine is never destroyed.
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

bool is_forked_copy() { return started != nullptr && started->is_copy(); }

}  // namespace rubato::runtime

// ---- What the headers call ----

namespace rubato::inline v0::engine {

constinit thread_local ThreadState* current_thread = nullptr;

namespace {

/// Of a thread that is not a worker, from its first create() to its end. Destructors that run behind that of
/// AtEnd, of static objects for one, may still create tasks: for them there is another, which nobody deletes.
constinit thread_local runtime::OutsideThread* outside_state = nullptr;
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
    runtime::Engine& engine = runtime::the_engine();
    outside_state = new runtime::OutsideThread(engine.heap, engine.cells, engine.reached);
  }
  runtime::started_engine().prepare(*outside_state);
  return *outside_state;
}

void submit(ThreadState& self, Task* task) {
  if (self.is_worker) return static_cast<runtime::Worker&>(self).created_task(task);
  runtime::the_engine().submit_outside(self, task);
}

void created_many(ThreadState& self) {
  auto& worker = static_cast<runtime::Worker&>(self);
  worker.sharing.share_if_wanted();
}

void run() {
  runtime::Engine& engine = runtime::the_engine();
  engine.take_turn();
  const runtime::Engine::GivesBack gives_back(engine);
  const runtime::RunClock clock;
  engine.prepare_run();
  engine.run();
}
void run_group(TaskGroup& group, void (*start)(void*), void* work) {
  runtime::the_engine().run_group(group, start, work);
}
void retire(ResourceHeader* header) { runtime::the_engine().retire(header); }

}  // namespace rubato::inline v0::engine

namespace rubato::inline v0::native {

Options options() { return runtime::the_engine().options(); }
void configure(const Options& options) { runtime::the_engine().configure(options); }
void drop_pending() { runtime::the_engine().drop_between_runs(); }
unsigned workers() { return runtime::the_engine().workers(); }
Counters counters() { return runtime::the_engine().counters(); }
std::vector<LongTask> long_tasks() { return runtime::the_engine().long_tasks(); }
void Hold::release() { runtime::the_engine().close_hold(); }
Hold hold() {
  runtime::the_engine().open_hold();
  Hold result;
  result.is_open_ = true;
  return result;
}

}  // namespace rubato::inline v0::native
