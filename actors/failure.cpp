// An exception that left an actor's code: its parent decides, or the run ends.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <exception>
#include <memory>
#include <new>
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

/// The name that name_handled() has stored, until it is used.
thread_local std::string noted;
std::string take_noted(const std::type_info& message) {
  std::string name = std::exchange(noted, std::string());
  return name.empty() ? function_name(nullptr, message) : name;
}

[[noreturn]] void throw_of_run(const std::string& who) {
  try {
    throw;
  } catch (const TaskError& e) {
    if (!e.function().empty()) throw;  // it names an actor already
    std::throw_with_nested(TaskError(who + ": " + e.what(), who, std::nullopt));
  } catch (const std::exception& e) {
    std::throw_with_nested(TaskError(who + " ended with an exception: " + e.what(), who, std::nullopt));
  } catch (...) {
    std::throw_with_nested(
        TaskError(who + " ended with an exception: of an unknown type", who, std::nullopt));
  }
}

void go_on(Cell& cell) {
  set_failed(cell, false);
  cell.flags &= static_cast<std::uint8_t>(~Cell::kWaiting);
  resume_actor(cell);
}
void stop_child(Cell& cell) {
  extras_of(cell).has_failed = true;
  cell.flags |= Cell::kStopping;
  go_on(cell);
}
void restart(Cell& cell, const Extras& extras) {
  kill_children(cell);
  const ActorScope scope(cell.self);
  const BehaviorType& type = *cell.type;
  type.destroy(cell.behavior);
  cancel_timers_of(cell, false);
  forget_idle_timeout(cell);
  forget_inlets(cell);
  cell.type = &no_behavior();  // if its constructor throws there is nothing to destroy
  (*extras.remake)(cell.behavior);
  cell.type = &type;
  note_constructed(cell);
}

/// Its children do not wait to be made again.
bool is_about_to_end(std::uint64_t parent) {
  return (cell_of(parent)->flags & (Cell::kStopping | Cell::kEnding)) != 0;
}

/// To the parent of a child that waits to be made again.
struct RestartNow {
  using shown_message = Failure;
  static constexpr bool while_stopping = true;
  std::uint64_t child;
  std::string who;
  void run_in_turn() {
    Cell& cell = *cell_of(child);
    extras_of(cell).waits_for_restart = false;
    if (is_about_to_end(current_actor())) return stop_child(cell);
    try {
      restart(cell, extras_of(cell));
    } catch (...) {
      noted = "the failure of " + who;
      stop_child(cell);
      throw;
    }
    go_on(cell);
  }
  /// The parent has stopped, or the run has failed.
  void fail(AskError) {
    extras_of(*cell_of(child)).waits_for_restart = false;
    stop_child(*cell_of(child));
  }
};
struct RestartLater final : TimerCall {
  RestartLater(std::uint64_t p, std::uint64_t c, std::string w) : parent(p), child(c), who(std::move(w)) {}
  void call() override { post(parent, make_node<RestartNow>(RestartNow{child, std::move(who)})); }
  std::uint64_t parent, child;
  std::string who;
};

/// A child is made again with its sibling. It is put aside like one that has failed, so it throws this.
struct WithSibling {};
struct RestartWithSibling {
  using shown_message = Failure;
  void run_in_turn() {
    Cell& cell = *cell_of(current_actor());
    if (extras_of(cell).remake != nullptr) throw WithSibling();
    cell.flags |= Cell::kStopping;
  }
};
bool is_with_sibling() {
  try {
    throw;
  } catch (const WithSibling&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// A task that ends the run with the exception of an actor, which `who` names.
struct EndOfRun {
  using TaskName = Failure;
  void operator()() const {
    try {
      std::rethrow_exception(error);
    } catch (...) {
      throw_of_run(who);
    }
  }
  std::exception_ptr error;
  std::string who;
};

/// A child that waits for the decision, in a turn of its parent.
struct ChildFailed {
  using shown_message = Failure;
  static constexpr bool while_stopping = true;
  std::uint64_t child;
  std::exception_ptr error;
  std::string message;
  std::string who;  ///< and at what

  void run_in_turn() {
    try {
      decide();
    } catch (...) {
      noted = "the failure of " + who;
      throw;
    }
  }

  /// The parent has stopped: no actor decides.
  void fail(AskError) {
    Cell& cell = *cell_of(child);
    engine::create<TaskType::nonspec>(EndOfRun{error, who}, Annotations{});
    stop_child(cell);
  }

 private:
  void decide() const {
    const Cell& parent = *cell_of(current_actor());
    Cell& cell = *cell_of(child);
    Extras& extras = extras_of(cell);
    const std::uint64_t now = actor_nanoseconds();
    if (extras.restarts == 0 || has_passed(extras, now)) {
      extras.window_began = now;
      extras.restarts = 0;
    }
    const std::string behavior = function_name(nullptr, *cell.type->type);
    Directive directive = Directive::escalate;
    try {
      directive = parent.type->on_failure(parent.behavior,
                                          {actor<>::of(child), behavior, message, error, extras.restarts});
      const bool is_for_all = directive == Directive::restart_all;
      if (is_for_all || directive == Directive::restart) directive = restart_or_escalate(cell, extras);
      if (is_for_all && (directive == Directive::resume || directive == Directive::restart))
        tell_siblings(parent, child, [] { return make_node<RestartWithSibling>(); });
    } catch (...) {
      stop_child(cell);
      throw;
    }
    if (directive == Directive::resume) return go_on(cell);
    if (directive == Directive::restart) return;  // it waits for that
    stop_child(cell);
    if (directive == Directive::escalate) std::rethrow_exception(error);
  }
  static bool has_passed(const Extras& extras, std::uint64_t now) {
    return now - extras.window_began >
           static_cast<std::uint64_t>(std::max<std::int64_t>(extras.limits.within.count(), 0));
  }
  /// @returns resume: it has been made again; restart: it will be; else what becomes of it.
  Directive restart_or_escalate(Cell& cell, Extras& extras) const {
    if (extras.remake == nullptr)
      misuse("on_failure() says restart for " + describe(cell) +
             ", which cannot be made again: its behavior has no static constexpr bool restarts = true");
    if (extras.restarts >= extras.limits.most) return Directive::escalate;
    const Time at = time_after(actor_nanoseconds(), delay_of(extras));
    ++extras.restarts;
    if (extras.limits.delay > Duration::zero()) {
      if (is_about_to_end(current_actor())) return Directive::stop;
      start_timer(at, Duration::zero(), 0,
                  {std::make_unique<RestartLater>(current_actor(), child, who), nullptr});
      extras.waits_for_restart = true;
      return Directive::restart;
    }
    restart(cell, extras);
    return Directive::resume;
  }
  /// Doubled by each restart before it.
  static Duration delay_of(const Extras& extras) {
    const Duration most = extras.limits.most_delay;
    Duration delay = extras.limits.delay;
    for (unsigned i = 0; i < extras.restarts && delay < most; ++i)
      delay = delay < most / 2 ? 2 * delay : most;
    return delay;
  }
};

}  // namespace

void name_handled(const char* before, const std::type_info& message) noexcept {
  try {
    noted = before + function_name(nullptr, message);
  } catch (const std::bad_alloc&) {
    noted.clear();
  }
}
void throw_of_answer() { throw_of_run("the task handling " + take_noted(typeid(void))); }

MessageNode* on_exception(Cell& cell, const std::type_info& message) {
  const std::string what = take_noted(message);
  const std::string who = describe(cell) + " handling " + what;
  if (cell.parent == 0 || (cell.parent & Cell::kUnsupervised) != 0) throw_of_run(who);
  cell.flags |= Cell::kWaiting;
  set_failed(cell, true);
  if (is_with_sibling()) return make_node<RestartNow>(RestartNow{cell.self, describe(cell)});
  return make_node<ChildFailed>(ChildFailed{cell.self, std::current_exception(), what, who});
}

}  // namespace rubato::inline v0::engine
