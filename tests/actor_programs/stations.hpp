// Stations: children of a member that get events on a channel, fail and are made again, count and turn them
// by streams, and send some on to a relay with a bound. The channel is sealed by its sender, then the relay's
// by the station, and both end. Beside that a station has timers of its present life.
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include "tests/actor_programs/actors.hpp"

namespace actor_programs {

struct StationFailed : std::runtime_error {
  StationFailed() : std::runtime_error("a station fails") {}
};
/// By channel.
struct Event {
  std::uint64_t key;
  std::uint32_t number;  ///< of the events of this sender to this channel
  bool is_bad;
};
struct StationBeat {
  std::uint32_t life;
};
/// Kept over the lives of a station, or for a relay.
struct Track {
  channel<Event> in;
  std::uint32_t lives = 0, last = 0;

  void take(const Event& event) {
    ++state->handled_events;
    state->add(event.key);
    if (event.number <= last) state->violate("events of one sender overtake each other");
    last = event.number;
  }
};
inline void send_event(const channel<Event>& to, Event event) {
  ++state->events;
  to.send(event);
}

struct Relay : behavior<> {
  explicit Relay(const std::shared_ptr<Track>& track) {
    track->in = in_.channel;
    in_.events.on([track](const Event& event) { track->take(event); });
  }
  ~Relay() { ++state->ended_stations; }
  Counted counted_;
  connector<Event> in_ = open<Event>();
};

struct Station : behavior<StationBeat> {
  static constexpr bool restarts = true;
  static constexpr std::uint64_t kTaken = 3;

  Station(const std::shared_ptr<Track>& track, const channel<Event>& relay, std::uint64_t key)
      : life_(++track->lives) {
    track->in = in_.channel;
    in_.events.on(
        [this, track](const Event& event) {
          const Alone::Scope scope(alone_);
          track->take(event);
          if (event.is_bad) throw StationFailed();
        },
        [this, relay] {
          relay.seal();
          is_over_ = true;
          ++state->ended_stations;
          stop();
        });
    in_.events.take(kTaken)
        .scan(std::uint64_t{0}, [](std::uint64_t n, const Event&) { return n + 1; })
        .on([](std::uint64_t n) {
          if (n > kTaken) state->violate("a stream goes on after its end");
        });
    in_.events.filter([](const Event& event) { return event.key % 2 == 0; })
        .map([](const Event& event) {
          ++state->events;
          return Event{mix64(event.key), event.number, false};
        })
        .to(relay);
    static_cast<void>(every(std::chrono::nanoseconds(1 + mix64(key + life_) % 50'000), StationBeat{life_}));
    static_cast<void>(after(std::chrono::hours(1), StationBeat{0}));
  }
  void on(StationBeat beat) {
    const Alone::Scope scope(alone_);
    if (beat.life != life_ || is_over_) state->violate("a station's timer of another life comes");
  }

 private:
  Counted counted_;
  Alone alone_;
  connector<Event> in_ = open<Event>();
  const std::uint32_t life_;
  bool is_over_ = false;
};

/// By a member.
inline void spawn_station(std::uint64_t key) {
  constexpr std::uint64_t kMostBad = 3;
  Rng random(key);
  const auto capacity = [&random] { return static_cast<std::uint32_t>(random.below(4)); };
  const auto of_relay = std::make_shared<Track>(), of_station = std::make_shared<Track>();
  spawn<Relay>({.mailbox = {.capacity = capacity()}}, of_relay);
  spawn<Station>({.mailbox = {.capacity = capacity()}}, of_station, of_relay->in, key);
  state->stations += 2;
  std::uint64_t bad = random.below(kMostBad + 1);
  for (std::uint32_t i = 1, count = static_cast<std::uint32_t>(random.below(12)); i <= count; ++i) {
    const bool is_bad = bad != 0 && random.below(3) == 0;
    if (is_bad) --bad;
    send_event(of_station->in, {random(), i, is_bad});
  }
  const channel<Event> sealed = of_station->in;
  sealed.seal();
  if (random.below(2) == 0) send_event(sealed, {random(), kUnnumbered, false});
}

}  // namespace actor_programs
