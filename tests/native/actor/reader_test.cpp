// Messages of optimistic readers: kept until the reader has won, and never sent if it has lost. R4.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <thread>

#include "rubato/actors.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;
using Clock = std::chrono::steady_clock;

std::uint64_t dead() {
  const ActorCounters counters = actor_counters();
  return std::accumulate(std::begin(counters.dead_letters), std::end(counters.dead_letters),
                         std::uint64_t{0});
}

struct Seen {
  using reply = int;
};
struct Collects : behavior<Seen> {
  int on(Seen) { return ++seen; }
  static inline std::atomic<int> seen{0};
};

struct Word {
  tracked<std::uint64_t> value = 0;
};
std::atomic<int> attempts{0}, writes{0};
std::atomic<std::uint64_t> seen{0};

/// The first attempt ends when a writer has been there, and loses.
void lose_once(resource<Word> word) {
  seen = word->value;
  if (++attempts != 1) return;
  for (const auto end = Clock::now() + std::chrono::seconds(20); writes == 0 && Clock::now() < end;)
    std::this_thread::yield();
}

class Readers : public testing::TestWithParam<Synchronization> {
 protected:
  void SetUp() override {
    use_workers(2);
    Collects::seen = 0;
    attempts = writes = 0;
  }
  /// A reader on one worker, and a writer on the other one.
  template <class Act>
  void read_twice(Act act) {
    const auto word =
        make_resource<Word>({.isolation = Isolation::shared_reads, .synchronization = GetParam()});
    create<nonspec>(
        [word, act] {
          create<nonspec>(
              [act](resource<Word> w) {
                act();
                lose_once(w);
              },
              {.on = word, .access = reads}, word);
        },
        {.core = 0});
    create<nonspec>(
        [word] {
          while (attempts == 0) std::this_thread::yield();
          create<nonspec>(
              [](resource<Word> w) {
                w->value = w->value + 1;
                ++writes;
              },
              {.on = word}, word);
        },
        {.core = 1});
    run();
    remove(word);
    EXPECT_GE(attempts, 2);
  }
};
INSTANTIATE_TEST_SUITE_P(Primitives, Readers,
                         testing::Values(Synchronization::optimistic_latch,
                                         Synchronization::optimistic_pool));

TEST_P(Readers, SendNothingIfTheyLose) {
  const auto collects = spawn<Collects>();
  const std::uint64_t before = dead();
  int told = 0;
  const subscription listening = on_dead_letter([&told](const DeadLetter&) { ++told; });
  read_twice([collects] { collects.send(Seen{}); });
  EXPECT_EQ(Collects::seen, 1);
  EXPECT_EQ(dead(), before);
  EXPECT_EQ(told, 0);
  collects.stop();
  run();
}

TEST_P(Readers, AskOnceIfTheyLose) {
  static std::atomic<int> answers{0}, errors{0};
  answers = errors = 0;
  const auto collects = spawn<Collects>();
  const std::uint64_t before = dead();
  read_twice([collects] {
    collects.ask(Seen{}).then([](int) { ++answers; }, [](AskError) { ++errors; });
    static_cast<void>(collects.ask(Seen{}));
  });
  EXPECT_EQ(Collects::seen, 2);
  EXPECT_EQ(answers, 1);
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(dead(), before);
  collects.stop();
  run();
}

}  // namespace
