// SPDX-License-Identifier: MIT
#include "rubato/actor/living.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <new>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "actors/bounds.hpp"
#include "actors/children.hpp"
#include "actors/lifecycle.hpp"
#include "actors/living.hpp"
#include "actors/timers.hpp"
#include "base/function_names.hpp"
#include "rubato/actor/dead_letters.hpp"
#include "rubato/task.hpp"

namespace rubato::inline v0 {
namespace {

using engine::Cell;

LivingActor look_at(const Cell& cell, std::uint64_t waiting) {
  LivingActor a;
  a.who = actor<>::of(cell.self);
  a.behavior = engine::function_name(nullptr, *cell.type->type);
  a.waiting = waiting;
  const std::uint64_t parent = cell.parent & ~Cell::kUnsupervised;
  if (engine::is_alive(parent)) a.parent = actor<>::of(parent);
  a.is_in_handler = cell.extras != nullptr && cell.extras->is_away;
  if (!a.is_in_handler) {
    a.has_failed = (cell.flags & Cell::kWaiting) != 0;
    a.is_stopping = engine::is_ending(cell);
  }
  if (cell.extras == nullptr) return a;
  a.name = cell.extras->name;
  a.has_own_thread = cell.extras->has_own_thread;
  if (!a.is_in_handler) a.stashed = engine::stashed_by(cell);
  if (const engine::LongestHandler& longest = cell.extras->longest; longest.message != nullptr) {
    a.longest_handler = Duration(static_cast<std::int64_t>(longest.nanoseconds));
    a.longest_message = engine::function_name(nullptr, *longest.message);
  }
  return a;
}

std::string called(const LivingActor& a) {
  return a.name.empty() ? a.behavior + " " + std::to_string(a.who.id()) : a.name + " (" + a.behavior + ")";
}

/// With one decimal.
std::string milliseconds(Duration time) {
  const std::int64_t tenths = (time.count() + 50'000) / 100'000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

/// Within quotes of a label's value.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
      continue;
    }
    if (c == '\\' || c == '"') result += '\\';
    result += c;
  }
  return result;
}

/// Samples of one metric.
class Metric {
 public:
  Metric(std::string& page, std::string_view name, std::string_view type, std::string_view help)
      : page_(page), name_(name) {
    page_.append("# HELP ").append(name).append(" ").append(help);
    page_.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
  }
  void add(std::string_view label, std::string_view value_of_label, const std::string& value) {
    page_.append(name_);
    if (!label.empty())
      page_.append("{").append(label).append("=\"").append(escaped(value_of_label)).append("\"}");
    page_.append(" ").append(value).append("\n");
  }
  void add(std::string_view label, std::string_view value_of_label, std::uint64_t value) {
    add(label, value_of_label, std::to_string(value));
  }

 private:
  std::string& page_;
  std::string_view name_;
};

struct OfBehavior {
  std::uint64_t actors = 0, waiting = 0, stashed = 0, muted = 0, own_threads = 0;
};

/// False: not before that time.
bool list_until(std::uint64_t time, std::vector<LivingActor>& all) {
  std::unordered_map<std::uint64_t, std::uint64_t> muted_by;
  const bool is_listed = engine::for_each_actor_until(time, [&](const Cell& cell, std::uint64_t waiting) {
    all.push_back(look_at(cell, waiting));
    if (!engine::has_bound(cell)) return;
    for (const std::uint64_t sender : engine::bounded_of(const_cast<Cell&>(cell))->listed())
      muted_by[sender] = cell.self;
  });
  for (LivingActor& a : all)
    if (const auto found = muted_by.find(a.who.id()); found != muted_by.end())
      a.muted_by = actor<>::of(found->second);
  std::sort(all.begin(), all.end(), [](const LivingActor& a, const LivingActor& b) {
    return a.waiting != b.waiting ? a.waiting > b.waiting : a.who.id() < b.who.id();
  });
  return is_listed;
}

}  // namespace

std::vector<LivingActor> living_actors() {
  std::vector<LivingActor> all;
  list_until(engine::kNever, all);
  return all;
}

namespace {

void drop_ended(std::vector<LivingActor>& actors) {
  std::erase_if(actors, [](const LivingActor& a) { return !engine::is_alive(a.who.id()); });
}
/// A parent tells its children.
void stop_those_without_parent(const std::vector<LivingActor>& actors) {
  for (const LivingActor& a : actors)
    if (!a.parent) a.who.stop();
}

}  // namespace

std::vector<LivingActor> shutdown(AnyDuration deadline) {
  if (engine::is_in_task()) engine::throw_misuse(errors::shutdown_in_a_task());
  const std::uint64_t until = engine::time_after(engine::actor_nanoseconds(), deadline);
  std::vector<LivingActor> left;
  const bool was_in_run = engine::wait_in_run([&] {
    drop_ended(left);
    const bool is_late = engine::actor_nanoseconds() >= until;
    if (!left.empty()) return is_late;
    // Again and again: actors that live may have spawned others meanwhile.
    if (!list_until(until, left)) engine::throw_misuse(errors::shutdown_beside_a_task());
    stop_those_without_parent(left);
    return left.empty();
  });
  drop_ended(left);
  if (was_in_run) return left;
  stop_those_without_parent(living_actors());
  run();
  return living_actors();
}

std::string living_actors_text(unsigned most) {
  const std::vector<LivingActor> all = living_actors();
  std::unordered_map<std::uint64_t, std::string> names;
  for (const LivingActor& a : all) names[a.who.id()] = called(a);
  const engine::Unfinished left = engine::unfinished();
  std::string text = engine::counted(static_cast<std::int64_t>(all.size()), "actor lives", "actors live") +
                     ", " + engine::counted(left.asks, "ask has no answer", "asks have no answer") + "\n";
  const auto name_of = [&names](actor<> a) {
    const auto found = names.find(a.id());
    return found != names.end() ? found->second : "one that has stopped";
  };
  for (std::size_t i = 0; i < all.size() && i < most; ++i) {
    const LivingActor& a = all[i];
    text += called(a);
    if (a.parent) text += ", child of " + name_of(a.parent);
    text += ": " + std::to_string(a.waiting) + " waiting";
    if (a.stashed != 0) text += ", " + std::to_string(a.stashed) + " stashed";
    if (a.muted_by) text += ", muted by " + name_of(a.muted_by);
    if (a.longest_handler != Duration::zero())
      text += ", longest handler " + milliseconds(a.longest_handler) + " ms (" + a.longest_message + ")";
    if (a.has_own_thread)
      text += a.is_in_handler ? ", in a handler on its own thread" : ", on its own thread";
    if (a.has_failed) text += ", has failed";
    if (a.is_stopping) text += ", waits for its children to stop";
    text += '\n';
  }
  if (all.size() > most) text += "and " + std::to_string(all.size() - most) + " others\n";
  return text;
}

std::string actors_as_prometheus() {
  std::map<std::string, OfBehavior> behaviors;
  for (const LivingActor& a : living_actors()) {
    OfBehavior& b = behaviors[a.behavior];
    ++b.actors;
    b.waiting += a.waiting;
    b.stashed += a.stashed;
    b.muted += a.muted_by ? 1 : 0;
    b.own_threads += a.has_own_thread ? 1 : 0;
  }
  std::string page;
  const auto gauge = [&](std::string_view name, std::string_view help, std::uint64_t OfBehavior::*value) {
    Metric metric(page, name, "gauge", help);
    for (const auto& [behavior, b] : behaviors) metric.add("behavior", behavior, b.*value);
  };
  gauge("rubato_actors", "Actors that live.", &OfBehavior::actors);
  gauge("rubato_messages_waiting", "Messages in mailboxes.", &OfBehavior::waiting);
  gauge("rubato_messages_stashed", "Messages put aside.", &OfBehavior::stashed);
  gauge("rubato_actors_muted", "Actors that wait for a full mailbox.", &OfBehavior::muted);
  gauge("rubato_actors_with_own_thread", "Actors whose handlers run on a thread of their own.",
        &OfBehavior::own_threads);
  const ActorCounters c = actor_counters();
  const auto counter = [&page](std::string_view name, std::string_view help, std::uint64_t value) {
    Metric(page, name, "counter", help).add("", "", value);
  };
  counter("rubato_actors_spawned_total", "Actors spawned.", c.spawned);
  counter("rubato_actors_stopped_total", "Actors that have stopped.", c.stopped);
  counter("rubato_messages_handled_total", "Messages handled.", c.messages_handled);
  Metric dead(page, "rubato_dead_letters_total", "counter", "Messages that no actor has handled, by cause.");
  constexpr std::string_view kCauses[] = {"stopped", "killed", "full", "sealed", "run_failed"};
  for (unsigned i = 0; i < 5; ++i) dead.add("cause", kCauses[i], c.dead_letters[i]);
  Metric(page, "rubato_asks_open", "gauge", "Asks without an answer.")
      .add("", "", std::to_string(engine::unfinished().asks));
  return page;
}

namespace engine {

void note_long_handler(Cell& cell, std::uint64_t nanoseconds, const std::type_info& message) noexcept {
  if (cell.extras == nullptr) cell.extras = new (std::nothrow) Extras;
  if (cell.extras == nullptr || nanoseconds <= cell.extras->longest.nanoseconds) return;
  cell.extras->longest = {nanoseconds, &message};
}

}  // namespace engine

void list_actors_on(int signal) {
  engine::answer_signal(signal, [] {
    try {
      std::fputs(living_actors_text().c_str(), stderr);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "rubato: the actors could not be listed: %s\n", e.what());
    }
  });
}

}  // namespace rubato::inline v0
