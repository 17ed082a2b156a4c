// Streams of events within an actor (A12): what comes in on its channels, turned into other events, and
// listened to. After the reactors model, the one that the publication on lagging was built in.
//
// A stream is a description: nothing happens before on(), to() or once(), each of which begins with counts
// and sums of its own. Listeners are called in the actor's turns, one event after the other, so they may use
// its members without a lock.
// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "rubato/actor/actor.hpp"
#include "rubato/engine/inlets.hpp"

namespace rubato::inline v0 {

template <class T>
class channel;
template <class T>
class emitter;

namespace engine {

/// Whether a chain of observers still listens. A part of a chain that ends by itself has one of its own.
struct Link {
  explicit Link(std::shared_ptr<const Link> outer = nullptr) : around(std::move(outer)) {}
  bool is_cut() const {
    for (const Link* link = this; link != nullptr; link = link->around.get())
      if (link->has_ended) return true;
    return false;
  }
  std::shared_ptr<const Link> around;
  bool has_ended = false;
};

/// The next step of a chain. After seal() nothing comes.
template <class T>
struct Observer {
  Observer() = default;
  virtual ~Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual void react(const T& event) = 0;
  virtual void seal() = 0;
};
template <class T>
using ObserverOf = std::unique_ptr<Observer<T>>;

/// Origin of events, with those that listen. Observers that are cut off are destroyed at the next event.
template <class T>
class Source final : public Inlet {
 public:
  explicit Source(std::uint64_t owner) : Inlet(typeid(T)), owner_(owner) {}

  void add(std::shared_ptr<Link> link, ObserverOf<T> observer) {
    check_listener(owner_);
    if (is_sealed_) return observer->seal();
    entries_.push_back({std::move(link), std::move(observer), false});
  }
  void emit(const T& event) {
    const Walk walk(*this);
    const std::size_t known = entries_.size();  // not those that listen from now on
    for (std::size_t i = 0; i < known && i < entries_.size(); ++i) {
      if (entries_[i].is_cut()) {
        has_cut_ = true;
      } else {
        entries_[i].observer->react(event);
      }
    }
  }
  void seal() override {
    if (std::exchange(is_sealed_, true)) return;
    const Walk walk(*this);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].is_cut()) continue;
      entries_[i].is_over = true;
      entries_[i].observer->seal();
    }
    has_cut_ = true;
  }
  void forget() override {
    is_sealed_ = true;
    const std::vector<Entry> dropped = std::exchange(entries_, {});
  }
  std::uint64_t owner() const { return owner_; }

 private:
  struct Entry {
    std::shared_ptr<Link> link;
    ObserverOf<T> observer;
    bool is_over;
    bool is_cut() const { return is_over || link->is_cut(); }
  };
  /// None is destroyed while one is called.
  class Walk {
   public:
    explicit Walk(Source& source) : source_(source) { ++source_.walks_; }
    ~Walk() {
      if (--source_.walks_ != 0 || !std::exchange(source_.has_cut_, false)) return;
      std::vector<Entry> kept, dropped;
      for (Entry& entry : source_.entries_) (entry.is_cut() ? dropped : kept).push_back(std::move(entry));
      source_.entries_ = std::move(kept);
    }
    Walk(const Walk&) = delete;
    Walk& operator=(const Walk&) = delete;

   private:
    Source& source_;
  };

  std::vector<Entry> entries_;
  const std::uint64_t owner_;
  unsigned walks_ = 0;
  bool is_sealed_ = false, has_cut_ = false;
};

template <class T, class F, class S>
struct Listener final : Observer<T> {
  Listener(F function, S on_seal) : f(std::move(function)), sealed(std::move(on_seal)) {}
  void react(const T& event) override { f(event); }
  void seal() override { sealed(); }
  F f;
  S sealed;
};
template <class T, class U, class F>
struct Map final : Observer<T> {
  Map(F function, ObserverOf<U> next) : f(std::move(function)), to(std::move(next)) {}
  void react(const T& event) override { to->react(f(event)); }
  void seal() override { to->seal(); }
  F f;
  ObserverOf<U> to;
};
template <class T, class F>
struct Filter final : Observer<T> {
  Filter(F function, ObserverOf<T> next) : f(std::move(function)), to(std::move(next)) {}
  void react(const T& event) override {
    if (f(event)) to->react(event);
  }
  void seal() override { to->seal(); }
  F f;
  ObserverOf<T> to;
};
template <class T, class A, class F>
struct Scan final : Observer<T> {
  Scan(A init, F function, ObserverOf<A> next)
      : sum(std::move(init)), f(std::move(function)), to(std::move(next)) {}
  void react(const T& event) override {
    sum = f(std::as_const(sum), event);
    to->react(sum);
  }
  void seal() override { to->seal(); }
  A sum;
  F f;
  ObserverOf<A> to;
};
template <class T>
struct Take final : Observer<T> {
  Take(std::uint64_t most, std::shared_ptr<Link> own, ObserverOf<T> next)
      : left(most), link(std::move(own)), to(std::move(next)) {}
  void react(const T& event) override {
    if (left == 0) return;  // called by itself, before it was cut off
    const bool is_last = --left == 0;
    to->react(event);
    if (!is_last) return;
    link->has_ended = true;
    to->seal();
  }
  void seal() override {
    if (std::exchange(left, 0) != 0) to->seal();
  }
  std::uint64_t left;
  std::shared_ptr<Link> link;
  ObserverOf<T> to;
};
/// The end of two chains in one.
template <class T>
struct Junction {
  explicit Junction(ObserverOf<T> next) : to(std::move(next)) {}
  ObserverOf<T> to;
  unsigned open = 2;
};
template <class T>
struct Merge final : Observer<T> {
  explicit Merge(std::shared_ptr<Junction<T>> j) : junction(std::move(j)) {}
  void react(const T& event) override { junction->to->react(event); }
  void seal() override {
    if (--junction->open == 0) junction->to->seal();
  }
  std::shared_ptr<Junction<T>> junction;
};
/// Until the other stream has an event.
template <class T>
struct Until final : Observer<T> {
  explicit Until(std::shared_ptr<Junction<T>> j) : junction(std::move(j)) {}
  void react(const T& event) override {
    if (junction->open != 0) junction->to->react(event);
  }
  void seal() override {
    if (std::exchange(junction->open, 0) != 0) junction->to->seal();
  }
  std::shared_ptr<Junction<T>> junction;
};
template <class T, class U>
struct End final : Observer<U> {
  End(std::shared_ptr<Link> own, std::shared_ptr<Junction<T>> j)
      : link(std::move(own)), junction(std::move(j)) {}
  void react(const U&) override {
    link->has_ended = true;
    if (std::exchange(junction->open, 0) != 0) junction->to->seal();
  }
  void seal() override {}
  std::shared_ptr<Link> link;
  std::shared_ptr<Junction<T>> junction;
};
template <class T>
struct Throttle final : Observer<T> {
  Throttle(Duration time, ObserverOf<T> next) : period(time), to(std::move(next)) {}
  void react(const T& event) override {
    const std::uint64_t now = actor_nanoseconds();
    if (has_begun && now - last < static_cast<std::uint64_t>(period.count())) return;
    has_begun = true;
    last = now;
    to->react(event);
  }
  void seal() override { to->seal(); }
  Duration period;
  std::uint64_t last = 0;
  bool has_begun = false;
  ObserverOf<T> to;
};

}  // namespace engine

/// A listener of events, as events<T>::on() returns it. Dropping it changes nothing.
class listening {
 public:
  listening() = default;
  /// For the runtime.
  explicit listening(std::shared_ptr<engine::Link> link) : link_(std::move(link)) {}
  /// No event reaches the listener any more. In the actor's own turns only.
  void cancel() {
    if (const auto link = std::exchange(link_, nullptr)) link->has_ended = true;
  }

 private:
  std::shared_ptr<engine::Link> link_;
};

/// Events of one type that come to an actor: those of a channel, an emitter or another stream. May be copied.
template <class T>
class events {
  using Subscribe = std::function<void(const std::shared_ptr<engine::Link>&, engine::ObserverOf<T>)>;

 public:
  /// A stream of no events, which never ends.
  events() = default;
  /// For the runtime.
  explicit events(Subscribe subscribe)
      : subscribe_(std::make_shared<const Subscribe>(std::move(subscribe))) {}

  /// Calls f(const T&) for each event from now on. Errors: TaskError outside the actor's turns.
  template <class F>
    requires std::invocable<F&, const T&>
  listening on(F f) const {
    return on(std::move(f), [] {});
  }
  /// The same, and `sealed()` once no event comes any more.
  template <class F, class S>
    requires std::invocable<F&, const T&> && std::invocable<S&>
  listening on(F f, S sealed) const {
    auto link = std::make_shared<engine::Link>();
    listen(link, std::make_unique<engine::Listener<T, F, S>>(std::move(f), std::move(sealed)));
    return listening(std::move(link));
  }
  /// Calls f(const T&) for the next event only.
  template <class F>
  listening once(F f) const {
    return take(1).on(std::move(f));
  }
  /// Sends a copy of each event to the channel. If it is one of an actor whose bounded mailbox is full, this
  /// actor has no turn until there is room: back-pressure goes from stage to stage.
  listening to(rubato::channel<T> other) const {
    return on([other](const T& event) { other.send(T(event)); });
  }

  /// f(event) of each event.
  template <class F>
  auto map(F f) const {
    using U = std::remove_cvref_t<std::invoke_result_t<F&, const T&>>;
    return derived<U>([from = *this, f](const auto& link, engine::ObserverOf<U> next) {
      from.listen(link, std::make_unique<engine::Map<T, U, F>>(f, std::move(next)));
    });
  }
  /// The events for which f(event) is true.
  template <class F>
  events filter(F f) const {
    return derived<T>([from = *this, f](const auto& link, engine::ObserverOf<T> next) {
      from.listen(link, std::make_unique<engine::Filter<T, F>>(f, std::move(next)));
    });
  }
  /// f(sum, event) of each event, which is the sum for the next one; `init` for the first.
  template <class A, class F>
  events<A> scan(A init, F f) const {
    return derived<A>([from = *this, init, f](const auto& link, engine::ObserverOf<A> next) {
      from.listen(link, std::make_unique<engine::Scan<T, A, F>>(init, f, std::move(next)));
    });
  }
  /// The first `count` events; then it is sealed.
  events take(std::uint64_t count) const {
    return derived<T>([from = *this, count](const auto& link, engine::ObserverOf<T> next) {
      if (count == 0) return next->seal();
      const auto own = std::make_shared<engine::Link>(link);
      from.listen(own, std::make_unique<engine::Take<T>>(count, own, std::move(next)));
    });
  }
  /// All but the first `count` events.
  events drop(std::uint64_t count) const {
    return derived<T>([from = *this, count](const auto& link, engine::ObserverOf<T> next) {
      auto is_kept = [left = count](const T&) mutable { return left == 0 || left-- == 0; };
      from.listen(link, std::make_unique<engine::Filter<T, decltype(is_kept)>>(is_kept, std::move(next)));
    });
  }
  /// The events of both, as they come. It is sealed when both are.
  events merge(events other) const {
    return derived<T>([from = *this, other](const auto& link, engine::ObserverOf<T> next) {
      const auto junction = std::make_shared<engine::Junction<T>>(std::move(next));
      from.listen(link, std::make_unique<engine::Merge<T>>(junction));
      other.listen(link, std::make_unique<engine::Merge<T>>(junction));
    });
  }
  /// The events until `other` has one; then it is sealed.
  template <class U>
  events until(events<U> other) const {
    return derived<T>([from = *this, other](const auto& link, engine::ObserverOf<T> next) {
      const auto own = std::make_shared<engine::Link>(link);
      const auto junction = std::make_shared<engine::Junction<T>>(std::move(next));
      from.listen(own, std::make_unique<engine::Until<T>>(junction));
      other.listen(own, std::make_unique<engine::End<T, U>>(own, junction));
    });
  }
  /// At most one event in each `period`: those that come too soon after it are left out.
  events throttle(AnyDuration period) const {
    return derived<T>([from = *this, period](const auto& link, engine::ObserverOf<T> next) {
      from.listen(link, std::make_unique<engine::Throttle<T>>(period, std::move(next)));
    });
  }

  /// For the runtime.
  void listen(const std::shared_ptr<engine::Link>& link, engine::ObserverOf<T> observer) const {
    if (subscribe_ != nullptr) (*subscribe_)(link, std::move(observer));
  }

 private:
  template <class U, class F>
  static events<U> derived(F subscribe) {
    return events<U>(std::move(subscribe));
  }

  std::shared_ptr<const Subscribe> subscribe_;
};

namespace engine {

template <class T>
events<T> events_of(const std::shared_ptr<Source<T>>& source) {
  return events<T>([source](const std::shared_ptr<Link>& link, ObserverOf<T> observer) {
    source->add(link, std::move(observer));
  });
}

}  // namespace engine

/// Events that an actor makes itself, such as from its messages. For its own turns only.
template <class T>
class emitter {
 public:
  /// Errors: TaskError where no actor runs.
  emitter() : source_(std::make_shared<engine::Source<T>>(engine::current_actor())) {
    if (engine::current_actor() == 0)
      engine::throw_misuse("an emitter is made where no actor runs: make it in a behavior");
  }
  /// Each listener is called with the event before this returns.
  void emit(const T& event) const {
    engine::check_listener(source_->owner());
    source_->emit(event);
  }
  /// No further event comes.
  void seal() const {
    engine::check_listener(source_->owner());
    source_->seal();
  }
  /// The stream of emitted events.
  rubato::events<T> events() const { return engine::events_of(source_); }

 private:
  std::shared_ptr<engine::Source<T>> source_;
};

}  // namespace rubato::inline v0
