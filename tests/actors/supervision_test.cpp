// Supervision (A14), on every engine: why an actor has ended, how often and how soon it is made again, and
// what people are told.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "rubato/actors.hpp"

namespace supervision {

using namespace rubato;  // NOLINT(google-build-using-namespace): as programs do

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct Go {};
struct Bad {};
struct End {};

std::string error_of_run() {
  try {
    run();
  } catch (const TaskError& e) {
    return e.what();
  }
  return "";
}

struct Job : behavior<Go, Bad, End> {
  void on(Go) {}
  void on(Bad) { throw std::runtime_error("as asked"); }
  void on(End) { stop(); }
};

struct Watcher : behavior<Go, Down> {
  void on(Go) {
    Job::address jobs[4];
    for (Job::address& job : jobs) {
      job = spawn<Job>();
      watch(job);
    }
    jobs[0].send(Bad{});
    jobs[1].send(End{});
    jobs[2].stop();
    jobs[3].kill();
  }
  void on(Down down) {
    ++reasons[static_cast<unsigned>(down.reason)];
    // Once more: the reason is known also to those that watch afterwards.
    if (again_.insert(down.who.id()).second) watch(down.who);
    if (++downs_ == 8) stop();
  }
  Directive on_failure(const Failure&) { return Directive::stop; }
  static inline unsigned reasons[3] = {};
  std::set<std::uint64_t> again_;
  unsigned downs_ = 0;
};

TEST(Supervision, TellsWhyAnActorHasEnded) {
  for (unsigned& count : Watcher::reasons) count = 0;
  spawn<Watcher>().send(Go{});
  run();
  EXPECT_THAT(Watcher::reasons, ElementsAre(4, 2, 2)) << "stopped, killed, failed";
}

/// Fails when it is made, as often as it may.
struct Failing : behavior<Bad> {
  static constexpr bool restarts = true;
  Failing() {
    begun.push_back(engine::actor_nanoseconds());
    self().send(Bad{});
  }
  void on(Bad) { throw std::runtime_error("as asked"); }
  static inline std::vector<std::uint64_t> begun;
};
struct Boss : behavior<Go> {
  explicit Boss(const Restarts& limits) : limits_(limits) {}
  void on(Go) { spawn<Failing>({.name = "child", .restarts = limits_}); }
  Directive on_failure(const Failure& failure) {
    seen.push_back(failure.restarts);
    return Directive::restart;
  }
  static inline std::vector<unsigned> seen;
  const Restarts limits_;
};

std::string error_with(const Restarts& limits) {
  Failing::begun.clear();
  Boss::seen.clear();
  const auto boss = spawn<Boss>({.name = "boss"}, limits);
  boss.send(Go{});
  const std::string error = error_of_run();
  boss.stop();
  run();
  return error;
}

TEST(Supervision, MakesAnActorAgainAsOftenAsItsLimitsSay) {
  EXPECT_THAT(error_with({.most = 2}), HasSubstr("as asked"));
  EXPECT_THAT(Boss::seen, ElementsAre(0, 1, 2));
  EXPECT_THAT(error_with({}), HasSubstr("as asked"));
  EXPECT_EQ(Boss::seen.size(), 6u) << "5 times";
  EXPECT_THAT(error_with({.most = 0}), HasSubstr("as asked"));
  EXPECT_THAT(Boss::seen, ElementsAre(0));
}

TEST(Supervision, CountsRestartsWithinATime) {
  // Each restart comes 2 ms after the one before, so that at most 3 are within 5 ms.
  struct Sometimes : Boss {
    using Boss::Boss;
    Directive on_failure(const Failure& failure) {
      const Directive chosen = Boss::on_failure(failure);
      return Failing::begun.size() == 10 ? Directive::stop : chosen;
    }
  };
  Failing::begun.clear();
  Boss::seen.clear();
  const auto boss = spawn<Sometimes>(Restarts{
      .most = 4, .within = milliseconds(1), .delay = milliseconds(2), .most_delay = milliseconds(2)});
  boss.send(Go{});
  EXPECT_EQ(error_of_run(), "");
  EXPECT_EQ(Failing::begun.size(), 10u);
  boss.stop();
  run();
}

TEST(Supervision, WaitsLongerBeforeEachRestart) {
  struct Case {
    Restarts limits;
    std::vector<std::uint64_t> delays;  // milliseconds
  };
  const Case cases[] = {
      {{.most = 4, .delay = milliseconds(1), .most_delay = milliseconds(3)}, {1, 2, 3, 3}},
      {{.most = 5, .delay = milliseconds(1), .most_delay = milliseconds(16)}, {1, 2, 4, 8, 16}},
      {{.most = 3, .delay = milliseconds(1), .most_delay = kForever}, {1, 2, 4}},
      {{.most = 3, .delay = milliseconds(2), .most_delay = milliseconds(1)}, {2, 2, 2}},
  };
  for (const auto& [limits, delays] : cases) {
    EXPECT_THAT(error_with(limits), HasSubstr("as asked"));
    ASSERT_EQ(Failing::begun.size(), delays.size() + 1);
    for (unsigned i = 0; i < delays.size(); ++i) {
      const std::uint64_t waited = Failing::begun[i + 1] - Failing::begun[i];
#if defined(RUBATO_ENGINE_NATIVE)
      EXPECT_GE(waited, delays[i] * 1'000'000) << i;
#else
      EXPECT_EQ(waited, delays[i] * 1'000'000) << i;
#endif
    }
  }
}

/// Counts its lives, and tells its first name in each.
struct Member : behavior<Go, Bad> {
  static constexpr bool restarts = true;
  explicit Member(int number) : number_(number) { ++lives[number_]; }
  void on(Go) { ++handled[number_]; }
  void on(Bad) { throw std::runtime_error("as asked"); }
  static inline std::atomic<int> lives[4] = {}, handled[4] = {};
  int number_;
};
/// Cannot be made again.
struct Once : behavior<Go> {
  ~Once() { ++ended; }
  void on(Go) {}
  static inline std::atomic<int> ended{0};
};
struct Team : behavior<Go> {
  explicit Team(const Restarts& limits) {
    for (int i = 0; i < 4; ++i) members[i] = spawn<Member>({.restarts = limits}, i);
    spawn<Once>();
  }
  void on(Go) {}
  Directive on_failure(const Failure&) { return Directive::restart_all; }
  static inline actor<Go, Bad> members[4];
};

TEST(Supervision, MakesAllChildrenAgainWithTheOneThatFailed) {
  for (const Restarts& limits : {Restarts{}, Restarts{.delay = milliseconds(1)}}) {
    for (int i = 0; i < 4; ++i) Member::lives[i] = Member::handled[i] = 0;
    Once::ended = 0;
    const auto team = spawn<Team>(limits);
    for (const auto& member : Team::members) member.send(Go{});
    Team::members[2].send(Bad{});
    EXPECT_EQ(error_of_run(), "");
    for (const auto& member : Team::members) member.send(Go{});
    EXPECT_EQ(error_of_run(), "");
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(Member::lives[i], 2) << i;
      EXPECT_EQ(Member::handled[i], 2) << i;
    }
    EXPECT_EQ(Once::ended, 1) << "a child that cannot be made again stops";
    team.stop();
    run();
  }
}

TEST(Supervision, MakesNoSiblingAgainWhereTheLimitIsReached) {
  for (int i = 0; i < 4; ++i) Member::lives[i] = 0;
  const auto team = spawn<Team>(Restarts{.most = 1});
  Team::members[0].send(Bad{});
  EXPECT_EQ(error_of_run(), "");
  Team::members[0].send(Bad{});
  EXPECT_THAT(error_of_run(), HasSubstr("as asked"));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Member::lives[i], 2) << i;
  team.stop();
  run();
}

TEST(Supervision, EndsAChildThatWaitsToBeMadeAgainWithItsParent) {
  struct Leaving : Boss {
    using Boss::Boss;
    Directive on_failure(const Failure& failure) {
      stop();
      return Boss::on_failure(failure);
    }
  };
  const ActorCounters before = actor_counters();
  spawn<Leaving>(Restarts{.delay = milliseconds(2)}).send(Go{});
  EXPECT_EQ(error_of_run(), "");
  EXPECT_EQ(actor_counters().stopped - before.stopped, 2u);
}

TEST(Supervision, NamesTheChildAndItsMessageWhereItsFailureEscalates) {
  EXPECT_EQ(
      error_with({.most = 1}),
      "actor boss (supervision::Boss) handling the failure of actor child (supervision::Failing) handling "
      "supervision::Bad ended with an exception: as asked");
}

struct Read {
  using reply = int;
};
struct File : behavior<Read> {
  int on(Read) { return 1; }
};
struct Client : behavior<Go> {
  explicit Client(actor<Read> file) : file_(file) {}
  void on(Go) {
    file_.ask(Read{}).then([](int) { throw std::runtime_error("as asked"); });
  }
  actor<Read> file_;
};

TEST(Supervision, NamesTheRequestWhoseAnswerIsHandled) {
  const auto file = spawn<File>();
  const auto client = spawn<Client>({.name = "client"}, file);
  client.send(Go{});
  EXPECT_EQ(
      error_of_run(),
      "actor client (supervision::Client) handling the answer to supervision::Read ended with an exception: "
      "as asked");
  file.ask(Read{}).then([](int) { throw std::runtime_error("as asked"); });
  EXPECT_THAT(error_of_run(),
              HasSubstr("the task handling the answer to supervision::Read ended with an exception: "
                        "as asked"));
  struct Telling : behavior<Go> {
    explicit Telling(actor<Read> file) { spawn<Client>(file).send(Go{}); }
    void on(Go) {}
    Directive on_failure(const Failure& failure) {
      EXPECT_EQ(failure.message, "the answer to supervision::Read");
      stop();
      return Directive::stop;
    }
  };
  spawn<Telling>(file);
  EXPECT_EQ(error_of_run(), "");
  client.stop();
  file.stop();
  run();
}

TEST(Supervision, NamesALambdaThatHandlesAndNothingOfTheRuntime) {
  const auto lambda = spawn_from([](Bad) { throw std::runtime_error("as asked"); });
  lambda.send(Bad{});
  EXPECT_THAT(error_of_run(), Not(HasSubstr("engine::")));
  lambda.stop();
  run();
}

struct PrivateOnFailure : behavior<Go> {
  void on(Go) {}

 private:
  [[maybe_unused]] Directive on_failure(const Failure&) { return Directive::stop; }
};
struct MutableFailure : behavior<Go> {
  void on(Go) {}
  Directive on_failure(Failure&) { return Directive::stop; }
};
struct Silent : behavior<Go> {
  void on(Go) {}
  void on_failure(const Failure&) {}
};
struct LastOne final : Boss {};

TEST(Supervision, SeesAnOnFailureThatDoesNotFit) {
  static_assert(engine::Supervises<Boss> && engine::has_on_failure<Boss>());
  static_assert(engine::Supervises<LastOne> && engine::has_on_failure<LastOne>());
  static_assert(!engine::Supervises<Job> && !engine::has_on_failure<Job>());
  static_assert(!engine::Supervises<PrivateOnFailure> && engine::has_on_failure<PrivateOnFailure>());
  static_assert(!engine::Supervises<MutableFailure> && engine::has_on_failure<MutableFailure>());
  static_assert(!engine::Supervises<Silent> && engine::has_on_failure<Silent>());
}

}  // namespace supervision
