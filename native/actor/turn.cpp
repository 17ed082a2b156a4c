// An actor's turn, and how messages come to it. Rules A8, A25 to A29 of the actors.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <cstdint>
#include <exception>
#include <utility>

#include "actors/lifecycle.hpp"
#include "native/actor/actors.hpp"
#include "native/engine.hpp"
#include "native/worker/clock.hpp"
#include "rubato/actor/actor.hpp"

namespace rubato::runtime {
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

Cell* cell_in(const Task* task) { return reinterpret_cast<Cell*>(task->words[0]); }
MessageNode* node_in(const Task* task) { return reinterpret_cast<MessageNode*>(task->words[1]); }

void run_turn(Task* task);

/// For the names in traces and sentences.
struct ActorTurn {};
struct Message {};
constexpr engine::TaskCode kTurnCode{run_turn, nullptr, &typeid(ActorTurn), false, false, 1, 0};

void drop_delivery(Task* task) {
  MessageNode* const node = node_in(task);
  engine::dead_letter(task->words[0], node, DeadLetter::Cause::run_failed);
  engine::free_node(node);
}
constexpr engine::TaskCode kDeliveryCode{
    [](Task* task) { deliver(task); }, drop_delivery, &typeid(Message), false, false, 2, engine::kNoPointer};

/// An actor that has something to do, which nobody else sees to.
[[gnu::noinline]] void schedule_elsewhere(ThreadState& self, const Cell& cell, Task* task) {
  task->handle = std::uint64_t{static_cast<std::uint8_t>(cell.priority)} << engine::handle::kPriorityShift;
  if (cell.core != Cell::kAnyCore) {
    auto* const extended = static_cast<Task*>(self.heap.allocate<sizeof(engine::ExtendedTask)>());
    extended->code = task->code;
    extended->handle = task->handle | engine::handle::kExtended;
    extended->words[0] = task->words[0];
    ::new (static_cast<void*>(engine::extension_of(extended))) engine::TaskExtension{};
    engine::extension_of(extended)->core = cell.core;
    engine::extension_of(extended)->numa = engine::kAnywhere;
    self.heap.free<sizeof(Task)>(task);
    task = extended;
  }
  engine::submit(self, task);
}

inline void schedule(ThreadState& self, Cell& cell) {
  auto* const task = static_cast<Task*>(self.heap.allocate<sizeof(Task)>());
  task->handle = 0;
  task->code = &kTurnCode;
  task->words[0] = reinterpret_cast<std::uint64_t>(&cell);
  if (self.running == nullptr || !self.is_worker || cell.priority != Priority::normal ||
      cell.core != Cell::kAnyCore) [[unlikely]]
    return schedule_elsewhere(self, cell, task);
  self.tasks.append(task);
  engine::count_created(self);
}

void destroy_cell(engine::ResourceHeader* header) {
  auto& cell = static_cast<Cell&>(*header);
  Engine& engine = the_engine();
  // Messages that were sent before it stopped make a turn yet, which drops them.
  if (!mailbox_of(cell).is_empty()) return engine.retire(header);
  const unsigned size_class = CellHeap::class_of(cell.bytes);
  if (size_class == 0) ::operator delete(cell.behavior, std::align_val_t{64});
  // Its last generation: a handle of before would mean the next actor.
  if ((cell.life().load(std::memory_order_relaxed) & Cell::kGenerationMask) == Cell::kGenerationMask) return;
  ThreadState* const self = engine::current_thread;
  if (self != nullptr && self->is_worker) return static_cast<Worker*>(self)->cells.give(size_class, &cell);
  engine.cells.give(size_class, {&cell}, 0);
}

void retire_cell(Cell& cell) {
  cell.next_retired = nullptr;
  cell.destroy = destroy_cell;
  the_engine().retire(&cell);
}

[[gnu::noinline]] void end(ThreadState& self, Cell& cell, bool is_killed) {
  engine::end_actor(cell, is_killed ? Reason::killed : Reason::stopped);
  if (self.is_worker) static_cast<Worker&>(self).counts.actors_stopped.add();
  retire_cell(cell);
}

/// A turn: up to so many messages, then others have theirs.
class Turn {
 public:
  Turn(Worker& worker, Cell& cell)
      : worker_(worker), cell_(cell), mailbox_(mailbox_of(cell)), left_(cell.turn_messages) {}

  void run() {
    while (step()) {
    }
    worker_.counts.messages.add(handled_);
  }

 private:
  /// False: the turn is over, and the cell may be another worker's.
  bool step() {
    if ((cell_.flags | cell_.is_killed.load(std::memory_order_relaxed)) != 0) [[unlikely]] {
      if (!attend()) return !is_over_;
    }
    if (left_ == 0) {
      schedule(worker_, cell_);
      return false;
    }
    const Mailbox::Taken taken = mailbox_.take();
    if (taken.node == nullptr) return !finish();
    handle(taken.node, !taken.is_last);
    return !is_over_;
  }
  /// What is rare. False: begin again.
  bool attend() {
    if (cell_.type == nullptr) return true;
    const bool is_killed = cell_.is_killed.load(std::memory_order_relaxed) != 0;
    if (is_killed || (cell_.flags & Cell::kStopping) != 0) {
      end(worker_, cell_, is_killed);
      return false;
    }
    if (left_ == 0) return true;
    engine::NodeList& unstashed = cell_.extras->unstashed;
    MessageNode* const node = unstashed.take();
    if (unstashed.is_empty()) cell_.flags &= static_cast<std::uint8_t>(~Cell::kUnstashed);
    handle(node, true);
    return false;
  }
  /// True: the actor is idle, or has another turn.
  bool finish() {
    const auto [is_empty, released] = mailbox_.finish();
    if (released != nullptr) engine::free_node(released);
    if (is_empty) return true;
    if (released != nullptr) return false;  // more came meanwhile
    schedule(worker_, cell_);               // a push is half-linked: let its thread go on
    return true;
  }
  /// `is_mine`: not the last of the queue, which is kept until finish().
  [[gnu::always_inline]] void handle(MessageNode* node, bool is_mine) {
    --left_;
    if (cell_.type != nullptr) [[likely]] {
      ++handled_;
      const engine::MessageType* const type = node->type;
      try {
        const Running running(worker_, cell_.self);
        engine::handle_message(cell_, node);
      } catch (...) {
        fail(node, *type, is_mine);
        return;
      }
    } else {
      engine::dead_letter(cell_.self, node, engine::cause_of_death(cell_));
    }
    if (is_mine) engine::free_node(node);
  }
  /// The message is dropped.
  [[gnu::noinline, gnu::cold]] void fail(MessageNode* node, const engine::MessageType& type, bool is_mine) {
    if (is_mine) {
      engine::free_node(node);
    } else {
      node->type = &engine::message_type<engine::KillMessage>;  // nothing is left of it
    }
    worker_.counts.messages.add(std::exchange(handled_, 0));
    MessageNode* const report = engine::on_exception(cell_, *type.type);
    is_over_ = true;
    engine::post(cell_.parent, report);
  }

  Worker& worker_;
  Cell& cell_;
  Mailbox& mailbox_;
  unsigned left_;
  std::uint64_t handled_ = 0;
  bool is_over_ = false;  // the cell waits for a decision, or has got it already: it must not be touched
};

void run_turn(Task* task) { Turn(static_cast<Worker&>(*engine::current_thread), *cell_in(task)).run(); }

[[gnu::noinline]] void push_dead(std::uint64_t to, MessageNode* node) {
  if (to == 0) {
    engine::destroy_payload(node);
    engine::free_node(node);
    engine::throw_misuse("a message was sent to an empty actor handle");
  }
  engine::dead_letter(to, node, DeadLetter::Cause::stopped);
  engine::free_node(node);
}

/// By a worker, within its epoch: the cell is not used again meanwhile.
[[gnu::always_inline]] inline void push(ThreadState& self, std::uint64_t to, MessageNode* node) {
  if (!engine::is_alive(to)) [[unlikely]]
    return push_dead(to, node);
  Cell& cell = *engine::cell_of(to);
  if (mailbox_of(cell).push(node, node)) schedule(self, cell);
}

[[gnu::noinline]] void push_from_outside(ThreadState& self, std::uint64_t to, MessageNode* node) {
  if (to == 0) return push_dead(to, node);
  auto* const task = static_cast<Task*>(self.heap.allocate<sizeof(Task)>());
  task->handle = 0;
  task->code = &kDeliveryCode;
  task->words[0] = to;
  task->words[1] = reinterpret_cast<std::uint64_t>(node);
  engine::submit(self, task);
}

}  // namespace

void hold_mailbox(Mailbox& mailbox, MessageNode* node) {
  static_cast<void>(mailbox.push(node, node));
  static_cast<void>(mailbox.take());
}

bool is_delivery(const Task* task) { return task->code == &kDeliveryCode; }
void deliver(const Task* task) {
  MessageNode* const node = node_in(task);
  if (node->type == &engine::message_type<engine::KillMessage> && engine::is_alive(task->words[0]))
    engine::cell_of(task->words[0])->is_killed.store(1, std::memory_order_relaxed);
  push(*engine::current_thread, task->words[0], node);
}

void clear_mailboxes(CellHeap& cells) {
  cells.for_each([](Mailbox& mailbox) {
    if (mailbox.extras != nullptr) {
      mailbox.flags &= static_cast<std::uint8_t>(~(Cell::kUnstashed | Cell::kWaiting));
      for (engine::NodeList* list : {&mailbox.extras->unstashed}) {
        while (!list->is_empty()) {
          MessageNode* const node = list->take();
          engine::dead_letter(mailbox.self, node, DeadLetter::Cause::run_failed);
          engine::free_node(node);
        }
      }
    }
    while (!mailbox.is_empty()) {
      const Mailbox::Taken taken = mailbox.take();
      if (taken.node == nullptr) {
        if (MessageNode* const released = mailbox.finish().released) engine::free_node(released);
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

}  // namespace rubato::runtime

namespace rubato::inline v0::engine {

void post(std::uint64_t to, MessageNode* node) {
  ThreadState& self = this_thread();
  if (!self.is_worker || static_cast<runtime::Worker&>(self).is_validating()) [[unlikely]]
    return runtime::push_from_outside(self, to, node);
  runtime::push(self, to, node);
}

unsigned probe(std::uint64_t to) {
  return static_cast<unsigned>(is_alive(to) ? Sent::accepted : Sent::stopped);
}

void kill(std::uint64_t handle) {
  ThreadState& self = this_thread();
  const bool is_here = self.is_worker && !static_cast<runtime::Worker&>(self).is_validating();
  if (is_here && is_alive(handle)) cell_of(handle)->is_killed.store(1, std::memory_order_relaxed);
  post(handle, make_node<KillMessage>());
}

void resume_actor(Cell& cell) { runtime::schedule(this_thread(), cell); }

}  // namespace rubato::inline v0::engine
