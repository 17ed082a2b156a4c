// Cost of a message in a full mailbox: an actor sends as fast as it can, another one counts.
// SPDX-License-Identifier: MIT
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::counting {
namespace {

struct Total {
  std::uint64_t count;
};
struct Increment {};
struct Retrieve {
  actor<Total> to;
};
struct Begin {};

struct Counter : behavior<Increment, Retrieve> {
  void on(Increment) { ++count_; }
  void on(Retrieve request) {
    request.to.send(Total{count_});
    stop();
  }
  std::uint64_t count_ = 0;
};

struct Producer : behavior<Begin, Total> {
  Producer(std::uint64_t& result, actor<Increment, Retrieve> counter, std::uint64_t messages)
      : result_(result), counter_(counter), messages_(messages) {}
  void on(Begin) {
    for (std::uint64_t i = 0; i < messages_; ++i) counter_.send(Increment{});
    counter_.send(Retrieve{self()});
  }
  void on(Total total) {
    result_ = total.count;
    stop();
  }
  std::uint64_t& result_;
  actor<Increment, Retrieve> counter_;
  std::uint64_t messages_;
};

void iterate(Iteration& it) {
  const std::uint64_t messages = it["n"];
  std::uint64_t result = 0;
  it.measure([&] {
    const auto counter = spawn<Counter>();
    spawn<Producer>(result, counter, messages).send(Begin{});
  });
  it.verify([&] {
    it.expect("counter", result, messages);
    it.expect_actors(2);
    it.expect_messages(messages + 3);
  });
}

constexpr Parameter kParameters[] = {{"n", 1'000'000, 5'000}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"count", "micro", "one actor sends, one counts", kParameters, iterate};

}  // namespace rubato::apps::savina::counting
