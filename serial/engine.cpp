// The serial engine: the reference that every other engine must agree with. One thread; the earliest
// timestamp runs first; among eligible tasks (that timestamp's, and those without one) the seed chooses. Task
// model, section "Engine serial"; M1 to M6. Locales and atomicity hold by themselves: one task runs at
// a time. Children wait for their creator's end, so "a child appears after its parent" holds for every type.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/function_names.hpp"
#include "base/rng.hpp"
#include "rubato/rubato.hpp"
#include "serial/counters_file.hpp"
#include "serial/engine.hpp"
#include "serial/outside_events.hpp"
#include "serial/tie_check.hpp"

namespace rubato::inline v0::engine {

ActorHooks actor_hooks;

namespace {

struct Task {
  std::optional<std::uint64_t> at;
  TaskGroup* group;
  TaskGroup* after;
  Function function;
  std::unique_ptr<Body> body;
  std::uint64_t number = 0;  ///< in the order of creation, from 1
};

std::string name_of(const Function& function) { return function_name(function.address, *function.type); }

class Engine {
 public:
  Engine() {
    check_counters_file();
    const char* const text = std::getenv("RUBATO_SEED");
    if (text == nullptr) return;
    const char* const last = text + std::strlen(text);
    std::uint64_t seed = 0;
    if (const auto [end, error] = std::from_chars(text, last, seed); error != std::errc{} || end != last)
      throw TaskError(std::string("RUBATO_SEED is '") + text +
                      "', but a number from 0 to 2^64 - 1 was expected");
    set_seed(seed);
  }
  ~Engine() = delete;  // see the_engine()

  void set_seed(std::uint64_t seed) {
    totals.seed = seed;
    rng_ = Rng(seed);
  }
  std::uint64_t seed() const { return totals.seed; }
  const Task* running() const { return running_; }

  bool is_running() const { return is_running_; }
  bool is_foreign_thread() const { return is_running_ && std::this_thread::get_id() != runner_.load(); }
  bool runs_here() const { return is_running_ && std::this_thread::get_id() == runner_.load(); }

  /// @param traits  the properties that the order of the task and its exclusion depend on
  void submit(Task task, const TaskTies::Task& traits) {
    if (is_foreign_thread()) throw TaskError(errors::foreign_thread(name_of(task.function)));
    if (running_ != nullptr && task.at && !may_create(task)) return;
    if (task.group != nullptr) ++GroupState::pending(*task.group);
    task.number = ++totals.tasks_created;
    if (TieCheck::active != nullptr) TieCheck::active->create(task.number, task.function, traits);
    enqueue(std::move(task));
  }

  /// Every task, until none is left. A failure leaves the engine empty and usable.
  void run() {
    check_run();
    runner_ = std::this_thread::get_id();
    is_running_ = true;
    const RunClock clock;
    try {
      do {
        while (tasks_ + blocked_tasks_ != 0) step();
      } while (go_on());
      if (actor_hooks.say_what_is_left != nullptr) actor_hooks.say_what_is_left();
    } catch (...) {
      std::fprintf(stderr,
                   "rubato: the serial engine stopped; RUBATO_SEED=%llu repeats this order of tasks\n",
                   static_cast<unsigned long long>(seed()));
      clear();
      throw;
    }
    finish_region();
  }

  /// Errors: those of run() when it is called at the wrong time.
  void check_run() const {
    if (is_foreign_thread()) throw TaskError(errors::concurrent_run());
    if (running_ != nullptr) {
      const std::string name = name_of(running_->function);
      throw TaskError(errors::nested_run({name, running_->at}), name, running_->at);
    }
    if (is_running_) throw TaskError(errors::run_in_destructor());
  }

  void retire(ResourceHeader* header) {
    if (!is_running_) return header->destroy(header);
    header->next_retired = std::exchange(retired_, header);
  }

 private:
  /// False: it is too early, by a destructor, which does not throw: the run ends when that has returned.
  bool may_create(const Task& child) {
    if (!is_destroying_) {
      check_order(child);
      return true;
    }
    try {
      check_order(child);
      return true;
    } catch (...) {
      if (!late_error_) late_error_ = std::current_exception();
      return false;
    }
  }
  void check_order(const Task& child) const {
    if (running_->at && *child.at >= *running_->at) return;
    const std::string creator = name_of(running_->function);
    const std::string created = name_of(child.function);
    const errors::Task parent{creator, running_->at};
    throw TaskError(running_->at ? errors::earlier_timestamp(parent, {created, child.at})
                                 : errors::timestamp_from_untimestamped(parent, {created, child.at}),
                    creator, running_->at);
  }

  void enqueue(Task task) {
    ++tasks_;
    if (task.at) {
      timestamped_[*task.at].push_back(std::move(task));
    } else {
      unordered_.push_back(std::move(task));
    }
  }

  /// Sets a task aside until its group is complete.
  void block(Task task) {
    ++blocked_tasks_;
    if (task.at) ++blocked_timestamps_[*task.at];
    blocked_[task.after].push_back(std::move(task));
  }

  /// The bucket of the earliest timestamp, unless a blocked task is earlier: then nothing timestamped may
  /// run.
  std::vector<Task>* earliest() {
    if (timestamped_.empty()) return nullptr;
    const auto first = timestamped_.begin();
    if (!blocked_timestamps_.empty() && blocked_timestamps_.begin()->first < first->first) return nullptr;
    return &first->second;
  }

  void step() {
    std::vector<Task>* const ordered = earliest();
    const std::uint64_t choices = (ordered != nullptr ? ordered->size() : 0) + unordered_.size();
    if (choices == 0) {
      if (!go_on()) report_blocked();
      return;
    }
    std::uint64_t chosen = choices == 1 ? 0 : rng_.below(choices);
    std::vector<Task>* from = ordered;
    if (ordered == nullptr || chosen >= ordered->size()) {
      if (ordered != nullptr) chosen -= ordered->size();
      from = &unordered_;
    }
    Task task = std::move((*from)[chosen]);
    (*from)[chosen] = std::move(from->back());
    from->pop_back();
    if (from == ordered && from->empty()) timestamped_.erase(timestamped_.begin());
    --tasks_;
    if (task.after != nullptr && !task.after->is_complete()) return block(std::move(task));
    try {
      execute(task);
    } catch (...) {
      leave_group(task);
      throw;
    }
    leave_group(task);
    if (task.group != nullptr && task.group->is_complete()) release(task.group);
    if (actor_hooks.after_task != nullptr) actor_hooks.after_task();
  }

  /// No task can run: time goes on to the next timer, unless threads outside are to set events. Then time
  /// passes as on the clock. @returns whether there was anything to wait for
  static bool go_on() {
    if (take_set_events()) return true;
    if (waits_for_events()) {
      const std::uint64_t limit = actor_hooks.until_timer != nullptr ? actor_hooks.until_timer() : kNoLimit;
      const std::uint64_t passed = wait_for_events(limit);
      if (actor_hooks.pass != nullptr) actor_hooks.pass(std::min(passed, limit));
    }
    // Again: what was set before there was no event to wait for any more.
    if (take_set_events()) return true;
    return actor_hooks.fire_timer != nullptr && actor_hooks.fire_timer();
  }

  void execute(Task& task) {
    Guard* const guard = GroupState::guard(task.group);
    running_ = &task;
    if (TieCheck::active != nullptr) TieCheck::active->begin(task.number, task.after);
    try {
      if (guard == nullptr || !guard->is_cancelled()) {
        ++totals.tasks_run;
        call(task, guard);
      }
      destroy(task);
      if (TieCheck::active != nullptr) TieCheck::active->end(task.group);
    } catch (const TaskError& e) {
      running_ = nullptr;
      if (!e.function().empty()) throw;  // it names the task
      const std::string name = name_of(task.function);
      std::throw_with_nested(TaskError(errors::in_task({name, task.at}, e.what()), name, task.at));
    } catch (const std::exception& e) {
      running_ = nullptr;
      throw_task_failed(task, e.what());
    } catch (...) {
      running_ = nullptr;
      throw_task_failed(task, "of an unknown type");
    }
    running_ = nullptr;
  }

  /// Destructors of a task that has run are part of it.
  void destroy(Task& task) {
    is_destroying_ = true;
    task.body.reset();
    is_destroying_ = false;
    if (late_error_) std::rethrow_exception(std::exchange(late_error_, nullptr));
  }

  /// An exception is the guard's, if there is one.
  static void call(const Task& task, Guard* guard) {
    if (guard == nullptr) return task.body->call();
    try {
      task.body->call();
    } catch (...) {
      guard->add(std::current_exception(), task.function.address, *task.function.type, task.at);
    }
  }

  [[noreturn]] static void throw_task_failed(const Task& task, const char* what) {
    const std::string name = name_of(task.function);
    std::throw_with_nested(TaskError(errors::task_threw({name, task.at}, what), name, task.at));
  }

  void release(TaskGroup* group) {
    const auto waiting = blocked_.find(group);
    if (waiting == blocked_.end()) return;
    std::vector<Task> tasks = std::move(waiting->second);
    blocked_.erase(waiting);
    for (Task& task : tasks) {
      --blocked_tasks_;
      if (task.at) {
        const auto count = blocked_timestamps_.find(*task.at);
        if (--count->second == 0) blocked_timestamps_.erase(count);
      }
      enqueue(std::move(task));
    }
  }

  [[noreturn]] void report_blocked() {
    const Task* first = nullptr;  // the earliest, so that the sentence does not depend on addresses
    for (const auto& [group, tasks] : blocked_) {
      for (const Task& task : tasks) {
        if (first == nullptr || task.at < first->at) first = &task;
      }
    }
    const std::string name = name_of(first->function);
    throw TaskError(errors::blocked_groups(blocked_tasks_, {name, first->at}), name, first->at);
  }

  /// Drops all tasks unrun and all messages, and the tasks that destructors and listeners create meanwhile.
  void clear() {
    do {
      drop_tasks();
      if (tasks_ + blocked_tasks_ == 0 && actor_hooks.clear != nullptr) actor_hooks.clear();
    } while (tasks_ + blocked_tasks_ != 0);
    finish_region();
    if (actor_hooks.end_in_next_run != nullptr) actor_hooks.end_in_next_run();
  }
  void drop_tasks() {
    drop_events();
    // Destroyed last: what waits for a group may own it, or another one.
    const auto blocked = std::exchange(blocked_, {});
    const auto unordered = std::exchange(unordered_, {});
    const auto timestamped = std::exchange(timestamped_, {});
    blocked_timestamps_.clear();
    tasks_ = blocked_tasks_ = 0;
    for (const auto& [at, tasks] : timestamped) leave_groups(tasks);
    leave_groups(unordered);
    for (const auto& [group, tasks] : blocked) leave_groups(tasks);
  }
  static void leave_groups(const std::vector<Task>& tasks) {
    for (const Task& task : tasks) leave_group(task);
  }
  static void leave_group(const Task& task) {
    if (task.group != nullptr) --GroupState::pending(*task.group);
  }

  void finish_region() {
    is_running_ = false;
    if (TieCheck::active != nullptr) TieCheck::active->clear();
    destroy_all(std::exchange(retired_, nullptr));
  }

  Rng rng_{1};

  // tasks_ == all tasks of timestamped_ and unordered_; blocked_tasks_ == all tasks of blocked_.
  // No bucket of timestamped_ is empty. blocked_timestamps_ counts the blocked tasks of each timestamp.
  std::map<std::uint64_t, std::vector<Task>> timestamped_;
  std::vector<Task> unordered_;
  std::unordered_map<TaskGroup*, std::vector<Task>> blocked_;
  std::map<std::uint64_t, std::uint64_t> blocked_timestamps_;
  std::uint64_t tasks_ = 0;
  std::uint64_t blocked_tasks_ = 0;

  std::atomic<bool> is_running_{false};  // threads that set events look at both
  std::atomic<std::thread::id> runner_{};
  const Task* running_ = nullptr;
  bool is_destroying_ = false;     // the running task has ended, and its body is destroyed
  std::exception_ptr late_error_;  // of a destructor then
  ResourceHeader* retired_ = nullptr;
};

/// Never destroyed: static objects and tasks that never ran may create tasks when they are destroyed.
Engine& the_engine() {
  static Engine& engine = *new Engine;
  return engine;
}

}  // namespace

// All task types mean the same on one thread, but to a checked program.
void submit(TaskType type, const Annotations& a, Function function, std::unique_ptr<Body> body) {
  TaskTies::Task traits;
  if (a.at) traits.at = *a.at;
  if (a.on) {
    traits.locale = *a.on;
    traits.reads = a.access == Access::reads && a.on->allows_shared_reads();
  }
  traits.is_atomic = type == TaskType::spec;
  the_engine().submit({traits.at, a.group, a.after, function, std::move(body)}, traits);
}
void order_with_others() {
  static const char object = 0;
  if (TieCheck::active != nullptr) TieCheck::active->synchronize(&object);
}
void run() { the_engine().run(); }
void run_group(TaskGroup&, void (*start)(void*), void* work) {
  the_engine().check_run();  // first: a refused algorithm has no tasks
  start(work);
  the_engine().run();
}
Timestamp timestamp() {
  const auto* const task = the_engine().running();
  return task != nullptr && task->at ? *task->at : 0;
}
bool is_timestamped() {
  const auto* const task = the_engine().running();
  return task != nullptr && task->at.has_value();
}
bool is_in_task() { return the_engine().running() != nullptr; }
const Guard* running_guard() {
  const auto* const task = the_engine().running();
  return task != nullptr ? GroupState::guard(task->group) : nullptr;
}
void retire(ResourceHeader* header) { the_engine().retire(header); }
std::uint64_t running_number() { return the_engine().running() != nullptr ? totals.tasks_run : 0; }
bool is_running() { return the_engine().is_running(); }
bool runs_here() { return the_engine().runs_here(); }
void check_thread(const char* what) {
  if (the_engine().is_foreign_thread()) throw TaskError(errors::foreign_thread(what));
}

}  // namespace rubato::inline v0::engine

namespace rubato::inline v0::serial {

void set_seed(std::uint64_t seed) { engine::the_engine().set_seed(seed); }
std::uint64_t seed() { return engine::the_engine().seed(); }
std::uint64_t tasks_run() { return engine::totals.tasks_run; }

}  // namespace rubato::inline v0::serial
