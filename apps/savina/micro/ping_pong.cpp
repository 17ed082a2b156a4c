// Two actors, one message under way: the cost of a message and of a turn.
// SPDX-License-Identifier: MIT
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::ping_pong {
namespace {

struct Result {
  std::uint64_t pings = 0, pongs = 0;
};

struct Pong {};
struct Ping {
  actor<Pong> from;
};
struct SendPing {};
struct Exit {};

struct Ponger : behavior<Ping, Exit> {
  explicit Ponger(Result& result) : result_(result) {}
  void on(Ping ping) {
    ++pings_;
    ping.from.send(Pong{});
  }
  void on(Exit) {
    result_.pings = pings_;
    stop();
  }
  Result& result_;
  std::uint64_t pings_ = 0;
};

struct Pinger : behavior<SendPing, Pong> {
  Pinger(Result& result, actor<Ping, Exit> other, std::uint64_t rounds)
      : result_(result), other_(other), left_(rounds) {}
  void on(SendPing) {
    other_.send(Ping{self()});
    --left_;
  }
  void on(Pong) {
    ++pongs_;
    if (left_ != 0) return self().send(SendPing{});
    other_.send(Exit{});
    result_.pongs = pongs_;
    stop();
  }
  Result& result_;
  actor<Ping, Exit> other_;
  std::uint64_t left_, pongs_ = 0;
};

void iterate(Iteration& it) {
  const std::uint64_t rounds = it["n"];
  Result result;
  it.measure([&] {
    const auto ponger = spawn<Ponger>(result);
    spawn<Pinger>(result, ponger, rounds).send(SendPing{});
  });
  it.verify([&] {
    it.expect("pings", result.pings, rounds);
    it.expect("pongs", result.pongs, rounds);
    it.expect_actors(2);
    it.expect_messages(3 * rounds + 1);
  });
}

constexpr Parameter kParameters[] = {{"n", 40'000, 1'000}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"pingpong", "micro", "two actors, one message under way", kParameters, iterate};

}  // namespace rubato::apps::savina::ping_pong
