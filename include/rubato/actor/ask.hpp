// Request and answer (A11): ask() on a handle, reply in a handler, answer at the asker, which goes on
// meanwhile. An answer is a message to the asking actor; a task or a thread that asks gets it as a new task.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "rubato/actor/actor.hpp"
#include "rubato/actor/timer.hpp"
#include "rubato/engine/algorithm_work.hpp"
#include "rubato/task.hpp"

namespace rubato::inline v0 {

namespace errors {
inline const char* ask_error(AskError error) {
  switch (error) {
    case AskError::timeout:
      return "an ask got no answer in time";
    case AskError::stopped:
      return "an ask got no answer: the actor asked had stopped";
    case AskError::failed:
      return "an ask got no answer: its handler failed";
    case AskError::no_answer:
      break;
  }
  return "an ask got no answer: the reply was dropped";
}
inline const char* get_where_nothing_runs() {
  return "answer::get() waits for an answer, but nothing runs: call run() before it, or open a "
         "native::hold() "
         "and call run() on another thread";
}
inline const char* get_beyond_the_run() {
  return "answer::get() got no answer: nothing runs any more that could give it";
}
}  // namespace errors

namespace engine {

/// The answer to a request whose reply is void.
struct Nothing {};
template <class R>
using AnswerTo = std::conditional_t<std::is_void_v<R>, Nothing, R>;

/// Shared by the asker, the actor asked, and a timeout. The first answer or error counts.
template <class R>
class AskState {
 public:
  AskState(std::uint64_t asker, const std::type_info& request) : request_(&request), asker_(asker) {}
  AskState(const AskState&) = delete;
  AskState& operator=(const AskState&) = delete;

  static AskState* make(std::uint64_t asker, const std::type_info& request) {
    AskState* const state = make_uncounted(asker, request);
    note_asks(1);
    return state;
  }
  static AskState* make_uncounted(std::uint64_t asker, const std::type_info& request) {
    if constexpr (kIsBlock) {
      static_assert(sizeof(AskState) <= kBytes);
      return ::new (new_block<kBytes>()) AskState(asker, request);
    } else {
      return new AskState(asker, request);
    }
  }
  void share() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if constexpr (kIsBlock) {
      this->~AskState();
      free_block<kBytes>(this);
    } else {
      delete this;
    }
  }

  void answer(R&& value) {
    if (!claim()) return;
    value_.emplace(std::move(value));
    complete();
  }
  void fail(AskError error) {
    if (!claim()) return;
    if (error == kWithdrawn) return drop_continuation();
    error_ = error;
    complete();
  }
  /// For the asker: `node` is sent to it once there is an answer.
  void continue_with(MessageNode* node) {
    continuation_ = node;
    if (phase_.exchange(kContinued, std::memory_order_acq_rel) == kAnswered) deliver();
  }
  /// For the asker: until there is an answer, this timer is pending.
  void set_timer(std::uint64_t number) {
    timer_.store(number, std::memory_order_seq_cst);
    if (is_claimed_.load(std::memory_order_seq_cst)) cancel_timer(number);
  }
  bool is_answered() const { return phase_.load(std::memory_order_acquire) == kAnswered; }
  /// For a thread outside: blocks until there is an answer. @returns false if run() has ended before. Errors:
  /// TaskError if nothing runs.
  bool wait() {
    WaitsForRun waiting{[](void* state) { static_cast<AskState*>(state)->interrupt(); }, this};
    if (!begin_wait(waiting)) {
      if (is_answered()) return true;
      misuse(errors::get_where_nothing_runs());
    }
    phase_.wait(kOpen, std::memory_order_acquire);
    end_wait(waiting);
    return is_answered();
  }

  const std::type_info& request() const { return *request_; }

  // Once answered.
  std::optional<R>& value() { return value_; }
  AskError error() const { return error_; }

 private:
  static constexpr std::uint32_t kOpen = 0, kContinued = 1, kAnswered = 2, kInterrupted = 3;

  // Like a message it comes from the thread's own memory, unless it is larger.
  static constexpr std::size_t kBytes = sizeof(std::optional<R>) <= 16 ? 64 : 128;
  static constexpr bool kIsBlock = sizeof(std::optional<R>) <= 80 && alignof(R) <= 16;

  struct Freed {
    void operator()(MessageNode* node) const {
      destroy_payload(node);
      free_node(node);
    }
  };

  void interrupt() {
    std::uint32_t open = kOpen;
    if (phase_.compare_exchange_strong(open, kInterrupted, std::memory_order_acq_rel)) phase_.notify_all();
  }
  bool claim() {
    if (is_claimed_.exchange(true, std::memory_order_seq_cst)) return false;
    note_asks(-1);
    if (const std::uint64_t number = timer_.load(std::memory_order_seq_cst)) cancel_timer(number);
    return true;
  }
  /// The asker asks again, and continues with that answer.
  void drop_continuation() {
    if (phase_.load(std::memory_order_acquire) == kContinued) Freed{}(std::exchange(continuation_, nullptr));
  }
  void complete() {
    if (phase_.exchange(kAnswered, std::memory_order_acq_rel) == kContinued) return deliver();
    phase_.notify_all();
  }
  void deliver() {
    MessageNode* const node = continuation_;
    if (asker_ != 0) return post(asker_, node);
    engine::create<TaskType::nonspec>(Late{std::unique_ptr<MessageNode, Freed>(node)}, Annotations{});
  }
  /// Continuation in a task of its own, for an asker that is no actor. A failed run drops it unrun.
  struct Late {
    using TaskName = task_names::then<R>;
    std::unique_ptr<MessageNode, Freed> node;
    void operator()() const {
      try {
        node->type->run(node.get());
      } catch (...) {
        throw_of_answer();
      }
    }
  };

  std::atomic<std::uint32_t> phase_{kOpen};
  std::atomic<std::uint32_t> references_{2};  // the answer and the reply
  std::atomic<std::uint64_t> timer_{0};
  std::atomic<bool> is_claimed_{false};
  AskError error_ = AskError::no_answer;
  const std::type_info* request_;
  const std::uint64_t asker_;
  MessageNode* continuation_ = nullptr;
  std::optional<R> value_;
};

/// Owns one reference.
template <class R>
class AskReference {
 public:
  AskReference() = default;
  explicit AskReference(AskState<R>* state) : state_(state) {}
  AskReference(AskReference&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  AskReference& operator=(AskReference&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~AskReference() {
    if (state_ != nullptr) state_->release();
  }
  AskState<R>* operator->() const { return state_; }
  explicit operator bool() const { return state_ != nullptr; }

 private:
  AskState<R>* state_ = nullptr;
};

/// Runs in the asker's turn.
template <class R, class F, class E>
struct AskContinuation {
  using shown_message = F;
  AskReference<R> state;
  F then;
  E otherwise;
  void run_in_turn() {
    note_activity();
    try {
      if (!state->value()) {
        otherwise(state->error());
      } else if constexpr (std::is_same_v<R, Nothing>) {
        then();
      } else {
        then(std::move(*state->value()));
      }
    } catch (...) {
      name_handled("the answer to ", state->request());
      throw;
    }
  }
};

}  // namespace engine

/// How a handler answers, now or later. Destroyed unanswered: the asker gets no_answer.
template <class R>
class [[nodiscard]] reply {
 public:
  reply() = default;
  /// For the runtime.
  explicit reply(engine::AskReference<R> state) : state_(std::move(state)) {}
  /// The other is empty then.
  reply(reply&&) noexcept = default;
  /// Drops the reply that this one held before: its asker gets no_answer.
  reply& operator=(reply&& other) noexcept {
    fail(AskError::no_answer);
    state_ = std::move(other.state_);
    return *this;
  }
  ~reply() { fail(AskError::no_answer); }
  /// The first of value and error counts. If the request was sent and not asked, both do nothing.
  void operator()(R value) {
    const engine::AskReference<R> state = std::move(state_);
    if (state) state->answer(std::move(value));
  }
  /// Answers with an error.
  void fail(AskError error) {
    const engine::AskReference<R> state = std::move(state_);
    if (state) state->fail(error);
  }

 private:
  engine::AskReference<R> state_;
};

/// Reply to a request whose reply is void: it says that the request was handled.
template <>
class [[nodiscard]] reply<void> : public reply<engine::Nothing> {
 public:
  using reply<engine::Nothing>::reply;
  reply() = default;
  /// Answers that the request was handled.
  void operator()() { reply<engine::Nothing>::operator()(engine::Nothing{}); }
};

/// Result of ask(): the answer that will come. then() or get() takes it. If it is dropped, the answer is
/// ignored.
template <class R>
class [[nodiscard]] answer {
 public:
  /// For the runtime.
  explicit answer(engine::AskReference<R> state) : state_(std::move(state)) {}

  /// Calls f(R) in a later message of the asking actor. An ask outside actors calls it in a new task, which
  /// may run beside those of other answers. Without on_error, errors are ignored.
  template <class F>
  void then(F f) && {
    std::move(*this).then(std::move(f), [](AskError) {});
  }
  /// The same; on_error(AskError) is called if no answer comes.
  template <class F, class E>
  void then(F f, E on_error) && {
    using Continued = engine::AskContinuation<R, F, E>;
    engine::AskState<R>* const state = state_.operator->();
    state->continue_with(
        engine::make_node<Continued>(Continued{std::move(state_), std::move(f), std::move(on_error)}));
  }
  /// Blocks. Outside tasks only: after run(), or on another thread than run(), also before run() has begun if
  /// a native::hold() is open.
  /// Errors: TaskError in a task, if nothing runs, and if there is no answer before run() ends.
  R get(AnyDuration patience = kForever) && {
    using Clock = std::chrono::steady_clock;
    if (engine::is_in_task())
      engine::throw_misuse("answer::get() is called in a task, which it would block: use then()");
    const Clock::time_point begin = Clock::now();
    if (patience == kForever) {
      if (!state_->is_answered() && !state_->wait()) engine::misuse(errors::get_beyond_the_run());
    } else {
      for (bool has_waited = false; !state_->is_answered(); has_waited = true) {
        const bool may_come = engine::may_wait_for_answers();
        if (state_->is_answered()) break;
        if (!may_come)
          engine::misuse(has_waited ? errors::get_beyond_the_run() : errors::get_where_nothing_runs());
        if (Clock::now() - begin >= patience) engine::misuse(errors::ask_error(AskError::timeout));
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    }
    if (!state_->value()) engine::misuse(errors::ask_error(state_->error()));
    return std::move(*state_->value());
  }

 private:
  engine::AskReference<R> state_;
};

/// Answer to a request whose reply is void: then(f) calls f().
template <>
class [[nodiscard]] answer<void> : public answer<engine::Nothing> {
 public:
  using answer<engine::Nothing>::answer;
  /// Waits as get() of other answers does.
  void get(AnyDuration patience = kForever) && {
    static_cast<void>(static_cast<answer<engine::Nothing>&&>(*this).get(patience));
  }
};

namespace engine {

/// A request whose asker waits for an answer.
template <class M>
struct Asked {
  using shown_message = M;
  M request;
  reply<typename M::reply> answer;
  void fail(AskError error) { answer.fail(error); }
};

template <class R>
struct AskTimeout {
  AskReference<R> state;
  void operator()() { state->fail(AskError::timeout); }
};
/// The time in which a thread outside waits for room counts, too.
template <class R>
void ask_within(std::uint64_t to, MessageNode* node, Duration timeout, AskState<R>& state) {
  try {
    state.share();
    state.set_timer(call_after(timeout, AskTimeout<R>{AskReference<R>(&state)}));
  } catch (...) {
    destroy_payload(node);
    free_node(node);
    throw;
  }
  if (post_within(to, node, timeout)) return;
  node->type->fail(node, AskError::timeout);
  destroy_payload(node);
  free_node(node);
}

}  // namespace engine

template <class... Messages>
template <MessageOf<Messages...> M>
  requires Request<std::remove_cvref_t<M>>
auto actor<Messages...>::ask(M&& request, Ask options) const
    -> answer<typename std::remove_cvref_t<M>::reply> {
  using Message = std::remove_cvref_t<M>;
  using R = typename Message::reply;
  using Answer = engine::AnswerTo<R>;
  auto* const state = engine::AskState<Answer>::make(engine::current_actor(), typeid(Message));
  answer<R> result{engine::AskReference<Answer>(state)};
  reply<R> token{engine::AskReference<Answer>(state)};
  engine::MessageNode* const node = engine::make_node<engine::Asked<Message>>(
      engine::Asked<Message>{std::forward<M>(request), std::move(token)});
  if (options.timeout == kForever) {
    engine::post(handle_, node);
  } else {
    engine::ask_within(handle_, node, options.timeout, *state);
  }
  return result;
}

}  // namespace rubato::inline v0
