// How a thread or a session gets its turn in a shard of discipline `tasks` (rule T86). A shard is a resource
// of the native engine; what touches it is a task annotated with it.
//
// A session of a connection runs on a fiber. Where it needs a shard it leaves, and a task of that shard goes
// on with it: so the requests of a connection keep their order, those of different connections that meet in
// no shard run at once, and no thread waits. Other threads, the maintainers', wait for their task.
// SPDX-License-Identifier: MIT
#pragma once

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

/// A fiber on its way through the shards of one engine.
class Traveller {
 public:
  static constexpr unsigned kNowhere = ~0u;
  unsigned place = kNowhere, next = kNowhere;
  Fiber fiber;
  RequestWork* work = nullptr;
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

/// One thread's wish to do something in each of some shards, and its waiting for that.
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
    shards_.push_back(make_resource<Shard>({}, std::forward<Args>(args)...));
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
    if (Traveller* traveller = current(); traveller && traveller->place == n) return f(*shards_[n], argument);
    create<nonspec>([f](Shard* shard, A* a) { f(*shard, a); }, {.on = shards_[n]}, shards_[n].get(),
                    argument);
  }

  void execute(RequestWork& work) override {
    std::unique_ptr<Traveller> traveller = take();
    traveller->work = &work;
    traveller->place = traveller->next = Traveller::kNowhere;
    traveller->fiber.prepare([](void* self) { static_cast<Traveller*>(self)->work->work(); },
                             traveller.get());
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
  /// Goes on with a session until it leaves, and makes the task that goes on with it then.
  void drive(Traveller* traveller) {
    if (traveller->fiber.resume()) return keep(std::unique_ptr<Traveller>(traveller));
    const auto step = [](Sections* self, Traveller* t) {
      t->place = t->next;
      self->drive(t);
    };
    if (traveller->next == Traveller::kNowhere)
      create<nonspec>(step, {}, this, traveller);
    else
      create<nonspec>(step, {.on = shards_[traveller->next]}, this, traveller);
  }

  /// A thread has f done in `count` shards from the n-th on, and waits.
  template <class F>
  void run_in(unsigned n, unsigned count, F&& f) {
    Errand errand(count);
    for (unsigned shard = n; shard < n + count; ++shard)
      create<nonspec>(
          [](Shard* at, std::remove_reference_t<F>* call, Errand* e) {
            std::exception_ptr error;
            try {
              (*call)(*at);
            } catch (...) {
              error = std::current_exception();
            }
            e->done(error);
          },
          {.on = shards_[shard]}, shards_[shard].get(), &f, &errand);
    errand.wait();
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
  std::mutex mutex_;
  std::vector<std::unique_ptr<Traveller>> kept_;
};

}  // namespace rubato::cached
