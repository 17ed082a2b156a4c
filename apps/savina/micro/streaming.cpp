// Streaming ping-pong of "Speculative Lagging", not of the suite: a window of messages is under way.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::streaming {
namespace {

struct Pong {};
struct Ping {
  actor<Pong> from;
};

struct Ponger : behavior<Ping> {
  Ponger(std::uint64_t& result, std::uint64_t pings) : result_(result), left_(pings) {}
  void on(Ping ping) {
    ++result_;
    ping.from.send(Pong{});
    if (--left_ == 0) stop();
  }
  std::uint64_t& result_;
  std::uint64_t left_;
};

struct Pinger : behavior<Pong> {
  Pinger(std::uint64_t& result, actor<Ping> other, std::uint64_t pings, std::uint64_t window)
      : result_(result), other_(other), to_send_(pings), left_(pings) {
    for (std::uint64_t i = 0; i < std::min(window, pings); ++i) send_one();
  }
  void on(Pong) {
    ++result_;
    if (to_send_ != 0) send_one();
    if (--left_ == 0) stop();
  }
  void send_one() {
    --to_send_;
    other_.send(Ping{self()});
  }
  std::uint64_t& result_;
  actor<Ping> other_;
  std::uint64_t to_send_, left_;
};

void iterate(Iteration& it) {
  const std::uint64_t pings = it["n"];
  std::uint64_t pinged = 0, ponged = 0;
  it.measure([&] { spawn<Pinger>(ponged, spawn<Ponger>(pinged, pings), pings, it["w"]); });
  it.verify([&] {
    it.expect("pings", pinged, pings);
    it.expect("pongs", ponged, pings);
    it.expect_actors(2);
    it.expect_messages(2 * pings);
  });
}

constexpr Parameter kParameters[] = {{"n", 25'000, 1'000}, {"w", 128, 16}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"streaming", "micro",
                          "two actors, a window of messages under way (not of the suite)", kParameters,
                          iterate};

}  // namespace rubato::apps::savina::streaming
