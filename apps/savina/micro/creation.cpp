// Fork-join creation: many actors that handle one message each and stop.
// SPDX-License-Identifier: MIT
#include <atomic>

#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::creation {
namespace {

struct Message {};

struct Worker : behavior<Message> {
  explicit Worker(std::atomic<std::uint64_t>& ended) : ended_(ended) {}
  void on(Message) {
    const volatile double sine = std::sin(37.2);
    static_cast<void>(sine);
    ended_.fetch_add(1, std::memory_order_relaxed);
    stop();
  }
  std::atomic<std::uint64_t>& ended_;
};

void iterate(Iteration& it) {
  const std::uint64_t actors = it["n"];
  std::atomic<std::uint64_t> ended{0};
  it.measure([&] {
    for (std::uint64_t i = 0; i < actors; ++i) spawn<Worker>(ended).send(Message{});
  });
  it.verify([&] {
    it.expect("actors that ended", ended.load(), actors);
    it.expect_actors(actors);
    it.expect_messages(actors);
  });
}

constexpr Parameter kParameters[] = {{"n", 40'000, 2'000}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"fjcreate", "micro", "fork-join creation: actors of one message", kParameters,
                          iterate};

}  // namespace rubato::apps::savina::creation
