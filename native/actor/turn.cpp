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
#include "actors/steps.hpp"
#include "base/perturbation.hpp"
#include "native/actor/dropping.hpp"
#include "native/actor/lanes.hpp"
#include "native/actor/outside_blocks.hpp"
#include "native/actor/own_thread.hpp"
#include "native/actor/room.hpp"
#include "native/actor/stepping.hpp"
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

void drop_delivery(Task* task) { drop_message(task->words[0], node_in(task)); }
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
  /// The same of an actor with a thread of its own, which handles the messages.
  void run_on_own_thread() {
    {
      const Running running(worker_, cell_.self);
      if (worker_.timer.is_on()) worker_.timer.begin_turn(*cell_.type->turn, cell_.self);
      if (!has_ended()) {
        own_ = &own_thread_of(cell_);
        if (own_->message().node != nullptr) take_back();
        if (!is_over_ && engine::steps().is_on()) run_stepped();
      }
      while (!is_over_) step();
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
    if (engine::steps().is_on()) return run_stepped();
    is_timed_ = true;
    worker_.timer.begin_turn(*cell_.type->turn, cell_.self);
    do {
      step();
    } while (!is_over_);
  }
  /// A single message of the program, if this turn gets the step.
  void run_stepped() {
    if (has_ended()) return;
    if (!engine::steps().claim()) {
      is_over_ = true;
      return put_aside(cell_);
    }
    is_stepped_ = true;
    left_ = 1;
    while (!is_over_) step();
    if (is_stepped_) engine::steps().give_back();
  }
  void note_step(const engine::MessageType& type) {
    if (!is_stepped_ || !engine::is_of_program(type)) return;
    engine::steps().note(cell_.self, *cell_.type->type, *type.type);
    is_stepped_ = false;
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
    if (--worker_.until_turn_lag == 0) [[unlikely]]
      give_up();
    const auto [is_empty, released] = mailbox_.finish();
    if (released != nullptr) free_node(released);
    if (is_empty) return true;
    if (released != nullptr) return false;  // more came meanwhile
    if (has_fault(Fault::actor_half_linked)) return true;
    schedule_behind(worker_, cell_);  // a push is half-linked: let its thread go on
    return true;
  }

  /// The turn may wait for another message, or time what giving it up costs.
  [[gnu::noinline]] void give_up() {
    worker_.until_turn_lag = 1;
    if (left_ != 0) worker_.turn_lag->give_up(cell_, mailbox_);
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
    } else if (own_ != nullptr && !node->type->while_stopping) {
      note_step(*node->type);
      return send_away(node, is_mine);
    } else {
      const engine::MessageType& type = *node->type;
      note_step(type);
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
  /// To the actor's thread, which has the actor until the next turn.
  void send_away(MessageNode* node, bool is_mine) {
    try {
      own_->begin();
    } catch (...) {  // as if its handler had thrown that
      if (node->type->fail != nullptr) node->type->fail(node, AskError::failed);
      engine::destroy_payload(node);
      return fail(node, is_mine);
    }
    OwnThread::Message& message = own_->message();
    message.node = node;
    message.is_mine = is_mine;
    message.hold = native::hold();
    the_shared().own_threads.begin_message();
    cell_.extras->is_away = true;
    is_over_ = true;
    own_->hand_over();
  }
  /// Takes what the thread has made of its message.
  void take_back() {
    OwnThread::Message message = take_message(cell_);
    const engine::MessageType& type = *message.node->type;
    const double microseconds = static_cast<double>(message.took) / ticks_per_microsecond();
    if (microseconds >= policy::kNotedHandlerMicroseconds)
      engine::note_long_handler(cell_, static_cast<std::uint64_t>(microseconds * 1000), *type.type);
    handled_ += message.was_handled ? 1 : 0;
    release(message);
    if (message.report == nullptr && message.error == nullptr) return;
    worker_.counts.messages.add(std::exchange(handled_, 0));
    is_over_ = true;
    if (message.error != nullptr) std::rethrow_exception(message.error);
    engine::post(cell_.parent, message.report);
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
  bool is_stepped_ = false;   // it has the step, and has not used it
  bool is_over_ = false;      // the cell waits for a decision, or has got it already: it must not be touched
  OwnThread* own_ = nullptr;  // that handles the messages
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

void push_refused(std::uint64_t to, MessageNode* node) {
  engine::dead_letter(to, node, DeadLetter::Cause::full);
  engine::free_node(node);
}
[[gnu::noinline]] bool admit_to_bound(const ThreadState& self, Cell& cell, std::uint64_t to,
                                      MessageNode* node) {
  if (engine::admit(cell, to, node, self.actor != 0 ? engine::cell_of(self.actor) : nullptr)) return true;
  push_refused(to, node);
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
/// makes a task, the turn. An actor on a thread of its own is muted by a bound like every actor; for other
/// threads a worker must do it (false), since they wait. It is the same for all messages that an actor gets
/// from a sender, so that these stay in order (A8).
bool push_directly(OutsideThread& self, std::uint64_t to, MessageNode* node) {
  if (the_shared().is_stranger()) return false;
  Cell& cell = *engine::cell_of(to);
  bool is_refused = false;
  {
    const Reached::Scope scope(the_shared().reached, self.place, &cell);
    const std::uint64_t life = cell.life().load(std::memory_order_seq_cst);
    const bool has_bound = (life & Cell::kHasBound) != 0;
    if (((life ^ to) & Cell::kGenerationMask) != 0 || (has_bound && self.actor == 0)) return false;
    // Before the message is pushed: without memory there is no message without a turn.
    Task* const task = allocate_turn_for(self, cell, node);
    note_kill(to, node);
    is_refused = has_bound && !engine::admit(cell, to, node, engine::cell_of(self.actor));
    perturb();
    if (!is_refused && mailbox_of(cell).push(node, node)) {
      make_turn(*task, cell);
      if (has_place(cell)) task->handle = engine::handle::kExtended;
      schedule_otherwise(self, cell, task, false);
      return true;
    }
    free_turn_of(self, cell, task);
  }
  if (is_refused) push_refused(to, node);
  return true;
}

[[gnu::noinline]] bool push_from_outside(std::uint64_t to, MessageNode* node,
                                         std::chrono::nanoseconds patience) {
  ThreadState& self = engine::this_thread();
  if (to == 0) push_dead(to, node);
  if (!self.is_worker && static_cast<OutsideThread&>(self).drops_messages) {
    note_kill(to, node);
    drop_message(to, node);
    return true;
  }
  if (!self.is_worker && the_shared().is_stranger()) refuse_message(node);
  if (!self.is_worker && push_directly(static_cast<OutsideThread&>(self), to, node)) return true;
  Task* const task = allocate_task_for<sizeof(Task)>(self, node);
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

void run_turn_of_own_thread(Task* task) {
  Turn(static_cast<Worker&>(*engine::current_thread), *cell_in(task)).run_on_own_thread();
}
bool is_delivery(const Task* task) { return task->code == &kDeliveryCode; }
void deliver(const Task* task) {
  MessageNode* const node = node_in(task);
  note_kill(task->words[0], node);
  push(*engine::current_thread, task->words[0], node);
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
