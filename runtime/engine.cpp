// The native engine as the rest of the project meets it first: correct, with one mutex around all scheduling.
// The workers' own queues take its place.
// SPDX-License-Identifier: MIT
#include <sched.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/function_names.hpp"
#include "rubato/rubato.hpp"
#include "runtime/options.hpp"
#include "runtime/trace/counters_file.hpp"

namespace rubato::inline v0::engine {

constinit thread_local ThreadState* current_thread = nullptr;

namespace {

std::string name_of(const Task& task) {
  const void* address = nullptr;
  if (task.code->is_function_pointer) std::memcpy(&address, task.words, sizeof(address));
  return function_name(address, *task.code->type);
}

std::optional<std::uint64_t> timestamp_if_any(const Task& task) {
  if (!task.is_timestamped()) return std::nullopt;
  return timestamp_of(&task);
}

void free_task(Task* task) {
  if (task->code->destroy != nullptr) task->code->destroy(task);
  ::operator delete(task, std::align_val_t{64});
}

unsigned allowed_cpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return static_cast<unsigned>(CPU_COUNT(&set));
}

class Engine {
 public:
  Engine()
      : options_(
            runtime::options_from_environment([](const char* n) -> const char* { return std::getenv(n); })) {
    check_workers(options_);
  }

  const native::Options& options() const { return options_; }
  unsigned workers() const { return options_.workers != 0 ? options_.workers : allowed_cpus(); }
  void configure(const native::Options& options) {
    if (is_in_task() || is_running_ || tasks_ != 0)
      throw TaskError("configure() is called while there are tasks: call it before the first create()");
    runtime::check_options(options);
    check_workers(options);
    options_ = options;
  }
  native::Counters counters() {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

  void submit(Task* task) {
    ThreadState* const thread = current_thread;
    std::unique_lock lock(mutex_);
    try {
      check(thread, *task);
    } catch (...) {
      lock.unlock();
      free_task(task);
      throw;
    }
    task->next = nullptr;
    if (TaskGroup* const group = group_of(task))
      __atomic_fetch_add(&GroupState::pending(*group), 1, __ATOMIC_RELAXED);
    ++tasks_;
    ++counters_.tasks_created;
    ready_.push_back(task);
    if (task->is_timestamped()) ++timestamps_[timestamp_of(task)];
    changed_.notify_all();
  }

  void run() {
    if (is_in_task()) {
      const Task& task = *current_thread->running;
      const std::string name = name_of(task);
      throw TaskError(errors::nested_run({name, timestamp_if_any(task)}), name, timestamp_if_any(task));
    }
    {
      const std::lock_guard lock(mutex_);
      is_running_ = true;
      runner_ = std::this_thread::get_id();
    }
    std::vector<std::thread> threads;
    for (unsigned w = 1; w < workers(); ++w) threads.emplace_back([this] { work(); });
    work();
    for (std::thread& thread : threads) thread.join();
    finish();
  }

  void retire(ResourceHeader* header) {
    const std::lock_guard lock(mutex_);
    if (!is_running_) return header->destroy(header);
    header->next_retired = std::exchange(retired_, header);
  }
  void open_hold() {
    const std::lock_guard lock(mutex_);
    ++holds_;
  }
  void close_hold() {
    const std::lock_guard lock(mutex_);
    --holds_;
    changed_.notify_all();
  }

 private:
  struct Users {
    unsigned readers = 0;
    bool has_writer = false;
  };

  static void check_workers(const native::Options& options) {
    if (options.workers <= allowed_cpus() || options.oversubscribe) return;
    throw TaskError(std::to_string(options.workers) +
                    " workers were asked for, but this process may use only " +
                    std::to_string(allowed_cpus()) +
                    " CPUs: ask for fewer, or set oversubscribe (RUBATO_OVERSUBSCRIBE=1)");
  }

  void check(const ThreadState* thread, const Task& child) const {
    if (thread == nullptr || thread->running == nullptr) {
      const bool is_foreign = is_running_ && std::this_thread::get_id() != runner_;
      if (is_foreign && (holds_ == 0 || child.is_timestamped())) {
        throw TaskError(errors::foreign_thread(name_of(child)));
      }
      return;
    }
    if (!child.is_timestamped()) return;
    const Task& creator = *thread->running;
    if (creator.is_timestamped() && timestamp_of(&child) >= timestamp_of(&creator)) return;
    const std::string parent = name_of(creator);
    const std::string created = name_of(child);
    const errors::Task p{parent, timestamp_if_any(creator)};
    throw TaskError(creator.is_timestamped()
                        ? errors::earlier_timestamp(p, {created, timestamp_of(&child)})
                        : errors::timestamp_from_untimestamped(p, {created, timestamp_of(&child)}),
                    parent, timestamp_if_any(creator));
  }

  bool may_run(const Task* task) {
    if (runs_alone_ || (task->is_spec() && running_ != 0)) return false;
    if (task->is_timestamped() && timestamp_of(task) != timestamps_.begin()->first) return false;
    if (after_of(task) != nullptr && !after_of(task)->is_complete()) return false;
    if ((task->handle & handle::kLocale) == 0) return true;
    const auto users = users_.find(task->handle & handle::kAddressMask);
    if (users == users_.end()) return true;
    return (task->handle & handle::kReads) != 0 && !users->second.has_writer;
  }

  Task* take() {
    for (auto i = ready_.begin(); i != ready_.end(); ++i) {
      if (!may_run(*i)) continue;
      Task* const task = *i;
      ready_.erase(i);
      return task;
    }
    return nullptr;
  }

  void enter(const Task* task) {
    ++running_;
    runs_alone_ = task->is_spec();
    if ((task->handle & handle::kLocale) == 0) return;
    Users& users = users_[task->handle & handle::kAddressMask];
    if ((task->handle & handle::kReads) != 0) {
      ++users.readers;
    } else {
      users.has_writer = true;
    }
  }
  void leave(const Task* task) {
    --running_;
    if (task->is_spec()) {
      runs_alone_ = false;
      ++counters_.tasks_run_alone;
    }
    if ((task->handle & handle::kLocale) != 0) {
      const auto users = users_.find(task->handle & handle::kAddressMask);
      if ((task->handle & handle::kReads) == 0 || --users->second.readers == 0) users_.erase(users);
    }
    forget(task);
  }
  void forget(const Task* task) {
    --tasks_;
    ++counters_.tasks_run;
    if (task->is_timestamped()) {
      const auto count = timestamps_.find(timestamp_of(task));
      if (--count->second == 0) timestamps_.erase(count);
    }
    if (TaskGroup* const group = group_of(task))
      __atomic_fetch_sub(&GroupState::pending(*group), 1, __ATOMIC_ACQ_REL);
  }

  void work() {
    ThreadState self;
    current_thread = &self;
    std::unique_lock lock(mutex_);
    while (!is_over()) {
      Task* const task = take();
      if (task == nullptr) {
        if (running_ == 0 && holds_ == 0) {
          report_blocked();
          break;
        }
        changed_.wait(lock);
        continue;
      }
      enter(task);
      lock.unlock();
      self.running = task;
      std::exception_ptr error;
      try {
        task->code->run(task);
      } catch (...) {
        error = std::current_exception();
      }
      self.running = nullptr;
      lock.lock();
      if (error) keep(error, *task);
      leave(task);
      free_task(task);
      changed_.notify_all();
    }
    changed_.notify_all();
    current_thread = nullptr;
  }
  bool is_over() const { return (error_ && running_ == 0) || error_ || (tasks_ == 0 && holds_ == 0); }

  void keep(const std::exception_ptr& error, const Task& task) {
    if (error_) {
      ++further_errors_;
      return;
    }
    const std::string name = name_of(task);
    const auto at = timestamp_if_any(task);
    try {
      std::rethrow_exception(error);
    } catch (const TaskError&) {
      error_ = error;
    } catch (const std::exception& e) {
      error_ = nested(TaskError(errors::task_threw({name, at}, e.what()), name, at));
    } catch (...) {
      error_ = nested(TaskError(errors::task_threw({name, at}, "of an unknown type"), name, at));
    }
  }
  static std::exception_ptr nested(TaskError&& error) {
    try {
      std::throw_with_nested(std::move(error));
    } catch (...) {
      return std::current_exception();
    }
  }

  void report_blocked() {
    const Task* first = nullptr;
    std::uint64_t blocked = 0;
    for (const Task* task : ready_) {
      if (after_of(task) == nullptr || after_of(task)->is_complete()) continue;
      ++blocked;
      if (first == nullptr || timestamp_if_any(*task) < timestamp_if_any(*first)) first = task;
    }
    const std::string name = name_of(*first);
    const auto at = timestamp_if_any(*first);
    error_ = std::make_exception_ptr(TaskError(errors::blocked_groups(blocked, {name, at}), name, at));
  }

  void finish() {
    std::exception_ptr error;
    ResourceHeader* retired = nullptr;
    std::deque<Task*> unrun;
    {
      const std::lock_guard lock(mutex_);
      is_running_ = false;
      error = std::exchange(error_, nullptr);
      further_errors_ = 0;
      unrun.swap(ready_);
      for (Task* task : unrun) forget(task);
      retired = std::exchange(retired_, nullptr);
    }
    for (Task* task : unrun) free_task(task);
    destroy_all(retired);
    if (error) std::rethrow_exception(error);
  }

  native::Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  native::Counters counters_;

  std::deque<Task*> ready_;
  std::map<std::uint64_t, std::uint64_t> timestamps_;  // of unfinished tasks
  std::unordered_map<std::uint64_t, Users> users_;     // of locales, by running tasks
  std::uint64_t tasks_ = 0;
  std::uint64_t running_ = 0;
  std::uint64_t holds_ = 0;
  bool runs_alone_ = false;
  bool is_running_ = false;
  std::thread::id runner_;
  std::exception_ptr error_;
  std::uint64_t further_errors_ = 0;
  ResourceHeader* retired_ = nullptr;
};

Engine& the_engine() {
  static Engine engine;
  return engine;
}

}  // namespace

Task* allocate_task(bool extended) {
  return static_cast<Task*>(
      ::operator new(extended ? sizeof(ExtendedTask) : sizeof(Task), std::align_val_t{64}));
}
void submit(Task* task) { the_engine().submit(task); }
void run() {
  Engine& engine = the_engine();
  const runtime::RunClock clock;
  engine.run();
}
void retire(ResourceHeader* header) { the_engine().retire(header); }

}  // namespace rubato::inline v0::engine

namespace rubato::inline v0::native {

Options options() { return engine::the_engine().options(); }
void configure(const Options& options) { engine::the_engine().configure(options); }
unsigned workers() { return engine::the_engine().workers(); }
Counters counters() { return engine::the_engine().counters(); }
void Hold::release() { engine::the_engine().close_hold(); }
Hold hold() {
  engine::the_engine().open_hold();
  Hold result;
  result.is_open_ = true;
  return result;
}

}  // namespace rubato::inline v0::native
