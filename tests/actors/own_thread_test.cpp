// Actors with a thread of their own, for handlers that block: the same promises as of every actor. On the
// serial engine the option changes nothing but lists.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rubato/actors.hpp"

namespace rubato {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Spawn kOwn{.thread = ActorThread::own};

struct Add {
  int n;
};
struct Sum {
  using reply = int;
};
struct Summing : behavior<Add, Sum> {
  void on(Add add) {
    in_order_ = in_order_ && add.n > last_;
    last_ = add.n;
    sum_ += add.n;
  }
  int on(Sum) { return in_order_ ? sum_ : -1; }
  bool in_order_ = true;
  int last_ = 0, sum_ = 0;
};

TEST(OwnThread, HandlesMessagesInOrderInSeveralRuns) {
  const auto summing = spawn<Summing>(kOwn);
  for (int run_number = 1; run_number <= 3; ++run_number) {
    for (int i = 1; i <= 100; ++i) summing.send(Add{1000 * run_number + i});
    auto sum = summing.ask(Sum{});
    run();
    EXPECT_EQ(std::move(sum).get(), 100'000 * run_number * (run_number + 1) / 2 + run_number * 5050);
  }
  summing.stop();
  run();
  EXPECT_EQ(summing.try_send(Add{1}), Sent::stopped);
}

struct Go {};
/// Asks, sends to itself, sets timers and spawns, on its own thread.
struct Doing : behavior<Go, Add> {
  Doing(actor<Add, Sum> to, int& got) : to_(to), got_(got) {}
  void on(Go) {
    to_.send(Add{1});
    to_.ask(Sum{}).then([this](int sum) {
      got_ += sum;
      after(std::chrono::milliseconds(1), Add{100});
    });
    const auto child = spawn<Summing>(kOwn);
    child.send(Add{5});
    child.ask(Sum{}).then([this, child](int sum) {
      self().send(Add{10 * sum});
      child.stop();
    });
  }
  void on(Add add) {
    got_ += add.n;
    if (++adds_ == 2) stop();
  }
  actor<Add, Sum> to_;
  int& got_;
  int adds_ = 0;
};

TEST(OwnThread, MayDoWhatEveryHandlerMay) {
  const std::size_t others = living_actors().size();  // of other tests
  int got = 0;                                        // run() returns after all handlers
  const auto summing = spawn<Summing>();
  spawn<Doing>(kOwn, summing, got).send(Go{});
  run();
  EXPECT_EQ(got, 1 + 50 + 100);
  summing.stop();
  run();
  EXPECT_EQ(living_actors().size(), others);
}

/// Its parent decides about it: 1 resumes, 2 restarts, 3 stops.
struct Failing : behavior<Add> {
  static constexpr bool restarts = true;
  explicit Failing(std::vector<int>* seen) : seen_(seen) { seen_->push_back(0); }
  void on(Add add) {
    if (add.n < 0) throw std::runtime_error(std::to_string(-add.n));
    seen_->push_back(add.n);
  }
  std::vector<int>* seen_;
};
struct Boss : behavior<Go, Down> {
  Boss(const Spawn& options, std::vector<int>& seen, std::optional<Reason>& reason)
      : options_(options), seen_(seen), reason_(reason) {}
  void on(Go) {
    const auto child = spawn<Failing>(options_, &seen_);
    watch(child);
    for (const int n : {1, -1, 2, -2, 3, -3, 4}) child.send(Add{n});
  }
  void on(Down down) {
    reason_ = down.reason;
    stop();
  }
  Directive on_failure(const Failure& f) {
    try {
      std::rethrow_exception(f.error);
    } catch (const std::runtime_error& e) {
      const std::string what = e.what();
      return what == "1" ? Directive::resume : what == "2" ? Directive::restart : Directive::stop;
    }
  }
  Spawn options_;
  std::vector<int>& seen_;
  std::optional<Reason>& reason_;
};

TEST(OwnThread, IsSupervised) {
  for (const Spawn& of_boss : {Spawn{}, kOwn}) {
    std::vector<int> seen;
    std::optional<Reason> reason;
    spawn<Boss>(of_boss, kOwn, seen, reason).send(Go{});
    run();
    EXPECT_THAT(seen, ElementsAre(0, 1, 2, 0, 3));
    EXPECT_EQ(reason, Reason::failed);
  }
}

TEST(OwnThread, EndsTheRunByAnExceptionWithoutAParent) {
  std::vector<int> seen;
  const auto failing = spawn<Failing>({.name = "the failing", .thread = ActorThread::own}, &seen);
  failing.send(Add{1});
  failing.send(Add{-7});
  failing.send(Add{2});
  try {
    run();
    ADD_FAILURE() << "no exception";
  } catch (const TaskError& e) {
    EXPECT_THAT(e.what(), HasSubstr("actor the failing ("));
    EXPECT_THAT(e.what(), HasSubstr(" ended with an exception: 7"));
  }
  EXPECT_THAT(seen, ElementsAre(0, 1)) << "the rest are dead letters";
  failing.send(Add{3});
  run();
  EXPECT_THAT(seen, ElementsAre(0, 1, 3)) << "the next run works";
  failing.stop();
  run();
}

/// Puts messages aside until a negative one comes.
struct Stashing : behavior<Add> {
  explicit Stashing(std::vector<int>& seen) : seen_(seen) {}
  void on(Add add) {
    if (add.n < 0) {
      is_open_ = true;
      unstash_all();
    } else if (!is_open_) {
      stash(add);
    } else {
      seen_.push_back(add.n);
    }
  }
  std::vector<int>& seen_;
  bool is_open_ = false;
};

TEST(OwnThread, StashesAndHasAnUrgentLaneAndABound) {
  const std::size_t others = living_actors().size();
  std::vector<int> seen;
  const auto stashing =
      spawn<Stashing>({.mailbox = {.capacity = 2}, .urgent = true, .thread = ActorThread::own}, seen);
  for (const int n : {1, 2, 3, -1, 4, 5}) stashing.send(Add{n});
  run();
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4, 5));
  stashing.kill();
  run();
  EXPECT_EQ(living_actors().size(), others);
}

TEST(OwnThread, IsInListsAndMetrics) {
  const auto own = spawn<Summing>({.name = "own", .thread = ActorThread::own});
  const auto other = spawn<Summing>({.name = "other"});
  own.send(Add{1});
  run();
  for (const LivingActor& a : living_actors()) {
    EXPECT_EQ(a.has_own_thread, a.name == "own");
    EXPECT_FALSE(a.is_in_handler);
  }
  EXPECT_THAT(living_actors_text(), HasSubstr("0 waiting, on its own thread\n"));
  EXPECT_THAT(actors_as_prometheus(),
              HasSubstr("\nrubato_actors_with_own_thread{behavior=\"rubato::(anonymous "
                        "namespace)::Summing\"} 1\n"));
  own.stop();
  other.stop();
  run();
}

TEST(OwnThread, HasNoWorker) {
  const std::size_t others = living_actors().size();
  EXPECT_THROW(spawn<Summing>({.core = 0, .thread = ActorThread::own}), TaskError);
  EXPECT_EQ(living_actors().size(), others);
}

}  // namespace
}  // namespace rubato
