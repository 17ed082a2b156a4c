// Making actors. A6, A10 and A21.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "rubato/actor/behavior.hpp"
#include "rubato/actor/bound.hpp"
#include "rubato/actor/names.hpp"
#include "rubato/actor/restarts.hpp"
#include "rubato/group.hpp"

namespace rubato::inline v0 {

/// Whether the turns of an actor may lag (docs/lagging.md).
enum class Lag : std::uint8_t {
  as_configured,  ///< as RUBATO_LAG and native::Options say
  never,          ///< a turn of this actor ends as soon as its mailbox is empty
};

/// The thread that runs an actor's handlers.
enum class ActorThread : std::uint8_t {
  any_worker,  ///< a worker: one that a handler blocks runs nothing else
  own,         ///< a thread of this actor alone, whose handlers may block (docs/actors.md)
};

/// Options of spawn().
struct Spawn {
  std::string_view name{};               ///< unique while the actor lives
  Bound mailbox{};                       ///< of messages that wait
  bool urgent = false;                   ///< messages with Send::priority high overtake others
  Priority priority = Priority::normal;  ///< of its turns
  /// The only worker that runs it, modulo the number of workers; nothing: where its senders are.
  std::optional<std::uint32_t> core{};
  TaskGroup* group = nullptr;                    ///< complete only when the actor has stopped
  std::uint32_t turn_messages = 0;               ///< handled at most before others have a turn; 0: 50
  Restarts restarts{};                           ///< how often its parent may have it made again
  Lag lag = Lag::as_configured;                  ///< whether its turns wait for further messages
  ActorThread thread = ActorThread::any_worker;  ///< own: its handlers may block
};

namespace engine {

template <class B, class M>
concept Handles = requires(B& b, M m) { b.on(std::move(m)); };
template <class B, class M>
concept AnswersLater = requires(B& b, M m, reply<typename M::reply> r) { b.on(std::move(m), std::move(r)); };

template <class B, class M>
constexpr bool is_handled() {
  if constexpr (Request<M>) {
    if constexpr (AnswersLater<B, M>) return true;
  }
  return Handles<B, M>;
}

/// A request that was sent is handled like one that was asked; its answer goes nowhere.
template <class B, class M>
[[gnu::always_inline]] inline void call_handler(B& b, M& message, reply<typename M::reply>& answer) {
  if constexpr (AnswersLater<B, M>) {
    b.on(std::move(message), std::move(answer));
  } else if constexpr (std::is_void_v<typename M::reply>) {
    b.on(std::move(message));
    answer();
  } else {
    static_assert(!std::is_void_v<decltype(b.on(std::move(message)))>,
                  "the handler on(M) of a request M returns its answer, an M::reply, or takes a "
                  "reply<M::reply> as its second parameter");
    answer(b.on(std::move(message)));
  }
}
template <class B, class M>
[[gnu::always_inline]] inline void handle_as(B& b, MessageNode* node) {
  struct Destroyed {
    MessageNode* node;
    ~Destroyed() {
      if constexpr (is_destroyed_by_call<M>) destroy_message<M>(node);
    }
  } const destroyed{node};
  if constexpr (Request<M>) {
    reply<typename M::reply> nobody;
    call_handler<B, M>(b, message_in<M>(node), nobody);
  } else {
    b.on(std::move(message_in<M>(node)));
  }
}
template <class B, class M>
void handle_asked(B& b, MessageNode* node) {
  using Message = Asked<M>;
  struct Destroyed {
    MessageNode* node;
    const int exceptions = std::uncaught_exceptions();
    ~Destroyed() {
      if (std::uncaught_exceptions() != exceptions) message_in<Message>(node).fail(AskError::failed);
      destroy_message<Message>(node);
    }
  } const destroyed{node};
  Message& message = message_in<Message>(node);
  call_handler<B, M>(b, message.request, message.answer);
}

template <class B>
concept Supervises = requires(B& b, const Failure& f) {
  { b.on_failure(f) } -> std::same_as<Directive>;
};
/// Whether B has any member of that name, also one that is private: then it is ambiguous in a class that has
/// another one.
struct HasOnFailure {
  int on_failure;
};
template <class B>
struct AlsoHasOnFailure : B, HasOnFailure {};
template <class B>
constexpr bool has_on_failure() {
  if constexpr (std::is_final_v<B>) {
    return Supervises<B>;
  } else {
    return !requires { &AlsoHasOnFailure<B>::on_failure; };
  }
}

/// The type that people are told about.
template <class B>
struct ShownBehavior {
  using type = B;
};
template <class B>
  requires requires { typename B::shown_behavior; }
struct ShownBehavior<B> {
  using type = typename B::shown_behavior;
};

template <class B, class Address>
struct BehaviorOf;
template <class B, class... Messages>
struct BehaviorOf<B, actor<Messages...>> {
  static_assert(
      (is_handled<B, Messages>() && ...),
      "a behavior has a member on(M) for each of its messages M, public, which returns M::reply if M "
      "has that, or on(M, reply<M::reply>)");
  static_assert(Supervises<B> || !has_on_failure<B>(),
                "a behavior that supervises has a member `Directive on_failure(const Failure&)`, public");

  template <class M>
  [[gnu::always_inline]] static bool try_one(B& b, MessageNode* node) {
    if (node->type == &message_type<M>) {
      handle_as<B, M>(b, node);
      return true;
    }
    if constexpr (Request<M>) {
      if (node->type == &message_type<Asked<M>>) {
        handle_asked<B, M>(b, node);
        return true;
      }
    }
    return false;
  }
  static bool handle(void* behavior, MessageNode* node) {
    B& b = *static_cast<B*>(behavior);
    if constexpr ((std::same_as<Messages, Idle> || ...)) {
      if (node->type != &message_type<Idle>) {
        bool is_handled = false;
        try {
          is_handled = (try_one<Messages>(b, node) || ...);
        } catch (...) {
          note_activity();
          throw;
        }
        if (is_handled) note_activity();
        return is_handled;
      }
    }
    return (try_one<Messages>(b, node) || ...);
  }
  static void destroy(void* behavior) { static_cast<B*>(behavior)->~B(); }
  static constexpr auto on_failure() -> Directive (*)(void*, const Failure&) {
    if constexpr (Supervises<B>) {
      return [](void* behavior, const Failure& f) { return static_cast<B*>(behavior)->on_failure(f); };
    } else {
      return nullptr;
    }
  }
  static constexpr const MessageType* kMessages[] = {&message_type<Messages>..., nullptr};
  using Shown = typename ShownBehavior<B>::type;
  static constexpr BehaviorType type{handle,    destroy,      &typeid(Shown), kMessages, sizeof...(Messages),
                                     sizeof(B), on_failure(), turn_of<Shown>};
};

template <class B>
inline constexpr const BehaviorType& behavior_type = BehaviorOf<B, typename B::address>::type;

template <class B>
constexpr bool may_restart() {
  if constexpr (requires { B::restarts; }) {
    return B::restarts;
  } else {
    return false;
  }
}

template <class B, class... Args>
struct RemakeOf final : Remake {
  static_assert(
      (std::is_copy_constructible_v<Args> && ...),
      "a behavior with restarts = true is made again from copies of its arguments: all of them must "
      "be copyable");
  explicit RemakeOf(const Args&... args) : arguments(args...) {}
  void operator()(void* where) override {
    std::apply([where](const Args&... args) { ::new (where) B(args...); }, arguments);
  }
  std::tuple<Args...> arguments;
};

/// Rare part of spawn(): most actors do not need it.
void prepare_extras(Cell& cell, const Spawn& options);
CellOptions cell_options(const Spawn& options);
bool has_extras(const Spawn& options);

/// `prepare` comes before the constructor.
template <class B, class Prepare, class... Args>
typename B::address spawn_in(Cell* cell, Prepare prepare, Args&&... args) {
  static_assert(alignof(B) <= 64, "behaviors are aligned to 64 bytes at most");
  const std::uint64_t handle = cell->self;
  const ActorScope scope(handle);
  try {
    prepare();
    if constexpr (may_restart<B>()) {
      extras_of(*cell).remake = std::make_unique<RemakeOf<B, std::decay_t<Args>...>>(args...);
    }
    ::new (cell->behavior) B(std::forward<Args>(args)...);
  } catch (...) {
    abandon_actor(cell);
    throw;
  }
  if (cell->extras != nullptr) note_constructed(*cell);
  begin_actor(cell);
  return B::address::of(handle);
}

}  // namespace engine

/// Constructs an actor here and now. Allowed where create() is. Errors: the constructor's exception;
/// TaskError if the name is taken, or both `core` and a thread of its own are asked for.
template <class B, class... Args>
typename B::address spawn(const Spawn& options, Args&&... args) {
  engine::Cell* const cell = engine::new_cell(engine::behavior_type<B>, engine::cell_options(options));
  const auto prepare = [cell, &options] {
    if (engine::has_extras(options)) engine::prepare_extras(*cell, options);
  };
  return engine::spawn_in<B>(cell, prepare, std::forward<Args>(args)...);
}
/// Constructs an actor without options.
template <class B, class... Args>
  requires(!std::is_same_v<std::remove_cvref_t<Args>, Spawn> && ...)
typename B::address spawn(Args&&... args) {
  static constexpr engine::CellOptions kDefault;
  engine::Cell* const cell = engine::new_cell(engine::behavior_type<B>, kDefault);
  return engine::spawn_in<B>(
      cell, [] {}, std::forward<Args>(args)...);
}

namespace engine {

template <class F>
struct ParameterOf : ParameterOf<decltype(&F::operator())> {};
template <class F, class R, class M>
struct ParameterOf<R (F::*)(M)> {
  using type = std::remove_cvref_t<M>;
};
template <class F, class R, class M>
struct ParameterOf<R (F::*)(M) const> {
  using type = std::remove_cvref_t<M>;
};

template <class... Handlers>
struct FromHandlers : behavior<typename ParameterOf<Handlers>::type...>, private Handlers... {
  using shown_behavior = std::tuple_element_t<0, std::tuple<Handlers...>>;
  explicit FromHandlers(Handlers... handlers) : Handlers(std::move(handlers))... {}
  template <class M>
  decltype(auto) on(M message) {
    return call(std::move(message));
  }

 private:
  template <class M>
  decltype(auto) call(M&& message) {
    return find<M, Handlers...>()(std::forward<M>(message));
  }
  template <class M, class First, class... Rest>
  auto& find() {
    if constexpr (std::is_same_v<typename ParameterOf<First>::type, std::remove_cvref_t<M>>) {
      return static_cast<First&>(*this);
    } else {
      return find<M, Rest...>();
    }
  }
};

}  // namespace engine

/// An actor from lambdas: it understands the parameter of each.
template <class... Handlers>
auto spawn_from(Handlers... handlers) {
  return rubato::spawn<engine::FromHandlers<Handlers...>>(Spawn{}, std::move(handlers)...);
}

}  // namespace rubato::inline v0
