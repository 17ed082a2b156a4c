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
#include <string>
#include <thread>

#include "actors/lifecycle.hpp"
#include "actors/living.hpp"
#include "native/memory/cells.hpp"
#include "native/worker/shared.hpp"
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

/// Shared by the asking thread and the task that does it, one of which may be gone before the other.
struct Request {
  std::mutex mutex;
  std::condition_variable changed;
  const std::function<void()>* work;  // null: it is done, or its caller has given it up
  std::exception_ptr error;

  void run() {
    const std::lock_guard lock(mutex);
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

enum class Worked : std::uint8_t { yes, run_has_ended, too_late };

/// Has `work` done by a task that runs alone. A run that fails drops the task, and another may have begun
/// since.
Worked work_alone(const std::function<void()>& work, std::uint64_t until) {
  constexpr std::chrono::milliseconds kBetweenLooks{1};
  Shared& shared = the_shared();
  const RunTurn::Joining joining(shared.turn);  // first: configure() is not refused because of the hold
  const Hold hold = native::hold();  // the run does not end meanwhile, unless it fails or has ended already
  const std::uint64_t run = shared.current_run.load();
  if (!shared.is_running()) return Worked::run_has_ended;
  const auto request = std::make_shared<Request>();
  request->work = &work;
  create<spec>(LookAtActors{request}, {});
  std::unique_lock lock(request->mutex);
  while (request->work != nullptr) {
    request->changed.wait_for(lock, kBetweenLooks);
    const bool goes_on = shared.is_running() && shared.current_run.load() == run;
    const bool is_late = engine::actor_nanoseconds() >= until;
    if (request->work == nullptr || (goes_on && !is_late)) continue;
    request->work = nullptr;
    return goes_on ? Worked::too_late : Worked::run_has_ended;
  }
  if (request->error != nullptr) std::rethrow_exception(request->error);
  return Worked::yes;
}

bool is_given_up(const Task* task) { return task->code == &engine::InlineTask<LookAtActors>::code; }

/// False: not before that time of actor_nanoseconds().
bool while_nothing_runs(const std::function<void()>& work, std::uint64_t until) {
  Shared& shared = the_shared();
  shared.refuse_copy("living_actors()");
  if (engine::is_in_task() || shared.is_run_by_caller()) engine::throw_misuse(errors::listed_in_a_task());
  const std::function<void()> closed = [&] {
    const Closed scope(shared.reached);
    work();
  };
  for (;;) {
    if (shared.turn.try_take(RunTurn::Taker::list)) {
      struct GivenBack {
        Shared& shared;
        ~GivenBack() { shared.turn.give_back(); }
      } const given_back{shared};
      closed();
      return true;
    }
    if (shared.is_running()) {
      const Worked worked = work_alone(closed, until);
      if (worked != Worked::run_has_ended) return worked == Worked::yes;
    }
    if (engine::actor_nanoseconds() >= until) return false;
    if (shared.is_left_behind()) engine::misuse(errors::beyond_the_run("living_actors()"));
    std::this_thread::yield();
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
  const native::Shared& shared = native::the_shared();
  if (shared.is_run_by_caller()) throw_misuse(errors::shutdown_in_a_task());
  const native::Hold hold = native::hold();
  if (!shared.is_running()) return false;
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

bool drop_given_up_requests(Shared& shared) {
  if (shared.inbox.is_empty()) return true;
  const Closed scope(shared.reached);
  Chain arrived = drain_inbox(shared);
  Chain others;
  while (!arrived.is_empty()) {
    Task* const task = arrived.take();
    if (!is_given_up(task)) {
      others.append(task);
      continue;
    }
    destroy(task);
    free_outside(engine::attach_thread(), task);
  }
  if (others.is_empty()) return true;
  shared.push_outside(others.first, others.last);
  return false;
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
