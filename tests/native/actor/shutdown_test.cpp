// shutdown() beside a run of another thread: it ends at its deadline, and says which actors are left.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "rubato/actors.hpp"

namespace {

using namespace rubato;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

struct Go {};
struct Plain : behavior<Go> {
  void on(Go) {}
};
/// In a destructor or handler, until it is let go.
std::atomic<bool> is_inside{false}, may_go{false};
void stay() {
  is_inside = true;
  while (!may_go) std::this_thread::yield();
}
struct Stays : behavior<Go> {
  void on(Go) { stay(); }
};
struct StaysAtItsEnd : behavior<Go> {
  ~StaysAtItsEnd() { stay(); }
  void on(Go) {}
};
struct Parent : behavior<Go> {
  Parent() { spawn<StaysAtItsEnd>(); }
  void on(Go) {}
};

class Native_Shutdown : public ::testing::Test {
 protected:
  void SetUp() override {
    before_ = native::options();
    native::Options options;
    options.workers = 2;
    options.oversubscribe = true;
    native::configure(options);
    is_inside = may_go = false;
  }
  void TearDown() override { native::configure(before_); }

 private:
  native::Options before_;
};

/// Calls `use` on a thread outside while a run goes on.
void beside_a_run(const std::function<void()>& use) {
  native::Hold hold = native::hold();
  std::thread outside([&] {
    // Before run() has begun, shutdown() would run itself.
    std::atomic<bool> runs{false};
    create<nonspec>([&runs] { runs = true; }, {});
    while (!runs) std::this_thread::yield();
    use();
    hold.close();
  });
  run();
  outside.join();
}

TEST_F(Native_Shutdown, OfAServerEndsItsActorsWhileItsRunGoesOn) {
  for (int i = 0; i < 100; ++i) spawn<Plain>().send(Go{});
  std::vector<LivingActor> left;
  beside_a_run([&] { left = shutdown(std::chrono::minutes(30)); });
  EXPECT_TRUE(left.empty());
  EXPECT_TRUE(living_actors().empty());
}

TEST_F(Native_Shutdown, SaysWhichActorsAreLeftAtItsDeadline) {
  spawn<Parent>({.name = "the parent"});
  std::vector<LivingActor> left;
  beside_a_run([&] {
    // A busy machine may not even list the actors in so short a time.
    for (milliseconds deadline(50); left.empty(); deadline *= 4) {
      try {
        left = shutdown(deadline);
      } catch (const TaskError& error) {
        EXPECT_THAT(error.what(), HasSubstr("within its deadline"));
      }
    }
    may_go = true;
  });
  // The child's destructor stays, so that its parent waits; no handle reaches the child any more.
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].name, "the parent");
  EXPECT_TRUE(living_actors().empty());
}

TEST_F(Native_Shutdown, SaysThatATaskGoesOnWhereItsDeadlinePassesBeforeThereIsAList) {
  const auto stays = spawn<Stays>();
  stays.send(Go{});
  std::string sentence;
  beside_a_run([&] {
    while (!is_inside) std::this_thread::yield();
    try {
      static_cast<void>(shutdown(milliseconds(5)));
    } catch (const TaskError& error) {
      sentence = error.what();
    }
    may_go = true;
    stays.stop();
  });
  EXPECT_THAT(sentence, HasSubstr("a task goes on, and no list is made before it ends"));
}

}  // namespace
