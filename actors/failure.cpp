// An exception that left an actor's code: its parent decides, or the run ends.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "actors/bounds.hpp"
#include "actors/children.hpp"
#include "actors/lifecycle.hpp"
#include "actors/timers.hpp"
#include "base/function_names.hpp"
#include "rubato/task.hpp"

namespace rubato::inline v0::engine {
namespace {

constexpr unsigned kRestarts = 5;  // within kWindow; the next one escalates
constexpr std::uint64_t kWindow = 10'000'000'000;

[[noreturn]] void throw_of_run(const std::string& who) {
  try {
    throw;
  } catch (const TaskError& e) {
    if (!e.function().empty()) throw;  // it names somebody
    std::throw_with_nested(TaskError(who + ": " + e.what(), who, std::nullopt));
  } catch (const std::exception& e) {
    std::throw_with_nested(TaskError(who + " ended with an exception: " + e.what(), who, std::nullopt));
  } catch (...) {
    std::throw_with_nested(
        TaskError(who + " ended with an exception: of an unknown type", who, std::nullopt));
  }
}

/// Of a child that waits for the decision, in a turn of its parent.
struct ChildFailed {
  static constexpr bool while_stopping = true;
  std::uint64_t child;
  std::exception_ptr error;
  const std::type_info* message;
  std::string who;

  void run_in_turn() {
    const Cell& parent = *cell_of(current_actor());
    Cell& cell = *cell_of(child);
    Extras& extras = extras_of(cell);
    const std::uint64_t now = actor_nanoseconds();
    if (now - extras.window_began > kWindow || extras.restarts == 0) {
      extras.window_began = now;
      extras.restarts = 0;
    }
    const std::string behavior = function_name(nullptr, *cell.type->type);
    const std::string handled = function_name(nullptr, *message);
    Directive directive = Directive::escalate;
    try {
      directive = parent.type->on_failure(parent.behavior,
                                          {actor<>::of(child), behavior, handled, error, extras.restarts});
      if (directive == Directive::restart) directive = restart(cell, extras);
    } catch (...) {
      stop_child(cell);
      throw;
    }
    if (directive == Directive::stop) return stop_child(cell);
    if (directive == Directive::escalate) {
      stop_child(cell);
      std::rethrow_exception(error);
    }
    go_on(cell);
  }
  /// The parent has stopped: nobody decides.
  void fail(AskError) {
    Cell& cell = *cell_of(child);
    engine::create<TaskType::nonspec>(
        [thrown = error, name = who] {
          try {
            std::rethrow_exception(thrown);
          } catch (...) {
            throw_of_run(name);
          }
        },
        Annotations{});
    stop_child(cell);
  }

 private:
  static void go_on(Cell& cell) {
    set_failed(cell, false);
    cell.flags &= static_cast<std::uint8_t>(~Cell::kWaiting);
    resume_actor(cell);
  }
  static void stop_child(Cell& cell) {
    cell.flags |= Cell::kStopping;
    go_on(cell);
  }
  Directive restart(Cell& cell, Extras& extras) const {
    if (extras.remake == nullptr)
      misuse("on_failure() says restart for " + describe(cell) +
             ", which cannot be made again: its behavior has no static constexpr bool restarts = true");
    if (extras.restarts == kRestarts) return Directive::escalate;
    ++extras.restarts;
    kill_children(cell);
    const ActorScope scope(child);
    const BehaviorType& type = *cell.type;
    type.destroy(cell.behavior);
    cancel_timers_of(cell, false);
    cell.type = &no_behavior();  // if its constructor throws there is nothing to destroy
    (*extras.remake)(cell.behavior);
    cell.type = &type;
    return Directive::resume;
  }
};

}  // namespace

MessageNode* on_exception(Cell& cell, const std::type_info& message) {
  const std::string who = describe(cell) + " handling " + function_name(nullptr, message);
  if (cell.parent == 0 || (cell.parent & Cell::kUnsupervised) != 0) throw_of_run(who);
  cell.flags |= Cell::kWaiting;
  set_failed(cell, true);
  return make_node<ChildFailed>(ChildFailed{cell.self, std::current_exception(), &message, who});
}

}  // namespace rubato::inline v0::engine
