// Inspection of a program: its living actors, and the reason for which each waits. For users whose program
// does not go on, and for tools that show it over time.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rubato/actor/actor.hpp"

namespace rubato::inline v0 {

/// An actor as it is between two messages, or in a handler on a thread of its own.
struct LivingActor {
  actor<> who;                ///< its handle
  std::string behavior;       ///< the name of its type
  std::string name;           ///< of Spawn::name; empty: it has none
  actor<> parent;             ///< the actor that spawned it; empty: none, or it has stopped
  std::uint64_t waiting = 0;  ///< messages in its mailbox
  std::uint64_t stashed = 0;  ///< messages put aside by stash()
  actor<> muted_by;           ///< the actor whose full mailbox it waits for; empty: none
  /// The longest of its handlers that took over 100 us; 0: none was seen. Not every handler is timed; those
  /// of an actor whose turns take long are. Native engine only: the serial engine has no clock.
  Duration longest_handler{};
  std::string longest_message;  ///< the type of that handler's message
  bool has_failed = false;      ///< it waits for its parent's decision
  bool is_stopping = false;     ///< it waits for its children's end
  bool has_own_thread = false;  ///< Spawn::thread
  /// A handler goes on, on the actor's own thread. Stashed messages are not counted then.
  bool is_in_handler = false;
};

/// All living actors, those with most messages waiting first. While a run goes on, the call waits until no
/// task runs; it waits for a handler that never returns, too. Errors: TaskError in a task, since the call
/// would wait for that task.
std::vector<LivingActor> living_actors();
/// Stops all living actors, children before their parents, and waits until they have ended, for `deadline` at
/// most. @returns those that are left, as they were when the call began; an actor that does not end may be in
/// a handler that never returns. If nothing runs it calls run(), which no deadline ends. Errors: TaskError in
/// a task, and if no list of the living actors could be made in time since a task never ends.
std::vector<LivingActor> shutdown(AnyDuration deadline = kForever);
/// The living actors as text, a line for each: at most `most`, and how many others there are.
std::string living_actors_text(unsigned most = 1000);
/// The living actors by behavior, and ActorCounters, as a page for Prometheus (text format 0.0.4).
std::string actors_as_prometheus();

/// Writes living_actors_text() to standard error whenever the process gets this signal, such as SIGUSR1.
/// Errors: TaskError if the system refuses it.
void list_actors_on(int signal);

}  // namespace rubato::inline v0
