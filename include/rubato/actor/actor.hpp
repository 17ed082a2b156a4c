// The handle of an actor, by which it receives messages. One word, trivially copyable; it keeps nothing
// alive, and is safe to use when its actor has stopped. A6, A7 and A17.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include "rubato/duration.hpp"
#include "rubato/engine/actors.hpp"

namespace rubato::inline v0 {

/// How a message is sent.
struct Send {
  Priority priority = Priority::normal;  ///< high needs Spawn::urgent
  /// How long a thread outside waits for room in a full mailbox that mutes; then send() is an error.
  AnyDuration patience = kForever;
};
/// How a request is sent.
struct Ask {
  /// The asker gets AskError::timeout if there is no answer until then.
  AnyDuration timeout = kForever;
};
/// Result of try_send(): the fate of the message.
enum class Sent : std::uint8_t { accepted, full, stopped };

/// M is one of these.
template <class M, class... Messages>
concept MessageOf = (std::same_as<std::remove_cvref_t<M>, Messages> || ...);

template <class R>
class answer;

/// A message type with a member type `reply` is a request.
template <class M>
concept Request = requires { typename M::reply; };

/// The handle of an actor that takes these messages; by a smaller set of them it may be handed on.
template <class... Messages>
class actor {
 public:
  /// Empty: using it is an error (TaskError).
  actor() = default;
  /// A handle for fewer of the actor's messages.
  template <class... More>
    requires(sizeof...(More) != sizeof...(Messages) || !(std::same_as<More, Messages> && ...)) &&
            (MessageOf<Messages, More...> && ...)
  actor(const actor<More...>& other) : handle_(other.id()) {}

  /// Errors: TaskError if the handle is empty, this thread may not create tasks now, or there was no room
  /// within options.patience.
  template <MessageOf<Messages...> M>
  void send(M&& message, Send options = {}) const {
    if (options.priority == Priority::high) [[unlikely]]
      engine::check_urgent(handle_);
    engine::MessageNode* const node = engine::make_node<std::remove_cvref_t<M>>(std::forward<M>(message));
    if (options.priority == Priority::high) [[unlikely]]
      node->word |= engine::MessageNode::kHigh;
    if (options.patience != kForever) [[unlikely]]
      return engine::post_or_throw(handle_, node, options.patience);
    engine::post(handle_, node);
  }
  /// Sends a message if there is room: never waits, and mutes no sender. The message is moved from only if it
  /// is accepted.
  template <MessageOf<Messages...> M>
  [[nodiscard]] Sent try_send(M&& message) const {
    bool is_reserved = false;
    const Sent sent = static_cast<Sent>(engine::reserve(handle_, is_reserved));
    if (!is_reserved) {
      if (sent == Sent::accepted) send(std::forward<M>(message));
      return sent;
    }
    try {
      engine::MessageNode* const node = engine::make_node<std::remove_cvref_t<M>>(std::forward<M>(message));
      node->word |= engine::MessageNode::kAdmitted;
      engine::post(handle_, node);
    } catch (...) {
      engine::give_back_place(handle_);
      throw;
    }
    return sent;
  }
  /// A request; its answer is a later message to the asking actor (rubato/actor/ask.hpp).
  template <MessageOf<Messages...> M>
    requires Request<std::remove_cvref_t<M>>
  [[nodiscard]] auto ask(M&& request, Ask options = {}) const
      -> answer<typename std::remove_cvref_t<M>::reply>;

  /// Stops the actor after all messages that this sender sent before.
  void stop() const;
  /// Stops the actor at the next boundary between two messages.
  void kill() const {
    if (handle_ == 0) engine::throw_misuse("kill() was called on an empty actor handle");
    engine::kill(handle_);
  }

  /// A number that no other actor has; 0: empty.
  std::uint64_t id() const { return handle_; }
  /// Whether it names an actor, which may have stopped.
  explicit operator bool() const { return handle_ != 0; }
  /// Whether both name the same actor.
  bool operator==(const actor&) const = default;

  /// For the runtime.
  static actor of(std::uint64_t handle) {
    actor made;
    made.handle_ = handle;
    return made;
  }

 private:
  std::uint64_t handle_ = 0;
};

namespace engine {

struct StopMessage {
  void run_in_turn() { cell_of(current_actor())->flags |= Cell::kStopping; }
};

}  // namespace engine

template <class... Messages>
void actor<Messages...>::stop() const {
  engine::post(handle_, engine::make_node<engine::StopMessage>());
}

}  // namespace rubato::inline v0

/// Hash for containers.
template <class... Messages>
struct std::hash<rubato::actor<Messages...>> {
  /// Hash of the actor's number.
  std::size_t operator()(const rubato::actor<Messages...>& a) const noexcept {
    return static_cast<std::size_t>(a.id() * 0x9e3779b97f4a7c15u >> 6);
  }
};
