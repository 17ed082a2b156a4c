// Programs that divide their work: memory as deep as the recursion, joins, turns of those that go on for
// ever. R2, R5, R10.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "native/engine.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

class Recursion : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { use_workers(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Workers, Recursion, ::testing::Values(1u, 2u, 8u));

constexpr std::uint64_t mix(std::uint64_t x) { return native::mix_locale(x + 0x9e3779b97f4a7c15u); }

std::atomic<std::uint64_t> nodes{0};
void node(unsigned depth) {
  nodes.fetch_add(1, std::memory_order_relaxed);
  for (unsigned i = 0; depth != 0 && i < 2; ++i) create<nonspec>(node, {}, depth - 1);
}

/// Breadth first a million tasks of 64 bytes would wait, which the first two runs show not to be so.
TEST_P(Recursion, NeedsMemoryForItsDepthOnly) {
  constexpr unsigned kDepth = 20;
  const std::size_t before = native::the_engine().heap.bytes();
  nodes = 0;
  create<nonspec>(node, {}, kDepth);
  run();
  EXPECT_EQ(nodes, (std::uint64_t{2} << kDepth) - 1);
  EXPECT_LE(native::the_engine().heap.bytes() - before, std::size_t{8} << 20);
}

/// The same where each call waits for two others.
struct Call {
  TaskGroup group;
  std::uint64_t results[2] = {};
};
void call(std::uint64_t key, std::uint64_t depth, std::uint64_t* result, TaskGroup* group);
std::uint64_t called(std::uint64_t key, std::uint64_t depth) {
  if (depth == 0 || key % 5 == 0) return key;
  return mix(called(mix(key), depth - 1) ^ mix(called(mix(~key), depth - 1)));
}
void add_up(Call* c, std::uint64_t* result) {
  *result = mix(c->results[0] ^ mix(c->results[1]));
  delete c;
}
void call(std::uint64_t key, std::uint64_t depth, std::uint64_t* result, TaskGroup* group) {
  if (depth == 0 || key % 5 == 0) {
    *result = key;
    return;
  }
  auto* const c = new Call;
  create<nonspec>(call, {.group = &c->group}, mix(key), depth - 1, &c->results[0], &c->group);
  create<nonspec>(call, {.group = &c->group}, mix(~key), depth - 1, &c->results[1], &c->group);
  create<nonspec>(add_up, {.group = group, .after = &c->group}, c, result);
}

TEST_P(Recursion, JoinsGiveWhatCallsGive) {
  const std::size_t before = native::the_engine().heap.bytes();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::uint64_t result = 0;
    TaskGroup whole;
    create<nonspec>(call, {.group = &whole}, mix(seed), std::uint64_t{seed}, &result, &whole);
    run();
    EXPECT_EQ(result, called(mix(seed), seed)) << "seed " << seed;
    EXPECT_TRUE(whole.is_complete());
  }
  EXPECT_LE(native::the_engine().heap.bytes() - before, std::size_t{16} << 20);
}

TEST_P(Recursion, ManyTasksMayWaitForOneGroup) {
  static TaskGroup group;
  static std::atomic<std::uint64_t> members{0}, wrong{0}, waited{0};
  members = wrong = waited = 0;
  for (unsigned i = 0; i < 300; ++i) create<nonspec>([] { ++members; }, {.group = &group});
  for (unsigned i = 0; i < 300; ++i) {
    create<nonspec>(
        [] {
          if (members != 300) ++wrong;
          ++waited;
        },
        {.after = &group});
  }
  run();
  EXPECT_EQ(waited, 300u);
  EXPECT_EQ(wrong, 0u);
}

/// On one worker the last member's worker goes on with what waited, before what was created earlier.
TEST(RecursionOfOne, GoesOnBehindTheLastMember) {
  use_workers(1);
  static TaskGroup group;
  static int at = 0, continued_at = 0;
  at = continued_at = 0;
  create<nonspec>(
      [] {
        create<nonspec>([] { ++at; }, {.group = &group});
        create<nonspec>([] { continued_at = ++at; }, {.after = &group});
        for (int i = 0; i < 3; ++i) create<nonspec>([] { ++at; }, {});
      },
      {});
  run();
  EXPECT_EQ(at, 5);
  EXPECT_EQ(continued_at, 2);
}

TEST(RecursionOfOne, StartsFewTasksInTheOrderOfTheirCreation) {
  use_workers(1);
  static std::uint64_t next = 0, wrong = 0;
  next = wrong = 0;
  create<nonspec>(
      [] {
        for (std::uint64_t i = 0; i < 100; ++i) {
          create<nonspec>(
              [](std::uint64_t mine) {
                if (next++ != mine) ++wrong;
                create<nonspec>(
                    [](std::uint64_t child) {
                      if (next++ != child) ++wrong;
                    },
                    {}, mine + 100);
              },
              {}, i);
        }
      },
      {});
  run();
  EXPECT_EQ(next, 200u);
  EXPECT_EQ(wrong, 0u);
}

/// The order holds for one creator, however many tasks wait.
TEST(RecursionOfOne, StartsManyTasksOfOneCreatorInTheOrderOfTheirCreation) {
  use_workers(1);
  static std::uint64_t next = 0, wrong = 0;
  next = wrong = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    create<nonspec>(
        [](std::uint64_t mine) {
          if (next++ != mine) ++wrong;
          create<nonspec>(node, {}, 3u);
        },
        {}, i);
  }
  run();
  EXPECT_EQ(next, 10'000u);
  EXPECT_EQ(wrong, 0u);
}

// ---- Turns ----

constexpr std::uint64_t kServers = 4000, kTurns = 20;
std::atomic<std::uint64_t> turns[kServers];
std::atomic<std::uint64_t> most_ahead{0};
void serve(std::uint64_t server) {
  const std::uint64_t turn = ++turns[server];
  // No server may be two turns ahead of the one that was created beside it.
  const std::uint64_t other = turns[(server + kServers / 2) % kServers];
  const std::uint64_t ahead = turn > other ? turn - other : 0;
  if (ahead > most_ahead) most_ahead = ahead;
  if (turn < kTurns) create<nonspec>(serve, {.fair = true}, server);
}

TEST(RecursionOfOne, GivesFairTasksTheirTurnsOneAfterTheOther) {
  use_workers(1);
  for (auto& t : turns) t = 0;
  most_ahead = 0;
  for (std::uint64_t i = 0; i < kServers; ++i) create<nonspec>(serve, {.fair = true}, i);
  run();
  for (auto& t : turns) EXPECT_EQ(t, kTurns);
  EXPECT_LE(most_ahead, 1u);
}

/// Beside a recursion without end, of which many tasks wait always, both those that are fair and those that
/// are old: they have run long before the recursion gives up.
constexpr std::uint64_t kOthers = 1500, kMostSteps = 100'000'000;
std::atomic<bool> is_over{false};
std::atomic<std::uint64_t> others{0}, steps{0};
void goes_on(std::uint64_t key) {
  if (is_over || steps.fetch_add(1, std::memory_order_relaxed) >= kMostSteps) return;
  create<nonspec>(goes_on, {}, mix(key));
}
void is_other() {
  if (++others == kOthers) is_over = true;
}
TEST_P(Recursion, StarvesNeitherOldNorFairTasks) {
  for (const bool fair : {false, true}) {
    is_over = false;
    others = steps = 0;
    for (std::uint64_t i = 0; i < 100; ++i) create<nonspec>(goes_on, {}, i);
    for (std::uint64_t i = 0; i < kOthers; ++i) create<nonspec>(is_other, {.fair = fair});
    run();
    EXPECT_EQ(others, kOthers);
    EXPECT_LT(steps, kMostSteps) << (fair ? "fair" : "old") << " tasks had no turn";
  }
}

/// Remains of a failure: members and those that wait for them, nested, owned by tasks that never ran.
TEST_P(Recursion, ForgetsJoinsAfterAFailure) {
  static std::atomic<int> frames{0};
  struct Frame {
    Frame() { ++frames; }
    ~Frame() { --frames; }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;
    TaskGroup group;
  };
  struct Deep {
    static void go(std::uint64_t key, unsigned depth, TaskGroup* group) {
      if (depth == 0) {
        if (key % 64 == 7) throw 7;
        return;
      }
      auto frame = std::make_unique<Frame>();
      TaskGroup* const inner = &frame->group;
      for (unsigned i = 0; i < 2; ++i) create<nonspec>(go, {.group = inner}, mix(key + i), depth - 1, inner);
      create<nonspec>([owned = std::move(frame)] {}, {.group = group, .after = inner});
    }
  };
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    TaskGroup whole;
    create<nonspec>(Deep::go, {.group = &whole}, mix(seed), 10u, &whole);
    try {
      run();
    } catch (const TaskError&) {
    }
    EXPECT_EQ(frames, 0) << "seed " << seed;
    EXPECT_TRUE(whole.is_complete()) << "seed " << seed;
  }
}

}  // namespace
