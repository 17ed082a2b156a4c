// Fork-join throughput: the same number of messages to each of some actors, which do a little work for each.
// SPDX-License-Identifier: MIT
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::throughput {
namespace {

struct Message {};

/// The suite's work for a message: one sine, which nothing uses.
void compute(double angle) {
  const double sine = std::sin(angle);
  const volatile double kept = sine * sine;
  static_cast<void>(kept);
}

struct Worker : behavior<Message> {
  Worker(std::uint64_t& done, std::uint64_t messages) : done_(done), messages_(messages) {}
  void on(Message) {
    compute(37.2);
    if (++handled_ != messages_) return;
    done_ = handled_;
    stop();
  }
  std::uint64_t& done_;
  std::uint64_t messages_, handled_ = 0;
};

void iterate(Iteration& it) {
  const std::uint64_t messages = it["n"], actors = it["a"];
  std::vector<std::uint64_t> done(actors, 0);
  std::vector<actor<Message>> workers;
  workers.reserve(actors);
  it.measure([&] {
    for (std::uint64_t& d : done) workers.push_back(spawn<Worker>(d, messages));
    // The suite sends while its actors run. Here they run in run(), so a task sends.
    create<nonspec>(
        [&workers, messages] {
          for (std::uint64_t i = 0; i < messages; ++i) {
            for (const actor<Message> worker : workers) worker.send(Message{});
          }
        },
        {});
  });
  it.verify([&] {
    for (const std::uint64_t d : done) it.expect("messages of an actor", d, messages);
    it.expect_actors(actors);
    it.expect_messages(messages * actors);
  });
}

constexpr Parameter kParameters[] = {{"n", 10'000, 100}, {"a", 60, 20}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"fjthrput", "micro", "fork-join throughput: messages to many actors in turn",
                          kParameters, iterate};

}  // namespace rubato::apps::savina::throughput
