// Algorithms that threads outside tasks call (rubato/algorithms.hpp): the thread's own run, or a part of the
// run that another thread has begun. R10 and R11.
//
// A thread that finds the turn taken joins: it hands over the algorithm's first task and, at once, one that
// waits for the algorithm's group, and sleeps. The second task, run or destroyed unrun, wakes it. In the
// inbox it stands behind the first, and it is destroyed after all members of the group, so that no task
// refers to the algorithm when the thread goes on. If the run has ended before it took these tasks, the
// thread runs them itself: no task is left behind whatever the other thread does.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdint>
#include <new>
#include <string>
#include <thread>
#include <typeinfo>
#include <utility>

#include "native/counters_file.hpp"
#include "native/engine.hpp"
#include "native/run_turn.hpp"
#include "native/worker/arrivals.hpp"
#include "rubato/engine/native.hpp"

namespace rubato::inline v0::native {
namespace {

using engine::Task;

/// A call that has joined a run, on its stack.
struct Joined {
  enum class State : std::uint8_t { waiting, complete, dropped };
  State state = State::waiting;
  std::string why;  // dropped: the exception that ended the run
};

/// The name of the task in lists of waiting tasks.
struct AlgorithmIsComplete {};

Joined* joined_in(const Task* task) { return reinterpret_cast<Joined*>(task->words[0]); }

void end(Joined* joined, Joined::State state) {
  Engine& engine = the_engine();
  engine.turn.change([&] {
    joined->state = state;
    if (state == Joined::State::dropped) joined->why = engine.failure.first();
  });
}

/// The last that refers to it: the destructor of a task that has run finds none.
void complete(Task* task) {
  static_cast<Worker&>(*engine::current_thread).timer.leave_out();
  Joined* const joined = joined_in(task);
  task->words[0] = 0;
  end(joined, Joined::State::complete);
}
void drop(Task* task) {
  if (Joined* const joined = joined_in(task)) end(joined, Joined::State::dropped);
}
constexpr engine::TaskCode kCompleteCode{
    complete, drop, &typeid(AlgorithmIsComplete), false, false, 1, engine::kNoPointer};

Task* make_complete_task(engine::ThreadState& self, Joined& joined, TaskGroup& group) {
  auto* const task = static_cast<Task*>(self.heap.allocate<sizeof(engine::ExtendedTask)>());
  task->code = &kCompleteCode;
  task->handle = engine::handle::kExtended;
  task->words[0] = reinterpret_cast<std::uint64_t>(&joined);
  engine::TaskExtension* const extension =
      ::new (static_cast<void*>(engine::extension_of(task))) engine::TaskExtension{};
  extension->after = &group;
  extension->core = engine::kAnywhere;
  return task;
}

void drop_unrun(engine::ThreadState& self, Chain tasks) {
  while (!tasks.is_empty()) {
    Task* const task = tasks.take();
    if (TaskGroup* const group = engine::group_of(task)) Groups::drop_member(*group);
    destroy(task);
    free_outside(self, task);
  }
}

}  // namespace

/// A thread whose algorithm has just been part of another thread's run lets that end before it joins it once
/// more: threads that call one algorithm after the other would keep each other's calls from returning. It
/// waits while algorithms of others are part of the run, as long as its own was at most, so that these end
/// and wait, too; a run that goes on for so long without them has other work.
void Engine::let_run_end(Clock::duration patience) {
  constexpr std::chrono::microseconds kWithoutOthers{200};
  const Clock::time_point until = Clock::now() + patience;
  for (;;) {
    const bool has_others = turn.has_joined();
    turn.wait_for(kWithoutOthers);
    if (turn.taker() == RunTurn::Taker::none || Clock::now() >= until) return;
    if (!has_others && !turn.has_joined()) return;
  }
}

void Engine::run_group(TaskGroup& group, void (*start)(void*), void* work) {
  refuse_copy("an algorithm");
  if (is_run_by_caller()) throw TaskError(errors::run_in_destructor());
  if (is_left_behind()) throw TaskError(errors::beyond_the_run("an algorithm"));
  if (turn.try_take_for_algorithm()) {
    const GivesBack gives_back(*this);
    const RunClock clock;
    prepare_run();
    start(work);
    return run();
  }
  join_with_group(static_cast<OutsideThread&>(engine::attach_thread()), group, start, work);
}

/// The tasks that `start(work)` creates, and `last`, at once: if the run fails now, either none of them is
/// destroyed or all are, the last one as the last.
void Engine::hand_over(OutsideThread& self, Task* last, void (*start)(void*), void* work) {
  Chain all;
  try {
    const RunTurn::Joining joining(turn);
    const Keeping keeping(self, all);
    start(work);
    all.append(last);
    push_outside(all.first, all.last);
  } catch (...) {  // there is no first task
    self.heap.free<sizeof(engine::ExtendedTask)>(last);
    throw;
  }
}

void Engine::join_with_group(OutsideThread& self, TaskGroup& group, void (*start)(void*), void* work) {
  if (self.joined_run == current_run.load() && !is_held_open()) let_run_end(self.joined_for);
  const Clock::time_point began = Clock::now();
  Joined joined;
  const RunTurn::Joined counted(turn);
  hand_over(self, make_complete_task(self, joined, group), start, work);
  const auto is_done = [&joined] { return joined.state != Joined::State::waiting; };
  for (;;) {
    bool has_ended = false;
    turn.wait([&] { return has_ended = is_done(); });
    if (has_ended) break;
    if (!turn.try_take_for_algorithm()) {
      std::this_thread::yield();
      continue;
    }
    const GivesBack gives_back(*this);
    const RunClock clock;
    try {
      prepare_run();
    } catch (...) {
      drop_pending();
      throw;
    }
    run();
  }
  self.joined_run = current_run.load();
  self.joined_for = Clock::now() - began;
  if (joined.state == Joined::State::dropped)
    throw TaskError(errors::joined_run_failed() + ": " + joined.why);
}

/// While nothing runs: what threads outside have created, which is in the inbox; then messages; and what the
/// destructors of both, and listeners of dead letters, create.
void Engine::drop_pending() {
  runner_.store(std::this_thread::get_id());  // what destructors of the program ask for
  auto& self = static_cast<OutsideThread&>(engine::attach_thread());
  Chain created;
  const Dropping dropping(self, created);
  do {
    Chain dropped = take_all_from_outside(*this);
    dropped.append(std::exchange(created, {}));
    drop_unrun(self, dropped);
    if (created.is_empty()) clear_mailboxes(cells);
  } while (!created.is_empty());
}

void Engine::drop_between_runs() {
  refuse_copy("drop_pending()");
  take_turn_between_runs(RunTurn::Taker::run, errors::drop_in_run);
  const GivesBack gives_back(*this);
  drop_pending();
  end_in_next_run(cells);
}

}  // namespace rubato::inline v0::native
