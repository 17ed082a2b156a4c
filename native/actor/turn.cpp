// An actor's turn, and how messages come to it. A8, A25 to A29.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "actors/bounds.hpp"
#include "actors/children.hpp"
#include "actors/lifecycle.hpp"
#include "actors/living.hpp"
#include "base/perturbation.hpp"
#include "native/actor/lanes.hpp"
#include "native/clock.hpp"
#include "native/fault.hpp"
#include "native/memory/cells.hpp"
#include "native/policy.hpp"
#include "native/worker/outside_thread.hpp"
#include "native/worker/shared.hpp"
#include "native/worker/turn_lag.hpp"
#include "native/worker/turn_scheduling.hpp"
#include "native/worker/worker.hpp"
#include "rubato/actor/actor.hpp"

namespace rubato::inline v0::native {
namespace {

using engine::ThreadState;

/// Whether an actor's code runs.
class Running {
 public:
  Running(ThreadState& thread, std::uint64_t actor) : thread_(thread) { thread.actor = actor; }
  ~Running() { thread_.actor = 0; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  ThreadState& thread_;
};

MessageNode* node_in(const Task* task) { return reinterpret_cast<MessageNode*>(task->words[1]); }

/// For the names in traces and sentences. A turn has that of its behavior (BehaviorType::turn).
struct Message {};

void drop_delivery(Task* task) {
  MessageNode* const node = node_in(task);
  if (node->is_admitted()) engine::give_back_place(task->words[0]);
  engine::dead_letter(task->words[0], node, DeadLetter::Cause::run_failed);
  engine::free_node(node);
}
constexpr engine::TaskCode kDeliveryCode{
    [](Task* task) { deliver(task); }, drop_delivery, &typeid(Message), false, false, 2, engine::kNoPointer};

void destroy_cell(engine::ResourceHeader* header) {
  auto& cell = static_cast<Cell&>(*header);
  Shared& shared = the_shared();
  // Messages that were sent before it stopped make a turn yet, which drops them. A thread outside that
  // reaches the cell may be about to push one: the look at the mailbox comes after that at the thread.
  const bool is_reached = shared.reached.is_reached(&cell) && !has_fault(Fault::actor_reached_unseen);
  if ((is_reached || !mailbox_of(cell).is_empty()) && !has_fault(Fault::actor_cell_at_once))
    return shared.retire_later(header);
  const unsigned size_class = CellHeap::class_of(cell.bytes);
  if (size_class == 0) ::operator delete(cell.behavior, std::align_val_t{64});
  // Its last generation: a handle of before would mean the next actor.
  const std::uint64_t life = cell.life().load(std::memory_order_relaxed);
  cell.life().store(life | Cell::kIsUnborn, std::memory_order_relaxed);
  if ((life & Cell::kGenerationMask) == Cell::kGenerationMask) return;
  ThreadState* const self = engine::current_thread;
  if (self != nullptr && self->is_worker) return static_cast<Worker*>(self)->cells.give(size_class, &cell);
  shared.cells.give(size_class, {&cell}, 0);
}

void retire_cell(Cell& cell) {
  if (has_fault(Fault::actor_cell_at_once)) return destroy_cell(&cell);
  cell.next_retired = nullptr;
  cell.destroy = destroy_cell;
  the_shared().retire(&cell);
}

[[gnu::noinline]] void end(ThreadState& self, Cell& cell) {
  engine::end_actor(cell, engine::reason_of_end(cell));
  cell.type = &engine::no_behavior();  // it may have a turn yet
  cell.flags = Cell::kEnded;
  if (self.is_worker) static_cast<Worker&>(self).counts.actors_stopped.add();
  retire_cell(cell);
}

/// Drops the messages that an actor's turn has taken from its mailbox and not handled.
void drop_lanes(Cell& cell, DeadLetter::Cause cause) {
  const engine::ActorScope nobody(0);
  auto& lanes = cell.extras->lanes;
  for (engine::NodeList* lane : {&lanes.high, &lanes.normal}) {
    while (!lane->is_empty()) {
      MessageNode* const node = lane->take();
      engine::dead_letter(cell.self, node, cause);
      engine::free_node(node);
    }
  }
  if (MessageNode* const last = std::exchange(lanes.last, nullptr)) {
    engine::dead_letter(cell.self, last, cause);
    last->type = &engine::message_type<engine::KillMessage>;  // nothing is left of it; finish() releases it
  }
}

/// Prefetch for backlogs, after a turn that has ended with messages left. Old messages are cold linked lists,
/// one cache miss each, and other actors probably have a backlog too. The lists of the next few turns are
/// therefore walked side by side, so that their misses overlap. These turns are in the worker's ring, so no
/// other worker takes from the mailboxes.
[[gnu::noinline]] void fetch_backlog(const Ring& ring) {
  constexpr unsigned kLists = 16;
  static thread_local unsigned turns_fetched = 0;
  if (turns_fetched != 0) {
    --turns_fetched;
    return;
  }
  const MessageNode* lists[kLists];
  unsigned left[kLists];
  unsigned count = 0;
  for (unsigned i = 0; i < ring.size() && count < kLists; ++i) {
    const Task* const task = ring.at(i).task();
    if (task->code->run != engine::run_actor_turn) continue;
    Cell& cell = *cell_in(task);
    lists[count] = mailbox_of(cell).head();
    left[count] = cell.turn_messages;
    if (lists[count] != nullptr) ++count;
  }
  turns_fetched = count;
  while (count != 0) {
    for (unsigned i = 0; i < count;) {
      const MessageNode* const next = lists[i]->next.load(std::memory_order_acquire);
      if (next == nullptr || --left[i] == 0) {
        --count;
        lists[i] = lists[count];
        left[i] = left[count];
      } else {
        lists[i++] = next;
      }
    }
  }
}

/// A turn: up to so many messages, then others have theirs.
class Turn {
 public:
  Turn(Worker& worker, Cell& cell)
      : worker_(worker), cell_(cell), mailbox_(mailbox_of(cell)), left_(cell.turn_messages) {}

  void run() {
    {
      const Running running(worker_, cell_.self);
      if (worker_.timer.is_on()) [[unlikely]]
        run_timed();
      while (!is_over_) run_plainly();
    }
    worker_.counts.messages.add(handled_);
  }

 private:
  /// Message by message, as long as nothing else is to be looked after: what it uses stays in registers.
  [[gnu::always_inline]] void run_plainly() {
    unsigned left = left_;
    std::uint64_t handled = 0;
    MessageNode* node = nullptr;
    bool is_mine = false, is_drained = false;
    try {
      for (; !needs_attention(cell_); --left) {
        if (left == 0 && !has_fault(Fault::actor_without_budget)) break;
        const Mailbox::Taken taken = mailbox_.take();
        node = taken.node;
        if (node == nullptr) {
          is_drained = true;
          break;
        }
        is_mine = !taken.is_last;
        if (is_mine) __builtin_prefetch(mailbox_.head());
        if (engine::handle_message(cell_, node)) [[likely]]
          ++handled;
        if (is_mine) {
          free_node(node);
          continue;
        }
        if (has_fault(Fault::actor_last_freed)) free_node(node);
        --left;  // none is linked behind the last one
        is_drained = !needs_attention(cell_);
        break;
      }
    } catch (...) {
      left_ = left - 1;
      handled_ += handled;
      return fail(node, is_mine);
    }
    left_ = left;
    handled_ += handled;
    if (is_drained) {
      is_over_ = finish();
    } else {
      step();
    }
  }
  /// Handlers are timed with their task.
  [[gnu::noinline]] void run_timed() {
    is_timed_ = true;
    worker_.timer.begin_turn(*cell_.type->turn, cell_.self);
    do {
      step();
    } while (!is_over_);
  }
  /// After a handler.
  [[gnu::noinline]] void note_handler(const engine::MessageType& type, std::uint64_t began) {
    const std::uint64_t took = ticks() - began;
    worker_.timer.note_handler(*type.type, took);
    const double microseconds = static_cast<double>(took) / ticks_per_microsecond();
    if (microseconds >= policy::kNotedHandlerMicroseconds)
      engine::note_long_handler(cell_, static_cast<std::uint64_t>(microseconds * 1000), *type.type);
  }
  bool has_ended() const { return (cell_.flags & Cell::kEnded) != 0; }
  static bool needs_attention(const Cell& cell) {
    return (cell.flags | cell.is_killed.load(std::memory_order_relaxed)) != 0;
  }
  [[gnu::always_inline]] void free_node(MessageNode* node) {
    if (node->is_large()) return worker_.heap.free<128>(node);
    worker_.heap.free<64>(node);
  }

  /// After it the turn may be over (is_over_): the cell may be another worker's then.
  [[gnu::noinline]] void step() {
    if (needs_attention(cell_) && attend()) return;
    if (left_ == 0 && !has_fault(Fault::actor_without_budget)) {
      schedule_behind(worker_, cell_);
      is_over_ = true;
      const Seizure<SeizureAtomics>::Inside inside(worker_.seizure);  // the ring stays as it is
      fetch_backlog(worker_.ring);
      return;
    }
    const Mailbox::Taken taken = mailbox_.take();
    if (taken.node == nullptr) {
      is_over_ = finish();
    } else {
      handle(taken.node, !taken.is_last);
    }
  }

  /// Rare steps. True: that was a step.
  [[gnu::noinline]] bool attend() {
    if (has_ended()) return false;
    const bool is_killed = cell_.is_killed.load(std::memory_order_relaxed) != 0;
    if (is_killed || ((cell_.flags & Cell::kStopping) != 0 && !has_fault(Fault::actor_stop_ignored))) {
      if ((cell_.flags & Cell::kUrgent) != 0) drop_lanes(cell_, engine::cause_of_death(cell_));
      if (!engine::may_end(cell_)) return step_while_children_stop();
      end(worker_, cell_);
      return true;
    }
    if ((cell_.flags & Cell::kMuted) != 0) {
      worker_.counts.messages.add(std::exchange(handled_, 0));
      is_over_ = engine::wait_until_room(cell_) || has_fault(Fault::actor_muted_for_ever);
      return true;
    }
    if (left_ == 0) return false;
    if ((cell_.flags & Cell::kUnstashed) != 0) {
      engine::NodeList& unstashed = cell_.extras->unstashed;
      MessageNode* const node = unstashed.take();
      engine::note_stashed(-1);
      if (unstashed.is_empty()) cell_.flags &= static_cast<std::uint8_t>(~Cell::kUnstashed);
      handle(node, true, false);
      return true;
    }
    return (cell_.flags & Cell::kUrgent) != 0 && step_by_lanes();
  }

  /// False: the turn is over.
  bool step_while_children_stop() {
    if (left_ == 0) return false;
    const Mailbox::Taken taken = mailbox_.take();
    if (taken.node == nullptr) {
      is_over_ = finish();
    } else if (taken.node->type->while_stopping) {
      handle(taken.node, !taken.is_last);
    } else {
      drop(taken.node);
      if (!taken.is_last) engine::free_node(taken.node);
    }
    return true;
  }

  /// False: there is none.
  bool step_by_lanes() {
    auto& lanes = cell_.extras->lanes;
    sort_into_lanes(mailbox_, lanes, [this](MessageNode* node) { free_node(node); });
    const FromLanes<MessageNode> taken = take_from_lanes(lanes);
    if (taken.node == nullptr) return false;
    handle(taken.node, taken.is_mine);
    return true;
  }

  /// True: the actor is idle, or has another turn.
  bool finish() {
    if (worker_.turn_lag != nullptr && left_ != 0) [[unlikely]]
      worker_.turn_lag->give_up(cell_, mailbox_);
    const auto [is_empty, released] = mailbox_.finish();
    if (released != nullptr) free_node(released);
    if (is_empty) return true;
    if (released != nullptr) return false;  // more came meanwhile
    if (has_fault(Fault::actor_half_linked)) return true;
    schedule_behind(worker_, cell_);  // a push is half-linked: let its thread go on
    return true;
  }

  /// `is_mine`: not the last of the queue, which is kept until finish(). `is_counted`: it came through the
  /// mailbox.
  void handle(MessageNode* node, bool is_mine, bool is_counted = true) {
    if (has_ended()) {
      drop(node);
      if (is_mine) engine::free_node(node);
      return;
    }
    --left_;
    if ((cell_.flags & Cell::kBounded) != 0 && is_counted && !engine::take_counted(cell_, node))
        [[unlikely]] {
      engine::dead_letter(cell_.self, node, DeadLetter::Cause::full);
    } else {
      const engine::MessageType& type = *node->type;
      const std::uint64_t began = is_timed_ ? ticks() : 0;
      try {
        handled_ += engine::handle_message(cell_, node) ? 1 : 0;
      } catch (...) {
        if (is_timed_) note_handler(type, began);
        return fail(node, is_mine);
      }
      if (is_timed_) note_handler(type, began);
    }
    if (is_mine || has_fault(Fault::actor_last_freed)) engine::free_node(node);
  }
  void drop(MessageNode* node) {
    --left_;
    const engine::ActorScope nobody(0);
    engine::dead_letter(cell_.self, node, engine::cause_of_death(cell_));
  }
  /// The message is dropped.
  [[gnu::noinline, gnu::cold]] void fail(MessageNode* node, bool is_mine) {
    const engine::ActorScope nobody(0);
    const engine::MessageType& type = *node->type;
    if (is_mine) {
      engine::free_node(node);
    } else {
      node->type = &engine::message_type<engine::KillMessage>;  // nothing is left of it
    }
    worker_.counts.messages.add(std::exchange(handled_, 0) + (engine::is_of_program(type) ? 1 : 0));
    MessageNode* const report = engine::on_exception(cell_, *type.type);
    is_over_ = true;
    engine::post(cell_.parent, report);
  }

  Worker& worker_;
  Cell& cell_;
  Mailbox& mailbox_;
  unsigned left_;
  std::uint64_t handled_ = 0;
  bool is_timed_ = false;
  bool is_over_ = false;  // the cell waits for a decision, or has got it already: it must not be touched
};

[[gnu::noinline]] void push_dead(std::uint64_t to, MessageNode* node) {
  if (to == 0) {
    engine::destroy_payload(node);
    engine::free_node(node);
    engine::throw_misuse("a message was sent to an empty actor handle");
  }
  engine::dead_letter(to, node, DeadLetter::Cause::stopped);
  engine::free_node(node);
}

[[gnu::noinline]] bool admit_to_bound(const ThreadState& self, Cell& cell, std::uint64_t to,
                                      MessageNode* node) {
  if (engine::admit(cell, to, node, self.actor != 0 ? engine::cell_of(self.actor) : nullptr)) return true;
  engine::dead_letter(to, node, DeadLetter::Cause::full);
  engine::free_node(node);
  return false;
}

[[gnu::always_inline]] inline void push_admitted(ThreadState& self, Cell& cell, MessageNode* node) {
  perturb();
  if (mailbox_of(cell).push(node, node) || has_fault(Fault::actor_two_turns)) return schedule(self, cell);
}
[[gnu::noinline]] void push_bounded(ThreadState& self, std::uint64_t to, MessageNode* node) {
  Cell& cell = *engine::cell_of(to);
  if (admit_to_bound(self, cell, to, node)) push_admitted(self, cell, node);
}
/// By a worker, within its epoch: the cell is not used again meanwhile. Whatever is rare is a tail call.
[[gnu::always_inline]] inline void push(ThreadState& self, std::uint64_t to, MessageNode* node) {
  if (to == 0) [[unlikely]]
    return push_dead(to, node);
  Cell& cell = *engine::cell_of(to);
  const std::uint64_t life = cell.life().load(std::memory_order_acquire);
  if (((life ^ to) & Cell::kGenerationMask) != 0 && !has_fault(Fault::actor_any_generation)) [[unlikely]]
    return push_dead(to, node);
  if ((life & Cell::kHasBound) != 0) [[unlikely]]
    return push_bounded(self, to, node);
  push_admitted(self, cell, node);
}

/// A kill message of the runtime ends the actor before the next message, not after all that wait.
void note_kill(std::uint64_t to, const MessageNode* node) {
  if (node->type == &engine::message_type<engine::KillMessage> && engine::is_alive(to))
    engine::cell_of(to)->is_killed.store(1, std::memory_order_relaxed);
}

/// By a thread that is no worker, like a worker's push: the message goes to the mailbox, and only the first
/// makes a task, the turn. False: a worker must do it. It is the same for all messages that an actor gets in
/// its life, so that those of a sender stay in order (A8).
bool push_directly(OutsideThread& self, std::uint64_t to, MessageNode* node) {
  if (the_shared().is_stranger()) return false;
  Cell& cell = *engine::cell_of(to);
  // Beforehand: if there is no memory, there is no message without a turn.
  auto* const task = static_cast<Task*>(self.heap.allocate<sizeof(Task)>());
  const Reached::Scope scope(the_shared().reached, self.place, &cell);
  const std::uint64_t life = cell.life().load(std::memory_order_seq_cst);
  const bool is_plain = ((life ^ to) & Cell::kGenerationMask) == 0 && (life & Cell::kHasBound) == 0;
  if (is_plain) {
    note_kill(to, node);
    perturb();
    if (mailbox_of(cell).push(node, node)) {
      make_turn(*task, cell);
      schedule_otherwise(self, cell, task, false);
      return true;
    }
  }
  self.heap.free<sizeof(Task)>(task);
  return is_plain;
}

using Clock = std::chrono::steady_clock;

/// Waits for a full mailbox: until there is room, the run has ended, or that time has come.
void wait_for_room(std::uint64_t to, Clock::time_point until) {
  Cell& cell = *engine::cell_of(to);  // its bound stays the cell's
  engine::Bounded& bounded = *engine::bounded_of(cell);
  WaitsForRoom waiter;
  engine::WaitsForRun run{[](void* w) { static_cast<WaitsForRoom*>(w)->interrupt(); }, &waiter};
  Shared& shared = the_shared();
  const auto may_wait = [&shared] { return shared.is_running(); };
  if (!shared.waiting_threads.begin(run, may_wait, [&shared] { return shared.run_time(); })) return;
  if (bounded.wait_outside(waiter.word(), [to] { return engine::is_alive(to); }) &&
      !waiter.wait_until(until) && !bounded.stop_waiting(waiter.word()))
    waiter.wait_for_resume();
  shared.waiting_threads.end(run);
}

/// Counts a message of a thread outside when it is sent, and waits while its mailbox is full and a run can
/// make room. False: not within `patience`.
bool count_from_outside(std::uint64_t to, MessageNode* node, std::chrono::nanoseconds patience) {
  if (!node->type->takes_place || node->is_admitted() || node->is_high()) return true;
  std::optional<Clock::time_point> until;
  for (;;) {
    auto place = engine::Place::not_counted;
    engine::with_living(to, [&place](Cell& cell) { place = engine::take_place_or_wait(cell); });
    if (place == engine::Place::taken) node->word |= MessageNode::kAdmitted;
    // If nothing runs, this thread may be the one that is to run.
    if (place != engine::Place::full || !the_shared().is_running() || the_shared().is_stranger()) return true;
    const Clock::time_point now = Clock::now();
    if (!until) {
      const bool is_forever = patience >= Clock::time_point::max() - now;
      until = is_forever ? Clock::time_point::max() : now + std::max(patience, std::chrono::nanoseconds(0));
    }
    if (now >= *until) return false;
    wait_for_room(to, *until);
  }
}

[[gnu::noinline]] bool push_from_outside(std::uint64_t to, MessageNode* node,
                                         std::chrono::nanoseconds patience) {
  ThreadState& self = engine::this_thread();
  if (to == 0) push_dead(to, node);
  if (!self.is_worker && push_directly(static_cast<OutsideThread&>(self), to, node)) return true;
  auto* const task = static_cast<Task*>(self.heap.allocate<sizeof(Task)>());
  if (!self.is_worker && !count_from_outside(to, node, patience)) {
    self.heap.free<sizeof(Task)>(task);
    return false;
  }
  task->handle = 0;
  task->code = &kDeliveryCode;
  task->words[0] = to;
  task->words[1] = reinterpret_cast<std::uint64_t>(node);
  engine::submit(self, task);
  return true;
}

}  // namespace

bool is_delivery(const Task* task) { return task->code == &kDeliveryCode; }
void deliver(const Task* task) {
  MessageNode* const node = node_in(task);
  note_kill(task->words[0], node);
  push(*engine::current_thread, task->words[0], node);
}

namespace {

constexpr std::uint8_t kToClear = 1, kHasMessages = 2;

}  // namespace

void mark_mailboxes(CellHeap& cells) {
  cells.for_each([](Mailbox& mailbox) {
    if ((mailbox.life().load(std::memory_order_acquire) & Cell::kIsUnborn) != 0) return;
    mailbox.to_clear = kToClear | (mailbox.is_empty() ? 0 : kHasMessages);
  });
}

void clear_mailboxes(CellHeap& cells) {
  cells.for_each([](Mailbox& mailbox) {
    if ((mailbox.life().load(std::memory_order_acquire) & Cell::kIsUnborn) != 0) return;
    const std::uint8_t to_clear = std::exchange(mailbox.to_clear, std::uint8_t{0});
    if (to_clear == 0) return;  // it has begun since, and its turn, if it has one, is there
    if (mailbox.extras != nullptr) {
      mailbox.flags &=
          static_cast<std::uint8_t>(~(Cell::kUnstashed | Cell::kWaiting | Cell::kMuted | Cell::kEnding));
      engine::NodeList& unstashed = mailbox.extras->unstashed;
      while (!unstashed.is_empty()) {
        MessageNode* const node = unstashed.take();
        engine::note_stashed(-1);
        engine::dead_letter(mailbox.self, node, DeadLetter::Cause::run_failed);
        engine::free_node(node);
      }
      drop_lanes(mailbox, DeadLetter::Cause::run_failed);
    }
    if (engine::Bounded* const bounded = engine::bounded_of(mailbox)) engine::clear_bound(*bounded);
    if ((to_clear & kHasMessages) == 0) return;
    for (bool is_empty = false; !is_empty;) {  // then it is of the thread outside that pushes next
      const Mailbox::Taken taken = mailbox.take();
      if (taken.node == nullptr) {
        const Mailbox::Finished finished = mailbox.finish();
        if (finished.released != nullptr) engine::free_node(finished.released);
        is_empty = finished.is_empty;
        continue;
      }
      engine::dead_letter(mailbox.self, taken.node, DeadLetter::Cause::run_failed);
      if (taken.is_last) {
        taken.node->type = &engine::message_type<engine::KillMessage>;
      } else {
        engine::free_node(taken.node);
      }
    }
  });
}

}  // namespace rubato::inline v0::native

namespace rubato::inline v0::engine {

bool post_within(std::uint64_t to, MessageNode* node, std::chrono::nanoseconds patience) {
  ThreadState* const self = current_thread;
  if (self == nullptr || !self->is_worker || static_cast<native::Worker*>(self)->is_validating())
    return native::push_from_outside(to, node, patience);
  native::push(*self, to, node);
  return true;
}
void post(std::uint64_t to, MessageNode* node) {
  ThreadState* const self = current_thread;
  if (self == nullptr || !self->is_worker || static_cast<native::Worker*>(self)->is_validating())
      [[unlikely]] {
    static_cast<void>(native::push_from_outside(to, node, std::chrono::nanoseconds::max()));
    return;
  }
  native::push(*self, to, node);
}

void kill(std::uint64_t handle) {
  ThreadState& self = this_thread();
  const bool is_here = self.is_worker && !static_cast<native::Worker&>(self).is_validating();
  if (is_here && is_alive(handle)) cell_of(handle)->is_killed.store(1, std::memory_order_relaxed);
  post(handle, make_node<KillMessage>());
}

void run_actor_turn(Task* task) {
  native::Turn(static_cast<native::Worker&>(*current_thread), *native::cell_in(task)).run();
}

void resume_actor(Cell& cell) { native::schedule(this_thread(), cell); }
void resume_thread(std::uint64_t waiter) { native::WaitsForRoom::resume(waiter); }

bool with_living(std::uint64_t actor, const std::function<void(Cell&)>& use) {
  if (actor == 0) return false;
  ThreadState& self = this_thread();
  Cell& cell = *cell_of(actor);
  std::optional<native::Reached::Scope> scope;
  if (!self.is_worker)
    scope.emplace(native::the_shared().reached, static_cast<native::OutsideThread&>(self).place, &cell);
  if (!is_alive(actor)) return false;
  use(cell);
  return true;
}

}  // namespace rubato::inline v0::engine
