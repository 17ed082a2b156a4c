// Actors that do hardly more than hand on messages, so that a run is made of switches between turns: a ring
// with one message, and a producer that sends to consumers in turn. For the figures on speculative lagging
// (native/lag), after Fig. 5 of the publication. Prints one JSON object.
//   build/release/bin/bench_actor_lag ring ACTORS MESSAGES       actors are bound to workers in turn
//   build/release/bin/bench_actor_lag loose ACTORS MESSAGES      a ring whose actors are bound to none
//   build/release/bin/bench_actor_lag consumers ACTORS MESSAGES  as many messages to each, so many in all
// A producer is bound to a worker, and its consumers to the others.
// SPDX-License-Identifier: MIT
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "bench/number.hpp"
#include "bench/processor_seconds.hpp"
#include "rubato/actors.hpp"

namespace {

using namespace rubato;  // NOLINT(google-build-using-namespace): as programs do

struct Measured {
  double seconds = 0, processor_seconds = 0;
  std::uint64_t handled = 0;
  native::Counters before{}, after{};
};

/// Runs the messages that wait, and all that come of them.
void measure(Measured& measured) {
  measured.before = native::counters();
  const double processor = processor_seconds();
  const auto began = std::chrono::steady_clock::now();
  run();
  measured.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  measured.processor_seconds = processor_seconds() - processor;
  measured.after = native::counters();
}

// ---- A ring ----

struct Pass {
  std::uint64_t left;
};
struct Member : behavior<Pass, actor<Pass>> {
  /// `handled` is written by one turn after the other: there is one message.
  explicit Member(std::uint64_t& handled) : handled_(handled) {}
  void on(actor<Pass> next) { next_ = next; }
  void on(Pass pass) {
    ++handled_;
    if (pass.left != 0) next_.send(Pass{pass.left - 1});
  }
  std::uint64_t& handled_;
  actor<Pass> next_;
};

/// As many messages before, in which the actors learn whether to lag.
Measured run_ring(std::uint64_t actors, std::uint64_t messages, bool is_bound) {
  Measured measured;
  std::vector<actor<Pass, actor<Pass>>> ring;
  for (std::uint64_t i = 0; i < actors; ++i) {
    Spawn options;
    if (is_bound) options.core = static_cast<std::uint32_t>(i % native::workers());
    ring.push_back(spawn<Member>(options, measured.handled));
  }
  for (std::uint64_t i = 0; i < actors; ++i) ring[i].send(actor<Pass>(ring[(i + 1) % actors]));
  ring[0].send(Pass{messages - 1});
  run();
  measured.handled = 0;
  ring[0].send(Pass{messages - 1});
  measure(measured);
  for (const auto& member : ring) member.stop();
  run();
  return measured;
}

// ---- A producer and consumers ----

struct Item {};
struct Consumer : behavior<Item> {
  Consumer(std::uint64_t& handled, std::uint64_t expected) : handled_(handled), expected_(expected) {}
  /// The work for a message is that of the suite's fork-join throughput.
  void on(Item) {
    const double sine = std::sin(37.2);
    const volatile double kept = sine * sine;
    static_cast<void>(kept);
    if (++count_ != expected_) return;
    handled_ = count_;
    stop();
  }
  std::uint64_t& handled_;
  std::uint64_t expected_, count_ = 0;
};

struct Begin {};
struct Producer : behavior<Begin> {
  Producer(const std::vector<actor<Item>>& to, std::uint64_t each) : to_(to), each_(each) {}
  void on(Begin) {
    for (std::uint64_t i = 0; i < each_; ++i) {
      for (const actor<Item>& consumer : to_) consumer.send(Item{});
    }
    stop();
  }
  const std::vector<actor<Item>>& to_;
  std::uint64_t each_;
};

void produce(std::uint64_t consumers, std::uint64_t each, Measured& measured) {
  std::vector<std::uint64_t> handled(consumers, 0);
  std::vector<actor<Item>> to;
  const std::uint32_t others = native::workers() - 1;
  for (std::uint32_t i = 0; i < consumers; ++i) {
    const std::uint32_t core = others == 0 ? 0 : 1 + i % others;
    to.push_back(spawn<Consumer>({.core = core}, handled[i], each));
  }
  spawn<Producer>({.core = 0}, to, each).send(Begin{});
  measure(measured);
  measured.handled = 0;
  for (const std::uint64_t count : handled) measured.handled += count;
}

/// The consumers that count are new ones: what they learn is part of the measurement, as in the publication.
Measured run_consumers(std::uint64_t consumers, std::uint64_t messages) {
  Measured measured;
  const std::uint64_t each = messages / consumers;
  produce(consumers, each / 10 + 1, measured);
  produce(consumers, each, measured);
  return measured;
}

// ---- The program ----

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void print(std::uint64_t actors, std::uint64_t messages, const Measured& m) {
  const auto grown = [&](std::uint64_t native::Counters::*counter) {
    return m.after.*counter - m.before.*counter;
  };
  using C = native::Counters;
  const std::uint64_t samples = grown(&C::turn_lag_samples), lags = grown(&C::turn_lags);
  std::printf(
      "{\"actors\": %llu, \"messages\": %llu, \"us_a_message\": %.5f, \"cpu_us_a_message\": %.5f, "
      "\"turns_a_message\": %.5f, \"samples\": %llu, \"lags\": %llu, \"hit_share\": %.5f, \"lag_us\": %.5f, "
      "\"switch_us\": %.5f, \"parks\": %llu}\n",
      static_cast<unsigned long long>(actors), static_cast<unsigned long long>(messages),
      1e6 * m.seconds / static_cast<double>(messages),
      1e6 * m.processor_seconds / static_cast<double>(messages), share(grown(&C::tasks_run), messages),
      static_cast<unsigned long long>(samples), static_cast<unsigned long long>(lags),
      share(grown(&C::turn_lag_sample_hits) + grown(&C::turn_lag_hits), samples + lags),
      share(grown(&C::turn_lag_ns), samples + lags) / 1e3, static_cast<double>(m.after.turn_switch_ns) / 1e3,
      static_cast<unsigned long long>(grown(&C::parks)));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 4 ? argv[1] : "";
  const bool is_ring = what == "ring" || what == "loose";
  const std::uint64_t actors = argc == 4 ? number<std::uint64_t>(argv[2], 1, 100'000).value_or(0) : 0;
  const std::uint64_t messages = argc == 4 ? number<std::uint64_t>(argv[3], 1, 100'000'000).value_or(0) : 0;
  if ((!is_ring && what != "consumers") || actors < (is_ring ? 2u : 1u) || messages < actors) {
    std::fputs(
        "usage: bench_actor_lag ring|loose|consumers ACTORS MESSAGES, with up to 100000 actors, at least two "
        "in a "
        "ring, and at least a message each\n",
        stderr);
    return 2;
  }
  const std::uint64_t sent = is_ring ? messages : messages / actors * actors;
  const Measured measured =
      is_ring ? run_ring(actors, messages, what == "ring") : run_consumers(actors, messages);
  if (measured.handled != sent) {
    std::fprintf(stderr, "bench_actor_lag: %llu messages were handled, %llu were sent\n",
                 static_cast<unsigned long long>(measured.handled), static_cast<unsigned long long>(sent));
    return 1;
  }
  print(actors, sent, measured);
  return 0;
}
