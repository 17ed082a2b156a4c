// A message as it lies in memory: one line of 64 bytes, or two, like a task. A7
// and A23.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace rubato::inline v0 {

/// Why an ask has no answer.
enum class AskError : std::uint8_t {
  timeout,    ///< not in time
  stopped,    ///< the actor asked had stopped, or could not take the request
  failed,     ///< its handler ended with an exception, or called reply::fail()
  no_answer,  ///< the reply was destroyed unanswered
};

namespace engine {

struct MessageNode;

/// Error of a request that was never sent, see Worker::is_dropping_attempt(): the asker gets nothing.
inline constexpr AskError kWithdrawn{255};

/// Properties that all messages of one type share. Static, never freed; its address is the type's identity.
struct MessageType {
  /// Null for messages of programs; else the runtime's own work. @returns whether a message of the program
  /// was handled by it.
  bool (*run)(MessageNode*);
  void (*destroy)(MessageNode*);         ///< of what it carries; null: nothing to destroy
  void (*fail)(MessageNode*, AskError);  ///< null, or tells the asker; before destroy
  const std::type_info* type;            ///< of the program's message that it carries or stands for
  bool while_stopping;                   ///< handled also while an actor waits for its children's end
  /// Null unless a timer sends it. Takes the message from its timer. @returns whether it was still to come.
  bool (*withdraw)(MessageNode*);
  bool takes_place;  ///< a message of the program, which bounds of mailboxes count
};

inline constexpr std::size_t kNodeWords = 5;
inline constexpr std::size_t kLargeNodeWords = 13;

/// A large node goes on behind its 64 bytes.
struct alignas(64) MessageNode {
  /// Flags in the low bits of `word`, where the address of a cell has none.
  static constexpr std::uint64_t kLarge = 1, kHigh = 2, kAdmitted = 4, kFlags = 63;

  std::atomic<MessageNode*> next;
  const MessageType* type;
  std::uint64_t word;  ///< the sending actor, or 0; flags
  std::uint64_t payload[kNodeWords];

  bool is_large() const { return (word & kLarge) != 0; }
  bool is_high() const { return (word & kHigh) != 0; }
  /// try_send() has counted it in the receiver's bound.
  bool is_admitted() const { return (word & kAdmitted) != 0; }
  std::uint64_t sender() const { return word & ~kFlags; }
};
static_assert(sizeof(MessageNode) == 64);

/// Address where the message begins. A large message goes on behind `payload`.
inline void* payload_of(MessageNode* node) { return reinterpret_cast<std::uint64_t*>(node) + 3; }

/// A larger one lies in memory of its own, and the node holds its address.
template <class M>
inline constexpr bool is_boxed = sizeof(M) > 8 * kLargeNodeWords || alignof(M) > alignof(std::uint64_t);
template <class M>
inline constexpr bool is_large = !is_boxed<M> && sizeof(M) > 8 * kNodeWords;

template <class M>
M& message_in(MessageNode* node) {
  if constexpr (is_boxed<M>) {
    return **std::launder(static_cast<M**>(payload_of(node)));
  } else {
    return *std::launder(static_cast<M*>(payload_of(node)));
  }
}

template <class M>
void destroy_message(MessageNode* node) {
  if constexpr (is_boxed<M>) {
    std::unique_ptr<M>(&message_in<M>(node)).reset();
  } else {
    message_in<M>(node).~M();
  }
}

template <class M>
inline constexpr bool is_destroyed_by_call = is_boxed<M> || !std::is_trivially_destructible_v<M>;

template <class M>
constexpr auto fail_of() -> void (*)(MessageNode*, AskError) {
  if constexpr (requires(M& m) { m.fail(AskError::failed); }) {
    return [](MessageNode* node, AskError error) { message_in<M>(node).fail(error); };
  } else {
    return nullptr;
  }
}
/// Handler of the runtime's own messages: those have a member run_in_turn(), perhaps with their node.
template <class M>
constexpr auto run_of() -> bool (*)(MessageNode*) {
  if constexpr (requires(M& m, MessageNode* node) { m.run_in_turn(node); }) {
    return [](MessageNode* node) { return message_in<M>(node).run_in_turn(node); };
  } else if constexpr (requires(M& m) {
                         { m.run_in_turn() } -> std::same_as<bool>;
                       }) {
    return [](MessageNode* node) { return message_in<M>(node).run_in_turn(); };
  } else if constexpr (requires(M& m) { m.run_in_turn(); }) {
    return [](MessageNode* node) {
      message_in<M>(node).run_in_turn();
      return false;
    };
  } else {
    return nullptr;
  }
}
template <class M>
constexpr auto withdraw_of() -> bool (*)(MessageNode*) {
  if constexpr (requires(M& m) { m.withdraw(); }) {
    return [](MessageNode* node) { return message_in<M>(node).withdraw(); };
  } else {
    return nullptr;
  }
}
/// The message that errors name: M, or the message that M carries for the runtime.
template <class M>
constexpr const std::type_info* shown_type() {
  if constexpr (requires { typename M::shown_message; }) {
    return &typeid(typename M::shown_message);
  } else {
    return &typeid(M);
  }
}

template <class M>
inline constexpr bool is_handled_while_stopping = requires(M& m) {
  m.run_in_turn();
  M::while_stopping;
};

// Not by run_of<M>() == nullptr: under -fsanitize=undefined GCC takes no comparison of a function with null
// for constant.
template <class M>
inline constexpr bool runs_in_turn =
    requires(M& m) { m.run_in_turn(); } || requires(M& m, MessageNode* node) { m.run_in_turn(node); };

template <class M>
inline constexpr bool takes_place_of = !runs_in_turn<M> || requires { M::takes_place; };

template <class M>
inline constexpr MessageType message_type{run_of<M>(),
                                          is_destroyed_by_call<M> ? destroy_message<M> : nullptr,
                                          fail_of<M>(),
                                          shown_type<M>(),
                                          is_handled_while_stopping<M>,
                                          withdraw_of<M>(),
                                          takes_place_of<M>};

inline void destroy_payload(MessageNode* node) {
  if (node->type->destroy != nullptr) node->type->destroy(node);
}

}  // namespace engine
}  // namespace rubato::inline v0
