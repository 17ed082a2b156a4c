// The base of what actors do. It has no data: self() and the rest work while the actor runs, is constructed
// or destroyed, elsewhere they are errors (TaskError). A6, A8 and A11.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "rubato/actor/actor.hpp"
#include "rubato/actor/ask.hpp"
#include "rubato/actor/channel.hpp"
#include "rubato/actor/supervision.hpp"
#include "rubato/actor/timer.hpp"
#include "rubato/engine/actor_extras.hpp"

namespace rubato::inline v0 {

/// The base of a type whose objects are actors: `struct Counter : behavior<Add, Get>`, with a handler
/// `void on(Add)` for each message as docs/actors.md says.
template <class... Messages>
class behavior {
 public:
  /// Type that spawn() returns.
  using address = actor<Messages...>;

 protected:
  /// The actor itself. Like all below, in its handlers only.
  address self() const { return address::of(running("self()")); }
  /// Stops the actor after this message; messages left in the mailbox become dead letters.
  void stop() { engine::cell_of(running("stop()"))->flags |= engine::Cell::kStopping; }

  /// Puts a message aside until unstash_all(): then all of them come back in order, before the messages that
  /// wait.
  template <MessageOf<Messages...> M>
  void stash(M&& message) {
    static_assert(!Request<std::remove_cvref_t<M>>,
                  "a request is put aside with its reply: its handler is on(M, reply<M::reply> r) and calls "
                  "stash(message, std::move(r))");
    engine::Cell* const cell = engine::cell_of(running("stash()"));
    engine::extras_of(*cell).stash.append(
        engine::make_node<std::remove_cvref_t<M>>(std::forward<M>(message)));
    engine::note_stashed(1);
  }
  /// Puts a request aside; it is answered later.
  template <MessageOf<Messages...> M>
    requires Request<std::remove_cvref_t<M>>
  void stash(M&& request, reply<typename std::remove_cvref_t<M>::reply> r) {
    using Asked = engine::Asked<std::remove_cvref_t<M>>;
    engine::Cell* const cell = engine::cell_of(running("stash()"));
    engine::extras_of(*cell).stash.append(
        engine::make_node<Asked>(Asked{std::forward<M>(request), std::move(r)}));
    engine::note_stashed(1);
  }
  /// Handles the messages that stash() has put aside before all others.
  void unstash_all() {
    engine::Cell* const cell = engine::cell_of(running("unstash_all()"));
    if (cell->extras == nullptr || cell->extras->stash.is_empty()) return;
    cell->extras->unstashed.append(cell->extras->stash);  // put aside until they are taken
    cell->flags |= engine::Cell::kUnstashed;
  }

  /// Sends to this actor, later; after kForever never. A pending timer keeps run() open. It is cancelled when
  /// this actor stops, is killed or is made again.
  template <MessageOf<Messages...> M>
  timer after(AnyDuration delay, M&& message) {
    using Message = std::remove_cvref_t<M>;
    static_cast<void>(running("after()"));
    return timer(engine::add_timer(delay, Duration::zero(),
                                   std::make_shared<engine::SendLater<Message>>(std::forward<M>(message))));
  }
  /// Again and again, until it is cancelled as one of after() is. A message that is due while the one before
  /// still waits is left out. Errors: TaskError if the period is not above 0.
  template <MessageOf<Messages...> M>
  timer every(AnyDuration period, M message) {
    static_assert(std::is_copy_constructible_v<M>, "every() sends copies of its message");
    static_cast<void>(running("every()"));
    engine::check_period(period);
    return timer(
        engine::add_timer(period, period, std::make_shared<engine::SendAgain<M>>(std::move(message))));
  }

  /// Idle comes as a message when this actor has handled no other for so long: once, until it has handled
  /// one. A pending time-out keeps run() open. It ends when the actor stops or is made again, and by
  /// kForever. Errors: TaskError if the period is not above 0.
  void idle_after(AnyDuration period) {
    static_assert((std::same_as<Idle, Messages> || ...),
                  "an actor with a time-out for idleness has Idle among its messages");
    engine::set_idle_timeout(running("idle_after()"), period);
  }

  /// Opens a channel for events of type T. If this actor is made again, the channels that its constructor has
  /// opened stay: the same constructor opens them anew, in the same order.
  template <class T>
  connector<T> open() {
    return engine::open_channel<T>(running("open()"));
  }

  /// Down comes as a message when `who` has stopped, at once if it has already.
  void watch(actor<> who) {
    static_assert((std::same_as<Down, Messages> || ...), "who watches has Down among its messages");
    engine::post(who.id(), engine::make_node<engine::Watch>(engine::Watch{running("watch()"), who.id()}));
  }
  /// Ends watch(): no Down of `who` comes any more, unless it is on its way.
  void unwatch(actor<> who) {
    engine::post(who.id(), engine::make_node<engine::Unwatch>(engine::Unwatch{running("unwatch()")}));
  }

 private:
  static std::uint64_t running(const char* what) {
    const std::uint64_t actor = engine::current_actor();
    if (actor == 0) outside(what);
    return actor;
  }
  [[noreturn, gnu::cold, gnu::noinline]] static void outside(const char* what) {
    engine::misuse(std::string(what) +
                   " is called where no actor runs: a behavior may use it in its handlers, its constructor "
                   "and its destructor");
  }
};

}  // namespace rubato::inline v0
