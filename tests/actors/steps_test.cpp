// Single steps, on every engine: one message is handled, and the test looks.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "rubato/actors.hpp"

namespace stepping {

using namespace rubato;  // NOLINT(google-build-using-namespace): as programs do

using ::testing::HasSubstr;

struct Add {
  int n;
};
struct Ask {
  using reply = int;
};
struct Sum : behavior<Add, Ask> {
  explicit Sum(int& sum) : sum_(sum) {}
  void on(Add add) {
    if (add.n < 0) throw std::runtime_error("below 0");
    sum_ += add.n;
  }
  int on(Ask) { return sum_; }
  int& sum_;
};

TEST(SingleSteps, HandleOneMessageEach) {
  for (const ActorThread thread : {ActorThread::any_worker, ActorThread::own}) {
    int sum = 0;
    const auto early = spawn<Sum>({.thread = thread}, sum);
    early.send(Add{1});  // before there are steps
    early.send(Add{10});
    single_steps steps;
    run();
    EXPECT_EQ(sum, 0);
    const std::optional<HandledMessage> first = steps.step();
    ASSERT_TRUE(first);
    EXPECT_EQ(sum, 1);
    EXPECT_EQ(first->who, early);
    EXPECT_EQ(first->behavior, "stepping::Sum");
    EXPECT_EQ(first->message, "stepping::Add");
    run();
    EXPECT_EQ(sum, 1) << "run() alone handles nothing";
    EXPECT_TRUE(steps.step());
    EXPECT_EQ(sum, 11);
    EXPECT_FALSE(steps.step());
    early.stop();
    EXPECT_FALSE(steps.step()) << "a stop is no message";
    EXPECT_EQ(early.try_send(Add{1}), Sent::stopped);
  }
}

TEST(SingleSteps, SeveralActorsOneMessageAStep) {
  const std::size_t others = living_actors().size();  // of other tests
  constexpr int kActors = 5, kEach = 3;
  std::vector<int> sums(kActors);
  std::vector<actor<Add>> all;
  single_steps steps;
  for (int& sum : sums) all.push_back(spawn<Sum>(sum));
  for (int i = 0; i < kEach; ++i)
    for (const auto& a : all) a.send(Add{1});
  int total = 0;
  while (steps.step()) {
    ++total;
    int seen = 0;
    for (const int sum : sums) seen += sum;
    ASSERT_EQ(seen, total);
  }
  EXPECT_EQ(total, kActors * kEach);
  for (const auto& a : all) a.kill();
  EXPECT_FALSE(steps.step());
  EXPECT_EQ(living_actors().size(), others);
}

TEST(SingleSteps, TheRestIsHandledAfterThem) {
  int sum = 0;
  const auto actor = spawn<Sum>(sum);
  {
    single_steps steps;
    for (int i = 0; i < 100; ++i) actor.send(Add{1});
    EXPECT_TRUE(steps.step());
    EXPECT_EQ(sum, 1);
    EXPECT_EQ(living_actors().front().waiting, 99u);
  }
  run();
  EXPECT_EQ(sum, 100);
  actor.stop();
  run();
}

TEST(SingleSteps, StashedMessagesTakeAStepEach) {
  struct Open {};
  struct Gate : behavior<Add, Open> {
    explicit Gate(int& sum) : sum_(sum) {}
    void on(Add add) {
      if (!is_open_) return stash(add);
      sum_ += add.n;
    }
    void on(Open) {
      is_open_ = true;
      unstash_all();
    }
    int& sum_;
    bool is_open_ = false;
  };
  int sum = 0;
  single_steps steps;
  const auto gate = spawn<Gate>(sum);
  gate.send(Add{1});
  gate.send(Add{10});
  gate.send(Open{});
  gate.send(Add{100});
  for (const int expected : {0, 0, 0, 1, 11, 111}) {
    ASSERT_TRUE(steps.step());
    EXPECT_EQ(sum, expected);
  }
  EXPECT_FALSE(steps.step());
  gate.stop();
  EXPECT_FALSE(steps.step());
}

struct Late : behavior<Add> {
  explicit Late(int& seen) : seen_(seen) { every(std::chrono::hours(1), Add{1}); }
  void on(Add add) { seen_ += add.n; }
  int& seen_;
};

TEST(SingleSteps, TakeTimersFromAClockByHand) {
  int seen = 0;
  manual_clock clock;
  single_steps steps;
  const auto late = spawn<Late>(seen);
  EXPECT_FALSE(steps.step());
  clock.advance(std::chrono::hours(1));
  EXPECT_EQ(seen, 0);
  EXPECT_TRUE(steps.step());
  EXPECT_EQ(seen, 1);
  EXPECT_FALSE(steps.step());
  late.stop();
  EXPECT_FALSE(steps.step());
}

TEST(SingleSteps, GoOnAfterAFailedRun) {
  int sum = 0;
  single_steps steps;
  const auto actor = spawn<Sum>(sum), other = spawn<Sum>(sum);
  other.send(Add{1});
  EXPECT_TRUE(steps.step());
  actor.send(Add{-1});
  EXPECT_THROW(while (steps.step()){}, TaskError);
  EXPECT_FALSE(steps.step()) << "what waited is dropped";
  actor.send(Add{10});
  other.send(Add{100});
  EXPECT_TRUE(steps.step());
  EXPECT_TRUE(steps.step());
  EXPECT_FALSE(steps.step());
  EXPECT_EQ(sum, 111);
  actor.stop();
  other.stop();
  EXPECT_FALSE(steps.step());
}

TEST(SingleSteps, AreOneAtATime) {
  single_steps steps;
  try {
    single_steps others;
    ADD_FAILURE() << "two";
  } catch (const TaskError& e) {
    EXPECT_THAT(e.what(), HasSubstr("one at a time"));
  }
}

}  // namespace stepping
