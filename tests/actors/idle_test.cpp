// A time-out for idleness: Idle comes once when an actor has handled nothing for so long, never early. On
// every engine.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "rubato/actors.hpp"

namespace rubato {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

std::uint64_t now() { return engine::actor_nanoseconds(); }

struct Work {
  bool fails = false;
};
struct End {};

struct Session : behavior<Work, Idle, End> {
  static constexpr bool restarts = true;
  Session(std::vector<std::string>* log, nanoseconds period) : log_(log), period_(period), last_(now()) {
    idle_after(period);
    log_->push_back("begin");
  }
  void on(Work work) {
    last_ = now();
    log_->push_back("work");
    if (work.fails) throw std::runtime_error("it fails");
  }
  void on(Idle) {
    log_->push_back(now() - last_ < static_cast<std::uint64_t>(period_.count()) ? "early" : "idle");
  }
  void on(End) { stop(); }
  std::vector<std::string>* log_;
  nanoseconds period_;
  std::uint64_t last_;
};

/// Sends at these times, in milliseconds.
struct Client : behavior<Work> {
  Client(actor<Work> to, const std::vector<int>& at) : to_(to), left_(at.size()) {
    for (const int ms : at) static_cast<void>(after(milliseconds(ms), Work{}));
  }
  void on(Work) {
    to_.send(Work{});
    if (--left_ == 0) stop();
  }
  actor<Work> to_;
  std::size_t left_;
};

using Log = std::vector<std::string>;

TEST(IdleTimeout, ComesOnceAfterTheLastMessageAndHoldsTheRunOpenNoLonger) {
  Log log;
  const auto session = spawn<Session>(&log, milliseconds(20));
  session.send(Work{});
  run();
  EXPECT_EQ(log, (Log{"begin", "work", "idle"}));
  run();
  EXPECT_EQ(log, (Log{"begin", "work", "idle"})) << "not again without a message";
  session.send(Work{});
  run();
  EXPECT_EQ(log, (Log{"begin", "work", "idle", "work", "idle"}));
  session.send(End{});
  run();
}

TEST(IdleTimeout, MessagesPutItOff) {
  Log log;
  const auto session = spawn<Session>(&log, milliseconds(400));
  spawn<Client>(actor<Work>(session), std::vector<int>{5, 10, 15, 20, 25});
  run();
  // Once at the end, and before only where this machine had no time for five messages.
  EXPECT_EQ(std::count(log.begin(), log.end(), "work"), 5);
  EXPECT_EQ(std::count(log.begin(), log.end(), "early"), 0);
  EXPECT_EQ(log.back(), "idle");
  session.send(End{});
  run();
}

TEST(IdleTimeout, EndsWithItsActorAndDoesNotHoldTheRunOpenThen) {
  Log log;
  const auto session = spawn<Session>(&log, std::chrono::hours(24));
  session.send(End{});
  run();
  EXPECT_EQ(log, (Log{"begin"}));
}

struct Boss : behavior<End> {
  Boss(Log* log) : session_(spawn<Session>(log, milliseconds(30))) { session_.send(Work{.fails = true}); }
  Directive on_failure(const Failure&) { return Directive::restart; }
  void on(End) { stop(); }
  actor<Work, Idle, End> session_;
};
TEST(IdleTimeout, OfAFormerLifeDoesNotCome) {
  Log log;
  const auto boss = spawn<Boss>(&log);
  run();
  EXPECT_EQ(std::count(log.begin(), log.end(), "begin"), 2);
  EXPECT_EQ(std::count(log.begin(), log.end(), "early"), 0);
  EXPECT_EQ(log.back(), "idle");
  boss.send(End{});
  run();
}

struct Careless : behavior<Work, Idle> {
  explicit Careless(std::string* said) {
    idle_after(milliseconds(1));
    idle_after(kForever);
    try {
      idle_after(nanoseconds(0));
    } catch (const TaskError& e) {
      *said = e.what();
    }
  }
  void on(Work) { stop(); }
  void on(Idle) { FAIL() << "it was ended"; }
};
TEST(IdleTimeout, ForeverEndsItAndZeroIsRefused) {
  std::string said;
  const auto careless = spawn<Careless>(&said);
  run();
  EXPECT_EQ(said, "idle_after() is called with a period of 0 ns: a period must be above 0");
  careless.send(Work{});
  run();
}

}  // namespace
}  // namespace rubato
