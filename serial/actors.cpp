// Actors on the serial engine (A19): the reference. A message is a task of its own, and the seed chooses
// among the heads of all queues, one for each sender, receiver and priority: every order that A8 allows can
// happen. Time is virtual: it goes on to the next timer when nothing else is left. A program that never has
// nothing left, such as an actor that sends to itself until a timer stops it, takes a step of time a message.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "actors/bounds.hpp"
#include "actors/children.hpp"
#include "actors/lifecycle.hpp"
#include "actors/living.hpp"
#include "actors/steps.hpp"
#include "actors/timers.hpp"
#include "rubato/actor/actor.hpp"
#include "rubato/actor/manual_clock.hpp"
#include "rubato/actor/timer.hpp"
#include "rubato/task.hpp"
#include "serial/engine.hpp"
#include "serial/outside_events.hpp"

namespace rubato::inline v0::engine {
namespace {

/// On this engine pending timers are looked at where nothing else is left to do.
struct NoHold {};

/// Sender, receiver, and whether its messages are urgent.
using Key = std::tuple<std::uint64_t, std::uint64_t, bool>;

class Actors {
 public:
  Actors() {
    actor_hooks.fire_timer = [] {
      actors().since_idle_ = 0;
      return !actors().is_stopped && actors().fire_timer();
    };
    actor_hooks.until_timer = [] { return actors().until_timer(); };
    actor_hooks.pass = [](std::uint64_t time) {
      if (!actors().is_stopped) actors().now += time;
    };
    actor_hooks.say_what_is_left = [] {
      engine::say_what_is_left([](const std::function<void(const Cell&)>& use) {
        actors().for_each([&use](const Cell& cell, std::uint64_t) { use(cell); });
      });
    };
    actor_hooks.clear = [] { actors().clear(); };
    actor_hooks.end_in_next_run = [] { actors().end_in_next_run(); };
  }
  static Actors& actors() {
    static Actors& instance = *new Actors;
    return instance;
  }

  // ---- Cells ----

  Cell* new_cell(const BehaviorType& type, const CellOptions& options) {
    const std::size_t bytes = sizeof(Cell) + type.bytes;
    std::vector<Cell*>& free = free_[bytes];
    Cell* cell = nullptr;
    if (free.empty()) {
      cell = ::new (::operator new(bytes, std::align_val_t{64})) Cell;
      cell->bytes = bytes;
      cell->life().store(Cell::kOneGeneration, std::memory_order_relaxed);
      all_.insert(cell);
    } else {
      cell = free.back();
      free.pop_back();
    }
    ++counters.spawned;
    begin_cell(*cell, type, options, cell + 1);
    return cell;
  }

  /// The actor is between two messages.
  void attend(Cell& cell) {
    while (cell.type != nullptr && (cell.flags & Cell::kWaiting) == 0) {
      if (is_to_end(cell)) {
        if (!may_end(cell)) return;
        end(cell);
      } else if ((cell.flags & Cell::kMuted) != 0) {
        const std::uint64_t muted = cell.self;
        if (wait_until_room(cell)) muted_.insert(muted);
        return;
      } else if ((cell.flags & Cell::kUnstashed) != 0) {
        if (steps().is_on() && !steps().claim()) {
          aside_.push_back(cell.self);
          return;
        }
        NodeList& unstashed = cell.extras->unstashed;
        MessageNode* const node = unstashed.take();
        note_stashed(-1);
        if (unstashed.is_empty()) cell.flags &= static_cast<std::uint8_t>(~Cell::kUnstashed);
        handle_one(cell, node);
      } else {
        return;
      }
    }
  }

  void resume(Cell& cell) {
    muted_.erase(cell.self);
    attend(cell);
    const auto found = waiting_.find(&cell);
    if (found == waiting_.end()) return;
    const std::vector<Key> keys = std::move(found->second);
    waiting_.erase(found);
    for (const Key& key : keys) schedule(key);
  }

  void for_each(const std::function<void(const Cell&, std::uint64_t)>& use) const {
    std::map<std::uint64_t, std::uint64_t> waiting;  // the program's messages, by receiver
    for (const auto& [key, queue] : queues_)
      waiting[std::get<1>(key)] += static_cast<std::uint64_t>(std::count_if(
          queue.begin(), queue.end(), [](const MessageNode* node) { return is_of_program(*node->type); }));
    for (Cell* const cell : all_) {
      if (cell->self == 0 || cell->type == nullptr || cell->type == &no_behavior()) continue;
      const auto found = waiting.find(cell->self);
      use(*cell, found == waiting.end() ? 0 : found->second);
    }
  }

  bool has_put_aside() const { return !aside_.empty() || !aside_keys_.empty(); }
  /// All that wait for a step: the first of them gets it.
  void resume_put_aside() {
    for (const Key& key : std::exchange(aside_keys_, {})) schedule(key);
    const ActorScope nobody(0);
    for (const std::uint64_t actor : std::exchange(aside_, {}))
      engine::create<TaskType::nonspec>(
          [actor] {
            if (is_alive(actor)) actors().attend(*cell_of(actor));
          },
          Annotations{});
  }

  // ---- Messages ----

  void post(std::uint64_t to, MessageNode* node) {
    try {
      check_thread(to == 0 ? "to no actor" : "a message");
      if (to == 0) throw_misuse("a message was sent to an empty actor handle");
    } catch (...) {
      destroy_payload(node);
      free_node(node);
      throw;
    }
    if (!is_alive(to)) {
      dead_letter(to, node, DeadLetter::Cause::stopped);
      return free_node(node);
    }
    if (is_clearing_) {  // by a destructor of a message, or a listener, that must not go on for ever
      if (node->is_admitted()) give_back_place(to);
      return drop(to, node);
    }
    const bool is_bounded = (cell_of(to)->life().load(std::memory_order_relaxed) & Cell::kHasBound) != 0;
    if (is_bounded && !admit(*cell_of(to), to, node, current != 0 ? cell_of(current) : nullptr)) {
      dead_letter(to, node, DeadLetter::Cause::full);
      return free_node(node);
    }
    // Number of the sender: an actor, else the running task, or code outside tasks.
    const std::uint64_t sender = current != 0 ? current : running_number() << 1 | 1;
    const Key key{sender, to, node->is_high()};
    std::deque<MessageNode*>& queue = queues_[key];
    queue.push_back(node);
    ++pending_of(*cell_of(to));
    if (queue.size() == 1) schedule(key);
    order_with_others();
  }

  /// Drops a message of a run that has failed.
  static void drop(std::uint64_t to, MessageNode* node) {
    drop_of_failed_run(to, node);
    free_node(node);
  }
  void clear() {
    is_clearing_ = true;
    auto queues = std::exchange(queues_, {});
    for (auto& [key, queue] : queues) {
      const std::uint64_t to = std::get<1>(key);
      for (MessageNode* const node : queue) drop(to, node);
      pending_of(*cell_of(to)) -= queue.size();
      free_if_over(*cell_of(to));
    }
    waiting_.clear();
    muted_.clear();
    aside_.clear();
    aside_keys_.clear();
    for (Cell* const cell : all_) {
      clear_flags_of_failed_run(*cell);
      if (Bounded* const bounded = bounded_of(*cell)) clear_bound(*bounded);
      if (cell->type == nullptr || cell->extras == nullptr) continue;
      while (!cell->extras->unstashed.is_empty()) {
        MessageNode* const node = cell->extras->unstashed.take();
        note_stashed(-1);
        drop(cell->self, node);
      }
    }
    is_clearing_ = false;
  }
  /// Actors that were to end when the run failed end in the next run.
  void end_in_next_run() {
    for (Cell* const cell : all_) {
      if (is_to_end(*cell) && cell->type != nullptr) post(cell->self, make_node<StopMessage>());
    }
  }

  // ---- Timers ----

  std::uint64_t start_timer(Time at, Duration period, std::uint64_t owner, TimedAction action) {
    auto timer = std::make_unique<Table::Timer>();
    timer->at = at;
    timer->period = period;
    timer->owner = owner;
    timer->action = std::move(action);
    if (timer->action.is_of_task) actor_hooks.after_task = [] { actors().pass_time(); };
    return timers.add(std::move(timer), owner == 0 ? nullptr : &cell_of(owner)->extras->timers);
  }
  /// Nanoseconds.
  std::uint64_t until_timer() {
    const Table::Timer* const next = timers.next();
    if (next == nullptr || is_stopped) return kNoLimit;
    return next->at - std::min(next->at, now);
  }
  bool fire_timer() {
    const Table::Timer* const next = timers.next();
    if (next == nullptr) return false;
    now = std::max(now, next->at);
    if (next->action.call != nullptr) {
      const Table::Owned due = timers.remove(next->number);
      due->action.call->call();
    } else {
      timers.note_sent();
      post(next->owner, next->action.message->make_due(next->number));
    }
    return true;
  }

  using Table = TimerTable<NoHold>;
  Table timers;
  std::uint64_t current = 0;  // the running actor
  std::uint64_t now = 0;      // nanoseconds
  bool is_stopped = false;    // time, by a manual_clock
  ActorCounters counters;

 private:
  /// Messages on their way to an actor; its cell is not used again before they are gone.
  static std::uint64_t& pending_of(Cell& cell) { return cell.retired_in; }

  static void schedule(const Key& key) {
    const ActorScope nobody(0);
    engine::create<TaskType::nonspec>([key] { actors().deliver(key); }, Annotations{});
  }

  void deliver(const Key& key) {
    order_with_others();
    Cell& cell = *cell_of(std::get<1>(key));
    if (cell.type != nullptr && ((cell.flags & Cell::kWaiting) != 0 || muted_.contains(cell.self))) {
      waiting_[&cell].push_back(key);
      return;
    }
    const auto found = queues_.find(key);
    MessageNode* const node = found->second.front();
    if (steps().is_on() && cell.type != nullptr && !may_step(cell, *node->type)) {
      aside_keys_.push_back(key);
      return;
    }
    found->second.pop_front();
    if (found->second.empty()) {
      queues_.erase(found);
    } else {
      schedule(key);
    }
    --pending_of(cell);
    if (cell.type != nullptr && (cell.flags & Cell::kBounded) != 0 && !take_counted(cell, node)) {
      dead_letter(std::get<1>(key), node, DeadLetter::Cause::full);
      free_node(node);
    } else if (cell.type != nullptr && (!is_ending(cell) || node->type->while_stopping)) {
      handle_one(cell, node);
      attend(cell);
    } else {
      dead_letter(std::get<1>(key), node, cause_of_death(cell));
      free_node(node);
    }
    free_if_over(cell);
    pass_time();
    order_with_others();
  }

  /// A message is handled. Programs that have nothing left now and then, which are nearly all, see time jump
  /// from timer to timer, whatever they handle in between.
  void pass_time() {
    constexpr std::uint64_t kBusy = 10'000, kStep = 1000;  // messages, nanoseconds
    if (is_stopped || timers.next() == nullptr || ++since_idle_ <= kBusy) return;
    now += kStep;
    while (timers.next() != nullptr && timers.next()->at <= now) fire_timer();
  }

  static bool may_step(const Cell& cell, const MessageType& type) {
    return (cell.flags & Cell::kUnstashed) == 0 && (!is_of_program(type) || steps().claim());
  }

  void handle_one(Cell& cell, MessageNode* node) {
    const MessageType& type = *node->type;
    if (steps().is_on() && is_of_program(type)) steps().note(cell.self, *cell.type->type, *type.type);
    const std::unique_ptr<MessageNode, void (*)(MessageNode*)> freed(node, free_node);
    try {
      const ActorScope scope(cell.self);
      if (handle_message(cell, node)) ++counters.messages_handled;
    } catch (...) {
      if (is_of_program(type)) ++counters.messages_handled;
      post(cell.parent, on_exception(cell, *type.type));
    }
  }

  void end(Cell& cell) {
    ++counters.stopped;
    end_actor(cell, reason_of_end(cell));
    free_if_over(cell);
  }
  void free_if_over(Cell& cell) {
    if (cell.type != nullptr || pending_of(cell) != 0 || is_free(cell)) return;
    if ((cell.life().load(std::memory_order_relaxed) & Cell::kGenerationMask) == Cell::kGenerationMask)
      return;
    cell.self = 0;
    free_[cell.bytes].push_back(&cell);
  }
  static bool is_free(const Cell& cell) { return cell.self == 0; }

  std::map<std::size_t, std::vector<Cell*>> free_;
  std::set<Cell*> all_;
  std::map<Key, std::deque<MessageNode*>> queues_;  // none is empty
  std::map<Cell*, std::vector<Key>> waiting_;  // for a decision about their receiver, or its being let go
  std::set<std::uint64_t> muted_;
  std::vector<std::uint64_t> aside_;  // actors with messages that were stashed, and wait for a step
  std::vector<Key> aside_keys_;       // queues that wait for a step
  std::uint64_t since_idle_ = 0;      // messages, while a timer is pending
  bool is_clearing_ = false;          // the run has failed: what is sent is dropped
};

Actors& actors() { return Actors::actors(); }

}  // namespace

std::uint64_t& current_actor() { return actors().current; }
Cell* new_cell(const BehaviorType& type, const CellOptions& options) {
  check_thread("an actor");
  return actors().new_cell(type, options);
}
void begin_actor(Cell* cell) { actors().attend(*cell); }
void abandon_actor(Cell* cell) {
  forget_behavior(*cell);
  actors().attend(*cell);
}
void post(std::uint64_t to, MessageNode* node) { actors().post(to, node); }
void kill(std::uint64_t handle) {
  if (!is_alive(handle)) return;
  Cell& cell = *cell_of(handle);
  cell.is_killed.store(1, std::memory_order_relaxed);
  post(handle, make_node<KillMessage>());
}
bool post_within(std::uint64_t to, MessageNode* node, Duration) {
  actors().post(to, node);
  return true;
}
bool with_living(std::uint64_t actor, const std::function<void(Cell&)>& use) {
  if (!is_alive(actor)) return false;
  use(*cell_of(actor));
  return true;
}
void resume_actor(Cell& cell) { actors().resume(cell); }
void resume_thread(std::uint64_t) {}
bool may_wait_for_answers() { return false; }
bool begin_wait(WaitsForRun&) { return false; }
void end_wait(WaitsForRun&) {}
unsigned core_limit() { return 1; }
std::uint64_t actor_nanoseconds() { return actors().now; }
void stop_clock(bool is_stopped) {
  if (actors().current != 0 || is_in_task() || is_running()) throw_misuse(stopped_in_a_run());
  if (is_stopped && has_delayed_tasks()) throw_misuse(stopped_for_tasks());
  if (is_stopped && actors().is_stopped) throw_misuse(stopped_twice());
  actors().is_stopped = is_stopped;
}
void set_single_steps(bool is_on) {
  if (actors().current != 0 || is_in_task() || is_running()) throw_misuse(errors::steps_in_a_run());
  if (is_on && steps().is_on()) throw_misuse(errors::steps_twice());
  steps().set(is_on);
  if (!is_on) actors().resume_put_aside();
}
void allow_step() {
  steps().allow();
  actors().resume_put_aside();
}
bool has_put_aside() { return actors().has_put_aside(); }
/// Between two runs the calling thread may be another than the one that makes timers.
bool may_cancel_timers() { return runs_here(); }
bool is_clock_stopped() { return actors().is_stopped; }
bool fire_until(std::uint64_t time) {
  const auto* const next = actors().timers.next();
  if (next != nullptr && next->at <= time) return actors().fire_timer();
  actors().now = std::max(actors().now, time);
  return false;
}
void join_group(TaskGroup& group) { ++GroupState::pending(group); }
void leave_group(TaskGroup& group) {
  leave_by_task(group, [] {});
}
std::uint64_t start_timer(Time at, Duration period, std::uint64_t owner, TimedAction action) {
  return actors().start_timer(at, period, owner, std::move(action));
}
std::shared_ptr<TimedMessage> take_due(std::uint64_t number) {
  return actors().timers.take(number, actors().now).message;
}
bool cancel_one_of(Extras& extras, bool all) {
  return actors().timers.remove_one(extras.timers, all) != nullptr;
}
bool for_each_actor_until(std::uint64_t, const std::function<void(const Cell&, std::uint64_t)>& use) {
  if (actors().current != 0 || running_number() != 0) throw_misuse(errors::listed_in_a_task());
  actors().for_each(use);
  return true;
}
bool wait_in_run(const std::function<bool()>&) { return false; }
void answer_signal(int, void (*)()) {
  throw_misuse("list_actors_on() is of the native engine: the serial one has no thread that could list them");
}
void cancel_timer(std::uint64_t number) { static_cast<void>(actors().timers.remove(number)); }

}  // namespace rubato::inline v0::engine

namespace rubato::inline v0 {

ActorCounters actor_counters() {
  ActorCounters c = engine::actors().counters;
  c.messages_allocated = engine::messages_allocated();
  for (unsigned i = 0; i < 5; ++i)
    c.dead_letters[i] = engine::dead_letters_by(static_cast<DeadLetter::Cause>(i));
  return c;
}

}  // namespace rubato::inline v0
