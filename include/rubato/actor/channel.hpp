// Channels (A12): typed inlets of an actor beside its messages, which it opens and seals one by one.
// Their events come to its mailbox, so the order of a sender's sends holds across messages and channels, and
// a bound counts both.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "rubato/actor/actor.hpp"
#include "rubato/actor/events.hpp"
#include "rubato/actor/timer.hpp"
#include "rubato/engine/actors.hpp"
#include "rubato/engine/inlets.hpp"

namespace rubato::inline v0 {

namespace engine {

/// An event of the program on its way to the channel of this number.
template <class T>
struct ChannelEvent {
  using shown_message = T;
  static constexpr bool takes_place = true;
  std::uint64_t number;
  T event;
  bool run_in_turn(MessageNode* node) {
    const std::shared_ptr<Inlet> inlet = find_inlet(number);
    if (inlet == nullptr) {
      note_dead_event(node);
      return false;
    }
    note_activity();
    static_cast<Source<T>&>(*inlet).emit(event);
    return true;
  }
};
struct SealChannel {
  std::uint64_t number;
  void run_in_turn() { seal_inlet(number); }
};

}  // namespace engine

/// An inlet of an actor, for events of one type. Two words, which may be copied and sent like a handle.
template <class T>
class channel {
 public:
  /// Empty: using it is an error (TaskError).
  channel() = default;
  /// For the runtime.
  channel(std::uint64_t owner, std::uint64_t number) : owner_(owner), number_(number) {}

  /// Sends an event, as actor::send() sends a message. If the channel is sealed it becomes a dead letter.
  void send(T event, Send options = {}) const {
    if (options.priority == Priority::high) [[unlikely]]
      engine::check_urgent(owner_);
    engine::MessageNode* const node = make(std::move(event));
    if (options.priority == Priority::high) [[unlikely]]
      node->word |= engine::MessageNode::kHigh;
    if (options.patience != kForever) return engine::post_or_throw(owner_, node, options.patience);
    engine::post(owner_, node);
  }
  /// Sends if there is room in the actor's mailbox: never waits, and mutes no sender.
  [[nodiscard]] Sent try_send(T event) const {
    bool is_reserved = false;
    const Sent sent = static_cast<Sent>(engine::reserve(owner_, is_reserved));
    if (!is_reserved) {
      if (sent == Sent::accepted) send(std::move(event));
      return sent;
    }
    try {
      engine::MessageNode* const node = make(std::move(event));
      node->word |= engine::MessageNode::kAdmitted;
      engine::post(owner_, node);
    } catch (...) {
      engine::give_back_place(owner_);
      throw;
    }
    return sent;
  }
  /// Seals the channel after all that this sender sent before.
  void seal() const { engine::post(owner_, engine::make_node<engine::SealChannel>(number_)); }

  /// The actor that has opened it.
  actor<> owner() const { return actor<>::of(owner_); }
  /// Whether it names a channel, which may be sealed.
  explicit operator bool() const { return owner_ != 0; }
  /// Whether both name the same channel.
  bool operator==(const channel&) const = default;

 private:
  engine::MessageNode* make(T&& event) const {
    using Event = engine::ChannelEvent<T>;
    return engine::make_node<Event>(Event{number_, std::move(event)});
  }

  std::uint64_t owner_ = 0, number_ = 0;
};

/// A channel with the events that come in on it, as behavior::open() returns it.
template <class T>
struct connector {
  rubato::channel<T> channel;  ///< for senders
  rubato::events<T> events;    ///< for the actor itself
  /// Seals the channel: its listeners hear so, and later events become dead letters. The end of the last
  /// channel stops an actor that has no messages. In the actor's own turns only.
  void seal() const {
    engine::check_listener(channel.owner().id());
    engine::seal_inlet(number);
  }
  std::uint64_t number = 0;  ///< of the channel, among those of its actor
};

namespace engine {

template <class T>
connector<T> open_channel(std::uint64_t owner) {
  const auto source = std::make_shared<Source<T>>(owner);
  const std::uint64_t number = open_inlet(source);
  return {rubato::channel<T>(owner, number), events_of(source), number};
}

}  // namespace engine
}  // namespace rubato::inline v0
