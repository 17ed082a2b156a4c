// Support of this engine for lists of living actors (actors/living.hpp): a moment at which no task runs.
// Between runs that is so anyway, and no run begins meanwhile. During a run a task that runs alone looks.
// SPDX-License-Identifier: MIT
#include <semaphore.h>
#include <signal.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "actors/lifecycle.hpp"
#include "actors/living.hpp"
#include "native/memory/cells.hpp"
#include "native/worker/outside_thread.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/turn_scheduling.hpp"
#include "native/worker/worker.hpp"
#include "rubato/task.hpp"

namespace rubato::inline v0::native {
namespace {

/// Threads outside neither send to actors nor begin them.
class Closed {
 public:
  explicit Closed(Reached& reached) : reached_(reached) { reached_.close(); }
  ~Closed() { reached_.open(); }
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;

 private:
  Reached& reached_;
};

/// Lists that are made while runs go on: one at a time, and such that runs end in between. A list needs a
/// task, whose end is no reason to make the next one at once: lists that follow each other would keep a run
/// open for ever that has nothing else to do. So the next list of a run that nothing holds open waits until
/// another task has ended there, which may have been what the list before waited for, or the run ends.
class Lists {
 public:
  /// Before a list. @returns false, and begins none, if that time has come before.
  bool begin(std::uint64_t until) {
    std::unique_lock lock(mutex_);
    if (is_busy_ || waiting_ != 0) {  // a thread that makes one list after the other lets others have theirs
      ++waiting_;
      do {
        changed_.wait_for(lock, kBetweenLooks);
      } while (is_busy_ && engine::actor_nanoseconds() < until);
      --waiting_;
    }
    if (is_busy_) return false;
    return is_busy_ = true;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    is_busy_ = false;
    changed_.notify_one();
  }

  void note_asked(std::uint64_t run) { note({.run = run, .is_done = false, .finished = 0}); }
  /// In the task that makes the list: all others have ended.
  void note_done(const Shared& shared) {
    note({.run = shared.current_run.load(), .is_done = true, .finished = shared.sums().finished});
  }
  /// Whether a list would keep the run open for no other reason than the one before.
  bool must_wait(const Shared& shared) {
    const auto workers = shared.keep_workers();
    const std::lock_guard lock(mutex_);
    if (shared.is_held_open() || shared.current_run.load() != last_.run) return false;
    return !last_.is_done || shared.sums().finished < last_.finished + 2;  // its own task, and another one
  }

  static constexpr std::chrono::milliseconds kBetweenLooks{1};

 private:
  struct Last {
    std::uint64_t run = 0;
    bool is_done = false;
    std::uint64_t finished = 0;  // tasks of the run's workers, when the list was made
  };
  void note(const Last& last) {
    const std::lock_guard lock(mutex_);
    last_ = last;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_busy_ = false;
  unsigned waiting_ = 0;
  Last last_;
};
/// Never destroyed: a signal may ask for a list while the process ends.
Lists& lists() {
  static Lists& instance = *new Lists;
  return instance;
}

/// Shared by the asking thread and the task that does it, one of which may be gone before the other.
struct Request {
  std::mutex mutex;
  std::condition_variable changed;
  const std::function<void()>* work;  // null: it is done, or its caller has given it up
  std::exception_ptr error;

  void run() {
    const std::lock_guard lock(mutex);
    lists().note_done(the_shared());
    if (work == nullptr) return;
    try {
      (*work)();
    } catch (...) {
      error = std::current_exception();
    }
    work = nullptr;
    changed.notify_all();
  }
};

/// The task that does it. Left in the inbox of a run that has ended before, it does nothing.
struct LookAtActors {
  std::shared_ptr<Request> request;
  void operator()() const {
    static_cast<Worker&>(*engine::current_thread).timer.leave_out();
    request->run();
  }
};

/// Like an algorithm that joins a run: without a hold, which would keep the run open.
/// @returns false if the run has ended
bool push(Shared& shared, const std::shared_ptr<Request>& request) {
  auto& self = static_cast<OutsideThread&>(engine::attach_thread());
  const RunTurn::Joining joining(shared.turn);  // configure() waits for it
  if (!shared.is_running()) return false;
  Chain task;
  {
    const Keeping keeping(self, task);
    create<spec>(LookAtActors{request}, {});
  }
  lists().note_asked(shared.current_run.load());
  shared.push_outside(task.first, task.last);
  return true;
}

enum class Worked : std::uint8_t { yes, run_has_ended, too_late };

/// Has `work` done by a task that runs alone. A run that fails drops the task.
Worked work_alone(const std::function<void()>& work, std::uint64_t until) {
  Shared& shared = the_shared();
  const auto request = std::make_shared<Request>();
  request->work = &work;
  if (!push(shared, request)) return Worked::run_has_ended;
  std::unique_lock lock(request->mutex);
  while (request->work != nullptr) {
    request->changed.wait_for(lock, Lists::kBetweenLooks);
    const bool has_ended = request.use_count() == 1 || !shared.is_running();
    const bool is_late = engine::actor_nanoseconds() >= until;
    if (request->work == nullptr || (!has_ended && !is_late)) continue;
    request->work = nullptr;
    return has_ended ? Worked::run_has_ended : Worked::too_late;
  }
  if (request->error != nullptr) std::rethrow_exception(request->error);
  return Worked::yes;
}

/// False: not before that time of actor_nanoseconds().
bool while_nothing_runs(const std::function<void()>& work, std::uint64_t until) {
  Shared& shared = the_shared();
  shared.refuse_copy("living_actors()");
  if (engine::is_in_task() || shared.is_run_by_caller()) engine::throw_misuse(errors::listed_in_a_task());
  const std::function<void()> closed = [&] {
    const Closed scope(shared.reached);
    work();
  };
  const auto check = [&shared] {
    if (shared.is_left_behind()) engine::misuse(errors::beyond_the_run("living_actors()"));
  };
  check();  // also before it waits for other lists, which may wait for the worker that waits for this thread
  if (!lists().begin(until)) return false;
  const struct Ended {
    ~Ended() { lists().end(); }
  } ended;
  constexpr std::chrono::microseconds kBetweenTries{20};
  for (;; std::this_thread::sleep_for(kBetweenTries)) {
    check();
    if (shared.turn.try_take_for_list()) {
      struct GivenBack {
        Shared& shared;
        ~GivenBack() { shared.turn.give_back(); }
      } const given_back{shared};
      closed();
      return true;
    }
    if (shared.is_running() && !lists().must_wait(shared)) {
      const Worked worked = work_alone(closed, until);
      if (worked != Worked::run_has_ended) return worked == Worked::yes;
    }
    if (engine::actor_nanoseconds() >= until) return false;
  }
}

std::uint64_t size_of(const MessageNode* node) {
  std::uint64_t size = 0;
  for (; node != nullptr; node = node->next.load(std::memory_order_acquire))
    size += engine::is_of_program(*node->type) ? 1 : 0;
  return size;
}
std::uint64_t waiting_in(Mailbox& mailbox) {
  std::uint64_t size = size_of(mailbox.head());
  if (mailbox.head() == nullptr && mailbox.last_taken() != nullptr)
    size = size_of(mailbox.last_taken()->next.load(std::memory_order_acquire));
  const bool is_urgent = (mailbox.life().load(std::memory_order_relaxed) & Cell::kHasUrgentLane) != 0;
  if (!is_urgent || mailbox.extras == nullptr) return size;
  const auto& lanes = mailbox.extras->lanes;
  return size + size_of(lanes.high.first()) + size_of(lanes.normal.first()) + (lanes.last != nullptr ? 1 : 0);
}
bool is_living(Mailbox& mailbox) {
  if ((mailbox.life().load(std::memory_order_acquire) & Cell::kIsUnborn) != 0) return false;
  if (mailbox.type == nullptr || mailbox.type == &engine::no_behavior()) return false;
  // First: a handler on the actor's own thread may change the flags meanwhile.
  const bool is_in_handler = mailbox.extras != nullptr && mailbox.extras->is_away;
  return is_in_handler || (mailbox.flags & Cell::kEnded) == 0;
}

sem_t signals;
void (*answer_to_signal)() = nullptr;
extern "C" void note_signal(int) {
  const int before = errno;
  sem_post(&signals);
  errno = before;
}

}  // namespace
}  // namespace rubato::inline v0::native

namespace rubato::inline v0::engine {

bool for_each_actor_until(std::uint64_t time, const std::function<void(const Cell&, std::uint64_t)>& use) {
  const auto use_all = [&use] {
    native::the_shared().cells.for_each([&use](native::Mailbox& mailbox) {
      if (native::is_living(mailbox)) use(mailbox, native::waiting_in(mailbox));
    });
  };
  return native::while_nothing_runs(use_all, time);
}

bool wait_in_run(const std::function<bool()>& wait) {
  constexpr std::chrono::milliseconds kBetweenLooks{1};
  native::Shared& shared = native::the_shared();
  if (shared.is_run_by_caller()) throw_misuse(errors::shutdown_in_a_task());
  std::optional<native::RunTurn::Passing> passing;
  native::Hold hold;
  {
    const native::RunTurn::Joining joining(shared.turn);  // not while configure() looks for holds
    if (!shared.is_running()) return false;
    passing.emplace(shared.turn);
    hold = native::hold();
  }
  while (shared.is_running() && !wait()) std::this_thread::sleep_for(kBetweenLooks);
  return true;
}

void answer_signal(int signal, void (*answer)()) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (native::answer_to_signal == nullptr) {
    sem_init(&native::signals, 0, 0);
    native::answer_to_signal = answer;
    std::thread([] {
      for (;;) {
        while (sem_wait(&native::signals) != 0) {
        }
        native::answer_to_signal();
      }
    }).detach();
  }
  struct sigaction action {};
  action.sa_handler = native::note_signal;
  action.sa_flags = SA_RESTART;
  if (sigaction(signal, &action, nullptr) != 0)
    misuse("the signal " + std::to_string(signal) + " cannot list actors: " + std::strerror(errno));
}

}  // namespace rubato::inline v0::engine

namespace rubato::inline v0::native {

namespace {

/// Lists that the run did not make before it ended, and that their callers make now.
bool is_request(const Task* task) { return task->code == &engine::InlineTask<LookAtActors>::code; }
/// The turn of an actor that has no message of the program: it is to end, as a run that failed left it.
bool is_turn_of_runtime(const Task* task) {
  if (!is_turn(task) && task->code->run != run_turn_of_own_thread) return false;
  Mailbox& mailbox = mailbox_of(*cell_in(task));
  const bool has_unstashed = mailbox.extras != nullptr && !mailbox.extras->unstashed.is_empty();
  return waiting_in(mailbox) == 0 && !has_unstashed;
}

}  // namespace

bool has_tasks_of_program(Shared& shared) {
  if (shared.inbox.is_empty()) return false;
  const Closed scope(shared.reached);
  Chain arrived = drain_inbox(shared);
  Chain kept;
  bool has_any = false;
  while (!arrived.is_empty()) {
    Task* const task = arrived.take();
    if (is_request(task)) {
      destroy(task);
      free_outside(engine::attach_thread(), task);
      continue;
    }
    has_any = has_any || !is_turn_of_runtime(task);
    kept.append(task);
  }
  if (!kept.is_empty()) shared.push_outside(kept.first, kept.last);
  return has_any;
}

void say_what_actors_wait_for(Shared& shared) {
  engine::say_what_is_left([&shared](const std::function<void(const Cell&)>& use) {
    const Closed scope(shared.reached);
    shared.cells.for_each([&use](Mailbox& mailbox) {
      if (is_living(mailbox)) use(mailbox);
    });
  });
}

}  // namespace rubato::inline v0::native
