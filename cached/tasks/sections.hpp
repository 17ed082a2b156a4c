// How a thread or a session gets its turn in a shard of discipline `tasks` (T86). A shard is a resource
// of the native engine; what touches it is a task annotated with it.
//
// A session of a connection runs on a fiber. Where it needs a shard it leaves, and a task of that shard goes
// on with it: so the requests of a connection keep their order, those of different connections that meet in
// no shard run at once, and no thread waits. Other threads, the maintainers', wait for their task.
//
// The event loops that receive are turned by the engine's workers, each by one: a task of low priority, which
// comes when what it received before has been worked through, and waits for more only then. A shard is kept
// by a latch, so its tasks run on the worker that made them: from receiving to sending a request changes no
// thread, and wakes none.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include "cached/core/executor.hpp"
#include "cached/tasks/fiber.hpp"
#include "rubato/engine/native_options.hpp"
#include "rubato/rubato.hpp"

namespace rubato::cached {

/// A source of requests, the worker that turns it, and how many tasks and sessions that came from it are not
/// done: as long as there are some, that worker must not wait for others.
struct ServedSource {
  RequestSource& source;
  unsigned worker;
  std::atomic<unsigned> under_way{0};
  bool is_stopped = false;
};

/// A fiber on its way through the shards of one engine.
class Traveller {
 public:
  static constexpr unsigned kNowhere = ~0u;
  unsigned place = kNowhere, next = kNowhere;
  Fiber fiber;
  RequestWork* work = nullptr;
  ServedSource* from = nullptr;
};

/// The workers of the native engine, from `start` to destruction. One at a time in a process.
class TaskWorkers {
 public:
  explicit TaskWorkers(unsigned number) : number_(number) {}
  ~TaskWorkers() { stop(); }
  TaskWorkers(const TaskWorkers&) = delete;
  TaskWorkers& operator=(const TaskWorkers&) = delete;
  void start();
  /// All tasks end first.
  void stop();

 private:
  unsigned number_;
  native::Hold hold_;
  std::thread thread_;
};

/// A thread's request to act in each of some shards, and its wait for that.
class Errand {
 public:
  explicit Errand(unsigned parts) : left_(parts) {}
  void done(std::exception_ptr error) {
    std::lock_guard guard(mutex_);
    if (error && !error_) error_ = error;
    if (--left_ == 0) changed_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return left_ == 0; });
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned left_;
  std::exception_ptr error_;
};

template <class Shard>
class Sections final : public Executor {
 public:
  unsigned size() const { return static_cast<unsigned>(shards_.size()); }
  template <class... Args>
  void add(Args&&... args) {
    shards_.push_back(
        make_resource<Shard>({.synchronization = Synchronization::latch}, std::forward<Args>(args)...));
  }
  ~Sections() {
    for (const resource<Shard>& shard : shards_) remove(shard);
  }

  /// The shard, for what may be asked without its turn.
  Shard& outside(unsigned n) const { return *shards_[n]; }

  /// f(shard) in the shard's turn; its result.
  template <class F>
  auto in(unsigned n, F&& f) -> decltype(f(std::declval<Shard&>())) {
    using R = decltype(f(std::declval<Shard&>()));
    if (Traveller* traveller = current()) {
      go(*traveller, n);
      return f(*shards_[n]);
    }
    if constexpr (std::is_void_v<R>) {
      run_in(n, 1, f);
    } else {
      std::optional<R> result;
      run_in(n, 1, [&](Shard& shard) { result.emplace(f(shard)); });
      return std::move(*result);
    }
  }
  /// f(shard) in the turn of each; at once, if a thread asks, so f must bear that.
  template <class F>
  void in_each(F&& f) {
    if (Traveller* traveller = current()) {
      for (unsigned n = 0; n < size(); ++n) go(*traveller, n), f(*shards_[n]);
    } else {
      run_in(0, size(), f);
    }
  }
  /// f(shard, argument) some time, without waiting for it; f has no state.
  template <class F, class A>
  void later(unsigned n, F f, A* argument) {
    Traveller* const traveller = current();
    if (traveller && traveller->place == n) return f(*shards_[n], argument);
    ServedSource* const from = traveller ? traveller->from : turned();
    begin_one(from);
    create<nonspec>(
        [f](Shard* shard, A* a, ServedSource* source) {
          f(*shard, a);
          end_one(source);
        },
        {.on = shards_[n]}, shards_[n].get(), argument, from);
  }

  void serve(RequestSource& source) override {
    const auto worker = static_cast<unsigned>(sources_.size());
    sources_.push_back(std::make_unique<ServedSource>(source, worker));
    turn_soon(sources_.back().get());
  }

  void execute(RequestWork& work) override {
    std::unique_ptr<Traveller> traveller = take();
    traveller->work = &work, traveller->from = turned();
    traveller->place = traveller->next = Traveller::kNowhere;
    traveller->fiber.prepare([](void* self) { static_cast<Traveller*>(self)->work->work(); },
                             traveller.get());
    begin_one(traveller->from);
    drive(traveller.release());
  }
  void step_aside() override {
    Traveller* traveller = current();
    if (traveller && traveller->place != Traveller::kNowhere) go(*traveller, Traveller::kNowhere);
  }

 private:
  static constexpr std::size_t kMostKept = 256;

  static Traveller* current() {
    Fiber* fiber = Fiber::current();
    return fiber ? static_cast<Traveller*>(fiber->argument()) : nullptr;
  }
  static void go(Traveller& traveller, unsigned n) {
    if (traveller.place == n) return;
    traveller.next = n;
    traveller.fiber.leave();
  }

  /// The source that this thread turns, if any. Never inlined: sessions change threads.
  [[gnu::noinline]] static ServedSource*& turned() {
    static thread_local ServedSource* source = nullptr;
    asm volatile("");
    return source;
  }
  static void begin_one(ServedSource* from) {
    if (from) from->under_way.fetch_add(1, std::memory_order_relaxed);
  }
  static void end_one(ServedSource* from) {
    if (from) from->under_way.fetch_sub(1, std::memory_order_release);
  }
  void turn_soon(ServedSource* served) {
    create<nonspec>([](Sections* self, ServedSource* s) { self->turn(s); },
                    {.priority = Priority::low, .core = served->worker}, this, served);
  }
  void turn(ServedSource* served) {
    const auto is_idle = [&] { return served->under_way.load(std::memory_order_acquire) == 0; };
    turned() = served;
    if (!served->is_stopped) served->is_stopped = !served->source.turn(is_idle());
    if (!served->is_stopped || !is_idle()) return turn_soon(served);
    turned() = nullptr;
    served->source.ended();
  }

  /// Goes on with a session until it leaves, and makes the task that goes on with it then.
  void drive(Traveller* traveller) {
    if (traveller->fiber.resume()) {
      ServedSource* const from = traveller->from;
      keep(std::unique_ptr<Traveller>(traveller));
      return end_one(from);
    }
    const auto step = [](Sections* self, Traveller* t) {
      t->place = t->next;
      self->drive(t);
    };
    if (traveller->next == Traveller::kNowhere)
      create<nonspec>(step, {}, this, traveller);
    else
      create<nonspec>(step, {.on = shards_[traveller->next]}, this, traveller);
  }

  /// A thread has f done in `count` shards from the n-th on, and waits. A worker that turns a source is not
  /// woken by a task from outside: it makes the tasks itself.
  template <class F>
  void run_in(unsigned n, unsigned count, F&& f) {
    Errand errand(count);
    if (sources_.empty()) {
      for (unsigned shard = n; shard < n + count; ++shard) run_errand(shard, f, errand, nullptr);
    } else {
      ServedSource* const served = sources_[asked_.fetch_add(1) % sources_.size()].get();
      served->source.post([&, served] {
        for (unsigned shard = n; shard < n + count; ++shard) run_errand(shard, f, errand, served);
      });
    }
    errand.wait();
  }
  template <class F>
  void run_errand(unsigned n, F& f, Errand& errand, ServedSource* from) try {
    begin_one(from);
    create<nonspec>(
        [](Shard* at, F* call, Errand* e, ServedSource* source) {
          std::exception_ptr error;
          try {
            (*call)(*at);
          } catch (...) {
            error = std::current_exception();
          }
          e->done(error);
          end_one(source);
        },
        {.on = shards_[n]}, shards_[n].get(), &f, &errand, from);
  } catch (...) {
    end_one(from);
    errand.done(std::current_exception());
  }

  std::unique_ptr<Traveller> take() {
    {
      std::lock_guard guard(mutex_);
      if (!kept_.empty()) {
        std::unique_ptr<Traveller> traveller = std::move(kept_.back());
        kept_.pop_back();
        return traveller;
      }
    }
    return std::make_unique<Traveller>();
  }
  void keep(std::unique_ptr<Traveller> traveller) {
    std::lock_guard guard(mutex_);
    if (kept_.size() < kMostKept) kept_.push_back(std::move(traveller));
  }

  std::vector<resource<Shard>> shards_;
  std::vector<std::unique_ptr<ServedSource>> sources_;
  std::atomic<unsigned> asked_{0};  // by other threads, of the sources in turn
  std::mutex mutex_;
  std::vector<std::unique_ptr<Traveller>> kept_;
};

}  // namespace rubato::cached
