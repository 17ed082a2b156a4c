// For tests: an actor in place of another, whose messages the test looks at one by one, on every engine.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>

#include "rubato/actor/behavior.hpp"
#include "rubato/actor/spawn.hpp"

namespace rubato::inline v0 {

template <class... Messages>
class probe;

namespace engine {

/// "A::Ping", for sentences.
std::string name_of_type(const std::type_info& type);

/// A message as a probe keeps it: of a request the reply, too, so that the test answers it.
template <class M>
struct Kept {
  using type = M;
};
template <Request M>
struct Kept<M> {
  using type = std::pair<M, reply<typename M::reply>>;
};

/// Shared by a probe and its actor, which may end one before the other.
template <class... Messages>
struct ProbeBox {
  std::mutex mutex;
  std::deque<std::variant<typename Kept<Messages>::type...>> messages;
};

template <class... Messages>
struct ProbeBehavior : behavior<Messages...> {
  using shown_behavior = probe<Messages...>;
  explicit ProbeBehavior(std::shared_ptr<ProbeBox<Messages...>> b) : box(std::move(b)) {}
  template <class M>
  void on(M message) {
    keep<M>(std::move(message));
  }
  template <class M, class R>
  void on(M request, reply<R> r) {
    keep<M>(std::pair<M, reply<R>>(std::move(request), std::move(r)));
  }
  std::shared_ptr<ProbeBox<Messages...>> box;

 private:
  template <class M>
  void keep(typename Kept<M>::type kept) {
    const std::lock_guard lock(box->mutex);
    box->messages.emplace_back(std::in_place_type<typename Kept<M>::type>, std::move(kept));
  }
};

}  // namespace engine

/// An actor that keeps its messages for the test. Outside tasks, by the thread that calls run().
template <class... Messages>
class probe {
 public:
  /// Spawns it.
  explicit probe(const Spawn& options = {})
      : actor_(spawn<engine::ProbeBehavior<Messages...>>(options, box_)) {}
  probe(const probe&) = delete;
  probe& operator=(const probe&) = delete;

  /// For those that send to it.
  actor<Messages...> handle() const { return actor_; }

  /// Takes the oldest message, which must be an M; of a request a pair with its reply. If there is none yet
  /// it calls run(). Errors: TaskError if none comes, or another one.
  template <MessageOf<Messages...> M>
  typename engine::Kept<M>::type expect() {
    if (size() == 0) engine::run();
    const std::lock_guard lock(box_->mutex);
    if (box_->messages.empty())
      engine::throw_misuse(
          ("a probe expected " + engine::name_of_type(typeid(M)) + ", but no message came").c_str());
    using Kept = typename engine::Kept<M>::type;
    auto& first = box_->messages.front();
    if (!std::holds_alternative<Kept>(first))
      engine::throw_misuse(
          ("a probe expected " + engine::name_of_type(typeid(M)) + ", but got " + name_of(first)).c_str());
    Kept taken = std::move(std::get<Kept>(first));
    box_->messages.pop_front();
    return taken;
  }
  /// Errors: TaskError if a message is there that was not taken, after run().
  void expect_nothing() {
    engine::run();
    const std::lock_guard lock(box_->mutex);
    if (!box_->messages.empty())
      engine::throw_misuse(
          ("a probe expected no message, but got " + name_of(box_->messages.front())).c_str());
  }
  /// Messages that were not taken yet.
  std::size_t size() const {
    const std::lock_guard lock(box_->mutex);
    return box_->messages.size();
  }

 private:
  template <class V>
  static std::string name_of(const V& variant) {
    static const std::type_info* const types[] = {&typeid(Messages)...};
    return engine::name_of_type(*types[variant.index()]);
  }

  const std::shared_ptr<engine::ProbeBox<Messages...>> box_ =
      std::make_shared<engine::ProbeBox<Messages...>>();
  const actor<Messages...> actor_;
};

}  // namespace rubato::inline v0
