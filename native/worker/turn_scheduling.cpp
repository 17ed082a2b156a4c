// SPDX-License-Identifier: MIT
#include "native/worker/turn_scheduling.hpp"

#include <cstdint>
#include <new>
#include <typeinfo>

#include "native/clock.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/turn_lag.hpp"
#include "native/worker/worker.hpp"

namespace rubato::inline v0::native {
namespace {

using engine::Task;
using engine::ThreadState;

void spend(std::uint64_t how_long) {
  const std::uint64_t begin = ticks();
  while (ticks() - begin < how_long) {
  }
}

/// In traces.
struct DearTurn {};
/// @tparam kIsListed  its sender has paid, too
template <bool kIsListed>
void run_dear_turn(Task* task) {
  const std::uint64_t half = the_shared().dear_ticks() / 2;
  spend(half);
  if (TurnLag* const lag = static_cast<Worker&>(*engine::current_thread).turn_lag.get())
    lag->note_dear(kIsListed ? half : 0);
  engine::run_actor_turn(task);
}
constexpr engine::TaskCode kDearTurnCode{run_dear_turn<true>, nullptr, &typeid(DearTurn), false, false, 1, 0};
/// In the miniqueue.
constexpr engine::TaskCode kDearNextTurnCode{
    run_dear_turn<false>, nullptr, &typeid(DearTurn), false, false, 1, 0};

/// An actor of normal priority and on any worker. A single load: the three members lie side by side, and
/// `to_clear` is 0 while tasks run.
bool is_plain(const Cell& cell) {
  return (static_cast<std::uint32_t>(cell.priority) | std::uint32_t{cell.to_clear} << 8 |
          std::uint32_t{cell.core} << 16) == std::uint32_t{Cell::kAnyCore} << 16;
}

/// In traces before its behavior is known.
struct OwnThreadTurn {};
constexpr engine::TaskCode kOwnThreadTurnCode{
    run_turn_of_own_thread, nullptr, &typeid(OwnThreadTurn), false, false, 1, 0};

void append(ThreadState& self, Task* task) {
  self.tasks.append(task);
  engine::count_created(self);
}

/// The watch has found the running task long, or one that ran before it. @returns whether the turn was
/// published since it would wait for the end of this task.
[[gnu::noinline]] bool go_out(Worker& worker, Task* task) {
  Shared& shared = worker.shared;
  const std::uint64_t long_task = worker.seen.long_task.load(std::memory_order_relaxed);
  if (long_task == worker.counts.finished.get() + 1) {
    if (!worker.sharing.publish_one(task)) return false;
    engine::count_created(worker);
    return true;
  }
  worker.lists_turns.store(shared.lists_turns(), std::memory_order_relaxed);
  if (long_task == 0) return false;
  worker.seen.long_task.store(0, std::memory_order_relaxed);
  // The turns of an actor are like each other: this one may be as long.
  shared.watch.note_turns();
  return false;
}

/// The turn that runs next. A dear one costs its sender nothing until it is displaced.
void put_next(Worker& worker, Task* task) {
  bool is_dear_displaced = false;
  if (task->code == &kDearTurnCode) task->code = &kDearNextTurnCode;
  {
    const Seizure<SeizureAtomics>::Inside inside(worker.seizure);
    if (!worker.committed.is_empty()) {
      Task* const displaced = worker.committed.take();
      is_dear_displaced = displaced->code == &kDearNextTurnCode;
      if (is_dear_displaced) displaced->code = &kDearTurnCode;
      worker.tasks.append(displaced);
    }
    worker.committed.append(task);
  }
  if (is_dear_displaced) spend(worker.shared.dear_ticks() / 2);
  engine::count_created(worker);
}

void submit_elsewhere(ThreadState& self, const Cell& cell, Task* task) {
  const bool is_placed = has_place(cell);
  if (is_placed && !task->is_extended()) {
    auto* const extended = static_cast<Task*>(self.heap.allocate<sizeof(engine::ExtendedTask)>());
    extended->code = task->code;
    extended->words[0] = task->words[0];
    self.heap.free<sizeof(Task)>(task);
    task = extended;
  }
  task->handle = std::uint64_t{static_cast<std::uint8_t>(cell.priority)} << engine::handle::kPriorityShift;
  if (is_placed) {
    task->handle |= engine::handle::kExtended;
    ::new (static_cast<void*>(engine::extension_of(task))) engine::TaskExtension{};
    engine::extension_of(task)->core = cell.core;
  }
  engine::submit(self, task);
}

}  // namespace

bool is_dear_turn(const Task* task) {
  return task->code == &kDearTurnCode || task->code == &kDearNextTurnCode;
}

void make_turn(Task& task, Cell& cell) {
  task.handle = 0;
  task.code = cell.type->turn;
  task.words[0] = reinterpret_cast<std::uint64_t>(&cell);
}

[[gnu::noinline]] void schedule_otherwise(ThreadState& self, const Cell& cell, Task* task, bool may_be_next) {
  const Shared& shared = the_shared();
  const bool is_elsewhere = self.running == nullptr || !self.is_worker || !is_plain(cell);
  const bool is_next = !is_elsewhere && may_be_next && shared.options().miniqueue && self.actor != 0;
  const bool is_dear = shared.dear_ticks() != 0 && cell.core != Cell::kOwnThread;
  if (cell.core == Cell::kOwnThread) task->code = &kOwnThreadTurnCode;
  if (is_dear) task->code = &kDearTurnCode;
  if (is_dear && !is_next) spend(shared.dear_ticks() / 2);
  if (is_elsewhere) return submit_elsewhere(self, cell, task);
  auto& worker = static_cast<Worker&>(self);
  if (may_be_next && go_out(worker, task)) {
    if (is_dear && is_next) spend(shared.dear_ticks() / 2);
    return;
  }
  if (is_next) return put_next(worker, task);
  append(self, task);
}

/// By a tail call of the sender, whose own path then needs no frame.
[[gnu::noinline]] void schedule(ThreadState& self, Cell& cell) {
  auto* const task = static_cast<Task*>(self.heap.allocate<sizeof(Task)>());
  make_turn(*task, cell);
  if (self.running == nullptr || !self.lists_turns.load(std::memory_order_relaxed) || !is_plain(cell))
      [[unlikely]]
    return schedule_otherwise(self, cell, task, true);
  append(self, task);
}

void schedule_behind(ThreadState& self, Cell& cell) {
  auto* const task = static_cast<Task*>(self.heap.allocate<sizeof(Task)>());
  make_turn(*task, cell);
  if (!self.lists_turns.load(std::memory_order_relaxed) || !is_plain(cell)) [[unlikely]]
    return schedule_otherwise(self, cell, task, false);
  append(self, task);
}

}  // namespace rubato::inline v0::native
