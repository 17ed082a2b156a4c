// Turns that lag, the miniqueue and dear switches (A25, A36 and A44 to A47): every message is handled
// in order whatever a turn waits for, waiting counts, and nothing that must go on waits behind it.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "rubato/actors.hpp"
#include "tests/native/machine_quota.hpp"

namespace {

using namespace rubato;
using Kind = native::Lagging::Kind;

unsigned cpus() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? static_cast<unsigned>(CPU_COUNT(&allowed)) : 1;
}

class Native_TurnLag : public ::testing::Test {
 protected:
  void SetUp() override { before_ = native::options(); }
  void TearDown() override { native::configure(before_); }
  static native::Options two_workers(native::Lagging lagging) {
    native::Options options;
    options.workers = 2;
    options.oversubscribe = true;
    options.lagging = lagging;
    return options;
  }

 private:
  const MachineQuota none_{std::nullopt};
  native::Options before_;
};

/// Whenever a mailbox is empty its turn waits for up to so long.
native::Lagging always(double microseconds) {
  return {.kind = Kind::published,
          .initial_rate = 1,
          .levels = native::Lagging::kTurns,
          .turn_switch_microseconds = microseconds};
}

struct Number {
  std::uint64_t value;
};
struct Enough {};

std::atomic<std::uint64_t> handled{0}, out_of_order{0};

/// Expects 1, 2, 3, ... of one sender.
struct Counting : behavior<Number, Enough> {
  void on(Number n) {
    if (n.value != ++last_) ++out_of_order;
    ++handled;
  }
  void on(Enough) { stop(); }
  std::uint64_t last_ = 0;
};

/// A thread outside sends now and then, while a turn may be waiting for it: so many, and on until
/// `is_enough`.
void send_from_outside(
    unsigned messages, const std::function<bool()>& is_enough = [] { return true; }) {
  handled = out_of_order = 0;
  native::Hold hold = native::hold();
  const auto counting = spawn<Counting>();
  unsigned sent = 0;
  std::thread client([&] {
    for (unsigned i = 1; i <= messages || !is_enough(); ++i) {
      counting.send(Number{i});
      sent = i;
      std::this_thread::sleep_for(std::chrono::microseconds(i % 4 * 100));
    }
    counting.send(Enough{});
    hold.close();
  });
  run();
  client.join();
  EXPECT_EQ(handled, sent);
  EXPECT_EQ(out_of_order, 0u);
}

TEST_F(Native_TurnLag, WhatComesWhileATurnWaitsIsHandledInItAndCounts) {
  native::configure(two_workers(always(1000)));
  const native::Counters before = native::counters();
  if (cpus() < 2) {
    send_from_outside(50);
    EXPECT_EQ(native::counters().turn_lag_samples, before.turn_lag_samples);
    return;
  }
  // However busy the machine is: workers that lose their CPU while they wait rest from it.
  send_from_outside(50,
                    [&] { return native::counters().turn_lag_sample_hits > before.turn_lag_sample_hits; });
  const native::Counters after = native::counters();
  EXPECT_GT(after.turn_lag_samples, before.turn_lag_samples);
  EXPECT_GT(after.turn_lag_sample_hits, before.turn_lag_sample_hits);
  EXPECT_LE(after.turn_lag_sample_hits, after.turn_lag_samples);
  EXPECT_GT(after.turn_lag_ns, before.turn_lag_ns);
  EXPECT_NEAR(static_cast<double>(after.turn_switch_ns), 1e6, 1e3);
  EXPECT_EQ(after.lag_samples, before.lag_samples);  // of workers: that level is off
}

TEST_F(Native_TurnLag, OffCountsNothing) {
  native::configure(two_workers({}));
  const native::Counters before = native::counters();
  send_from_outside(50);
  const native::Counters after = native::counters();
  EXPECT_EQ(after.turn_lag_samples, before.turn_lag_samples);
  EXPECT_EQ(after.turn_lag_ns, before.turn_lag_ns);
  EXPECT_EQ(after.turn_switch_ns, 0u);
}

TEST_F(Native_TurnLag, AnActorThatIsNeverToLagDoesNot) {
  native::configure(two_workers(always(1000)));
  for (const Lag lag : {Lag::never, Lag::as_configured}) {
    const native::Counters before = native::counters();
    const auto counting = spawn<Counting>({.lag = lag});
    for (unsigned i = 1; i <= 50; ++i) {
      counting.send(Number{i});
      run();
    }
    counting.stop();
    run();
    const std::uint64_t samples = native::counters().turn_lag_samples - before.turn_lag_samples;
    if (lag == Lag::never || cpus() < 2) {
      EXPECT_EQ(samples, 0u);
    } else if (native::counters().turn_lag_preempted == before.turn_lag_preempted) {
      EXPECT_GT(samples, 0u);
    }
  }
}

TEST_F(Native_TurnLag, ASwitchCheaperThanFourLooksKeepsTheLevelOff) {
  native::configure(two_workers(always(0.001)));
  const native::Counters before = native::counters();
  send_from_outside(50);
  EXPECT_EQ(native::counters().turn_lag_samples, before.turn_lag_samples);
}

struct Ball {
  std::uint64_t left;
};
struct Player : behavior<Ball, actor<Ball>, Enough> {
  void on(actor<Ball> other) { other_ = other; }
  void on(Ball ball) {
    ++handled;
    if (ball.left != 0) other_.send(Ball{ball.left - 1});
  }
  void on(Enough) { stop(); }
  actor<Ball> other_;
};
struct Pair {
  actor<Ball, actor<Ball>, Enough> one, other;
};
Pair spawn_pair(const Spawn& of_one = {}, const Spawn& of_other = {}) {
  const Pair pair{spawn<Player>(of_one), spawn<Player>(of_other)};
  pair.one.send(actor<Ball>(pair.other));
  pair.other.send(actor<Ball>(pair.one));
  return pair;
}
void play(std::uint64_t rounds) {
  handled = 0;
  const Pair pair = spawn_pair();
  pair.one.send(Ball{rounds});
  run();
  EXPECT_EQ(handled, rounds + 1);
  pair.one.send(Enough{}), pair.other.send(Enough{});
  run();
}

TEST_F(Native_TurnLag, WithOneWorkerAndNoOtherThreadNothingIsWaitedFor) {
  native::Options options = two_workers(always(1000));
  options.workers = 1;
  native::configure(options);
  const native::Counters before = native::counters();
  play(1000);
  EXPECT_EQ(native::counters().turn_lag_samples, before.turn_lag_samples);
}

TEST_F(Native_TurnLag, WhatASwitchCostsIsMeasured) {
  native::Options options = two_workers({.kind = Kind::on, .levels = native::Lagging::kTurns});
  options.workers = 1;
  native::configure(options);
  play(20'000);
  EXPECT_GT(native::counters().turn_switch_ns, 0u);
}

/// Two actors on a worker each, which has nothing else: it runs dry after each of its turns.
TEST_F(Native_TurnLag, WhatASwitchCostsAWorkerThatRunsDryIsMeasuredWithoutItsWait) {
  native::configure(two_workers({.kind = Kind::on, .levels = native::Lagging::kTurns}));
  if (cpus() < 2) return;
  constexpr std::uint64_t kRounds = 10'000;
  const Pair pair = spawn_pair({.core = 0, .lag = Lag::never}, {.core = 1, .lag = Lag::never});
  run();
  const auto began = std::chrono::steady_clock::now();
  pair.one.send(Ball{kRounds});
  run();
  const double ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count();
  const double found = static_cast<double>(native::counters().turn_switch_ns);
  EXPECT_GT(found, 0);
  // Two turns of a worker are two messages apart, of which the other worker handles one. A wait that counted
  // would make it the time of two; without it what is left is at most about that of one.
  EXPECT_LT(found, 1.5 * ns / kRounds);
  pair.one.send(Enough{}), pair.other.send(Enough{});
  run();
}

struct Slow : behavior<Enough> {
  void on(Enough) {}
};
TEST_F(Native_TurnLag, ATurnThatWaitsLetsReadyOnesGoOnSoon) {
  // A single worker: while the turn of `slow` waits, that of `counting` is ready behind it. The thread
  // outside sends to `slow` again and again, so that each of its waits is a hit.
  native::Options options = two_workers(always(200));
  options.workers = 1;
  native::configure(options);
  handled = out_of_order = 0;
  native::Hold hold = native::hold();
  const auto slow = spawn<Slow>();
  const auto counting = spawn<Counting>();
  std::thread client([&] {
    for (unsigned i = 1; i <= 100; ++i) counting.send(Number{i});
    while (handled < 100) slow.send(Enough{}), std::this_thread::sleep_for(std::chrono::microseconds(50));
    counting.stop(), slow.stop();
    hold.close();
  });
  run();
  client.join();
  EXPECT_EQ(out_of_order, 0u);
}

TEST_F(Native_TurnLag, KillAndFailureReachAnActorWhoseTurnWaits) {
  native::configure(two_workers(always(1000)));
  for (int i = 0; i < 20; ++i) {
    native::Hold hold = native::hold();
    const auto counting = spawn<Counting>();
    std::thread client([&, i] {
      counting.send(Number{1});
      std::this_thread::sleep_for(std::chrono::microseconds(i * 20));
      if (i % 2 == 0) {
        counting.kill();
      } else {
        create<nonspec>([] { throw std::string("it"); }, {});
      }
      hold.close();
    });
    if (i % 2 == 0) {
      run();
    } else {
      EXPECT_THROW(run(), TaskError);
      counting.stop();
      run();
    }
    client.join();
  }
}

TEST_F(Native_TurnLag, TheMiniqueueRunsTheTurnThatARunningOneCauses) {
  native::Options options = two_workers({});
  options.workers = 1;
  options.miniqueue = true;
  native::configure(options);
  const native::Counters before = native::counters();
  play(1600);
  // All but each 16th, which goes behind what else waits.
  const std::uint64_t next = native::counters().turns_run_next - before.turns_run_next;
  EXPECT_GE(next, 1400u);
  EXPECT_LE(next, 1600u);
}

std::vector<unsigned> order;
struct Noting : behavior<Number> {
  void on(Number n) { order.push_back(static_cast<unsigned>(n.value)); }
};
struct Sending : behavior<Enough> {
  explicit Sending(std::vector<actor<Number>> to) : to_(std::move(to)) {}
  void on(Enough) {
    for (unsigned i = 0; i < to_.size(); ++i) to_[i].send(Number{i});
  }
  std::vector<actor<Number>> to_;
};

TEST_F(Native_TurnLag, ASecondTurnDisplacesTheFirstFromTheMiniqueue) {
  for (const bool miniqueue : {false, true}) {
    native::Options options = two_workers({});
    options.workers = 1;
    options.miniqueue = miniqueue;
    native::configure(options);
    order.clear();
    std::vector<actor<Number>> noting;
    for (int i = 0; i < 4; ++i) noting.push_back(spawn<Noting>());
    const auto sending = spawn<Sending>(noting);
    sending.send(Enough{});
    run();
    const std::vector<unsigned> listed{0, 1, 2, 3}, last_first{3, 0, 1, 2};
    EXPECT_EQ(order, miniqueue ? last_first : listed);
    for (const actor<Number>& a : noting) a.stop();
    sending.stop();
    run();
  }
}

TEST_F(Native_TurnLag, ALongTurnLeavesTheNextOneToIdleWorkers) {
  native::Options options = two_workers({});
  options.miniqueue = true;
  native::configure(options);
  handled = out_of_order = 0;
  struct Long : behavior<Enough> {
    explicit Long(actor<Number> to) : to_(to) {}
    void on(Enough) {
      to_.send(Number{1});
      // Until the other one has handled it, beside this handler: by the watch, which takes it from here.
      while (handled == 0) std::this_thread::yield();
    }
    actor<Number> to_;
  };
  const auto counting = spawn<Counting>();
  const auto sender = spawn<Long>(actor<Number>(counting));
  sender.send(Enough{});
  run();
  EXPECT_EQ(handled, 1u);
  counting.stop(), sender.stop();
  run();
}

TEST_F(Native_TurnLag, WhatMakesNoSenseIsRefused) {
  const auto sentence = [](native::Lagging lagging) -> std::string {
    try {
      native::configure(two_workers(lagging));
    } catch (const TaskError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(sentence({.levels = 0}),
            "lagging has the levels 1 (workers), 2 (turns) and 3 (both), but 0 was asked for");
  EXPECT_EQ(
      sentence({.turn_switch_microseconds = 1001}),
      "the cost of a switch of turns that lagging is given is at most 1000 us, but 1001.000000 were asked "
      "for");
}

}  // namespace
