// Interface that every engine with actors provides; the headers under rubato/actor/ are written in its terms.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <new>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "rubato/actor/bound.hpp"
#include "rubato/engine/select.hpp"
#include "rubato/errors.hpp"

#if defined(RUBATO_ENGINE_CHIP)
#error \
    "actors run on the native and serial engines; on the chip write tasks with the actor's number as locale (.on)"
#elif defined(RUBATO_ENGINE_NATIVE)
#include "rubato/engine/native_actors.hpp"
#else
#include "rubato/engine/serial_actors.hpp"
#endif

namespace rubato::inline v0::engine {

struct CellOptions {
  std::uint16_t core = Cell::kAnyCore;
  Priority priority = Priority::normal;
  std::uint16_t turn_messages = 0;
  bool urgent = false;
  Bound mailbox{};
};

/// A cell with memory for the behavior, whose constructor is yet to be called: until begin_actor() or
/// abandon_actor() its messages wait.
Cell* new_cell(const BehaviorType& type, const CellOptions& options);
void begin_actor(Cell* cell);
void abandon_actor(Cell* cell);
/// Sends. The node is the engine's afterwards. Errors: TaskError from a thread that may not create tasks.
void post(std::uint64_t to, MessageNode* node);
/// Sends; a thread outside waits so long at most for room in a full mailbox. False: there was none, and the
/// node is still the caller's.
bool post_within(std::uint64_t to, MessageNode* node, std::chrono::nanoseconds patience);
/// Errors: TaskError instead of false.
void post_or_throw(std::uint64_t to, MessageNode* node, std::chrono::nanoseconds patience);
/// Errors: TaskError if the actor has no urgent lane.
void check_urgent(std::uint64_t to);
/// Result of try_send(), as a Sent. If a mailbox with a bound accepts, a place `is_reserved` for a message
/// that is marked as admitted, unless the mailbox drops the oldest.
unsigned reserve(std::uint64_t to, bool& is_reserved);
void give_back_place(std::uint64_t to);
/// A cell whose owner has put it aside (Cell::kWaiting) goes on.
void resume_actor(Cell& cell);
/// Stops the actor at the next boundary of messages.
void kill(std::uint64_t handle);
/// Whether an answer that is not there yet may still come while this thread waits for it.
bool may_wait_for_answers();
/// Entry of a thread outside that waits for an answer: `interrupt` is called when a run ends.
struct WaitsForRun {
  void (*interrupt)(void*);
  void* argument;
  std::uint64_t since = 0;  ///< the engine's: which run it was
  WaitsForRun* next = nullptr;
  WaitsForRun** place = nullptr;
};
/// False: nothing runs, and it must not wait.
bool begin_wait(WaitsForRun& waiting);
/// Ends the wait: `interrupt` is not called any more.
void end_wait(WaitsForRun& waiting);
/// Names the work for the error text, while an exception leaves a function that the runtime calls: such as
/// "the answer to Read" instead of a type of the runtime.
void name_handled(const char* before, const std::type_info& message) noexcept;
/// Rethrows the exception as one of the task that handles an answer.
[[noreturn]] void throw_of_answer();
[[noreturn]] void throw_misuse(const char* sentence);
/// How many asks without an answer, and stashed messages, there are more now.
void note_asks(int change);
void note_stashed(std::int64_t change);
/// A message of the program was too large for a node, and lies in memory of its own.
void count_allocated();

/// Bound of the workers' numbers: one above the highest.
unsigned core_limit();
/// The engine's clock; on the serial engine it is virtual.
std::uint64_t actor_nanoseconds();
/// An event has come to a channel that is sealed.
void note_dead_event(const MessageNode* node);
/// The extras of the running actor's cell, which the first use makes.
Extras& extras_of(Cell& cell);

template <class M, class... Args>
[[gnu::always_inline]] inline MessageNode* make_node(Args&&... args) {
  static_assert(std::is_nothrow_move_constructible_v<M>,
                "messages must be nothrow-move-constructible: they are moved from node to handler");
  if constexpr (is_boxed<M>) {
    auto boxed = std::make_unique<M>(std::forward<Args>(args)...);
    count_allocated();
    MessageNode* const node = new_node<false>();
    node->type = &message_type<M>;
    ::new (payload_of(node)) M*(boxed.release());
    return node;
  } else if constexpr (std::is_nothrow_constructible_v<M, Args&&...>) {
    MessageNode* const node = new_node<is_large<M>>();
    node->type = &message_type<M>;
    ::new (payload_of(node)) M(std::forward<Args>(args)...);
    return node;
  } else {
    M message(std::forward<Args>(args)...);
    return make_node<M>(std::move(message));
  }
}

/// An actor belongs to a group until it has stopped.
void join_group(TaskGroup& group);
void leave_group(TaskGroup& group);

/// Scope in which an actor's code runs on this thread, in a turn or elsewhere.
class ActorScope {
 public:
  explicit ActorScope(std::uint64_t actor) : before_(std::exchange(current_actor(), actor)) {}
  ~ActorScope() { current_actor() = before_; }
  ActorScope(const ActorScope&) = delete;
  ActorScope& operator=(const ActorScope&) = delete;

 private:
  std::uint64_t before_;
};

}  // namespace rubato::inline v0::engine
