// Tasks that destructors create: of a task's arguments, which are part of it, and of removed resources, which
// are part of nothing. R3, R7, R10.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rubato/rubato.hpp"
#include "tests/at_end.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

std::atomic<int> runs{0}, runs_at_the_end{-1};
void count() { ++runs; }

/// Message of the error of run(), or nothing.
std::optional<std::string> error_of_run() {
  try {
    run();
  } catch (const TaskError& e) {
    return e.what();
  }
  return std::nullopt;
}

class Destructors : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    use_workers(GetParam());
    runs = 0;
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, Destructors, ::testing::Values(1u, 2u, 8u));

TEST_P(Destructors, OfArgumentsCreateTasksThatRun) {
  for (int i = 0; i < 100; ++i) create<nonspec>([guard = AtEnd([] { create<nonspec>(count, {}); })] {}, {});
  run();
  EXPECT_EQ(runs, 100);
}

TEST_P(Destructors, OfArgumentsCreateTasksThatWaitForTheGroupOfTheTask) {
  for (int round = 0; round < 20; ++round) {
    TaskGroup group;
    create<nonspec>([guard = AtEnd([&group] { create<nonspec>(count, {.after = &group}); })] {},
                    {.group = &group});
    run();
    EXPECT_EQ(runs, round + 1);
  }
}

TEST_P(Destructors, OfArgumentsAreInTheOrderOfTheirTask) {
  std::vector<int> order;
  const auto note = [&order](int what) { order.push_back(what); };
  create<nonspec>([guard = AtEnd([&] {
                     create<nonspec>([note] { note(2); }, {.at = 10});
                     create<nonspec>([note] { note(4); }, {.at = 30});
                   }),
                   note] { note(1); },
                  {.at = 10});
  create<nonspec>([note] { note(3); }, {.at = 20});
  run();
  EXPECT_EQ(order, (std::vector{1, 2, 3, 4}));
}

TEST_P(Destructors, OfArgumentsThatBreakTheOrderEndTheRun) {
  create<nonspec>([guard = AtEnd([] { create<nonspec>(count, {.at = 5}); })] {}, {.at = 10});
  const auto earlier = error_of_run();
  ASSERT_TRUE(earlier);
  EXPECT_NE(earlier->find("5"), std::string::npos) << *earlier;
  create<nonspec>([guard = AtEnd([] { create<nonspec>(count, {.at = 5}); })] {}, {});
  EXPECT_TRUE(error_of_run());
  EXPECT_EQ(runs, 0);
  create<nonspec>(count, {.at = 5});
  EXPECT_EQ(error_of_run(), std::nullopt);
  EXPECT_EQ(runs, 1);
}

struct Parting {
  AtEnd act;
};

TEST_P(Destructors, OfResourcesCreateTasksThatRunInTheSameRunOrTheNext) {
  for (int round = 0; round < 20; ++round) {
    runs = 0;
    const auto object = make_resource<Parting>({}, AtEnd([] { create<nonspec>(count, {}); }));
    create<nonspec>([object] { remove(object); }, {});
    EXPECT_EQ(error_of_run(), std::nullopt);
    EXPECT_EQ(error_of_run(), std::nullopt);  // run() itself frees what no task came by to free
    EXPECT_EQ(runs, 1);
  }
}

TEST_P(Destructors, OfTasksThatNeverRunLeaveNothingBehind) {
  for (int i = 0; i < 50; ++i) {
    create<nonspec>([guard = AtEnd([] { create<nonspec>(count, {}); })] { throw std::runtime_error("no"); },
                    {});
  }
  EXPECT_TRUE(error_of_run());
  const int before = runs;
  EXPECT_EQ(error_of_run(), std::nullopt);
  EXPECT_EQ(runs, before) << "a task of the run that failed runs in the next one";
}

TEST_P(Destructors, OfTasksThatAreDroppedBetweenRunsLeaveNothingBehind) {
  for (int i = 0; i < 50; ++i) {
    create<nonspec>([guard = AtEnd([] {
                       create<nonspec>([inner = AtEnd([] { create<nonspec>(count, {.on = 3}); })] {}, {});
                     })] {},
                    {.at = i});
  }
  native::drop_pending();
  EXPECT_EQ(error_of_run(), std::nullopt);
  EXPECT_EQ(runs, 0);
}

/// Another thread's tasks are not the destructors': with a hold open they are of the next run.
TEST_P(Destructors, OfTasksThatAreDroppedMayBeBesideAnotherThread) {
  for (int round = 0; round < 50; ++round) {
    runs = 0;
    native::Hold open = native::hold();
    std::atomic<bool> must_end{false};
    std::thread other([&] {
      constexpr long kMostWaiting = 1000;  // on a machine that is busy it may be far ahead of the run
      for (const auto token = std::make_shared<int>(0); !must_end; std::this_thread::yield())
        if (token.use_count() < kMostWaiting) create<nonspec>([token] {}, {});
    });
    TaskGroup never;
    create<nonspec>([] {}, {.group = &never, .after = &never});
    create<nonspec>([guard = AtEnd([] { create<nonspec>(count, {.on = 3}); })] {}, {.after = &never});
    create<nonspec>([] { throw std::runtime_error("no"); }, {});
    EXPECT_TRUE(error_of_run());
    must_end = true;
    other.join();
    open.close();
    EXPECT_EQ(error_of_run(), std::nullopt);
    EXPECT_EQ(runs, 0);
  }
}

// ---- Objects that tasks of a long range use ----

struct Watched {
  ~Watched() { runs_at_the_end = runs.load(); }
  tracked<int> value;
};

TEST_P(Destructors, OfResourcesWaitForTheTasksOfALongRange) {
  const native::Options before = native::options();
  native::Options options = before;
  options.reclamation = native::Reclamation::task;  // as soon as can be
  native::configure(options);
  for (const int length : {60, 1000}) {
    runs = 0;
    const auto object = make_resource<Watched>({});
    const auto use = [](resource<Watched> o) {
      static_cast<void>(o.get());
      ++runs;
    };
    create<nonspec>(
        [=] {
          create_all<nonspec>(
              0, length, [](int, resource<Watched> o, auto f) { create<nonspec>(f, {.on = o}, o); }, object,
              use);
          create<nonspec>([](resource<Watched> o) { remove(o); }, {.on = object}, object);
        },
        {.on = object});
    run();
    EXPECT_EQ(runs, length);
    EXPECT_EQ(runs_at_the_end, length) << "was destroyed before";
  }
  native::configure(before);
}

// ---- Order on one worker ----

TEST(CreationOrder, IsKeptOnOneWorker) {
  use_workers(1);
  for (const int tasks : {2, 8, 18, 100, 5000}) {
    std::vector<int> order, expected;
    for (int i = 0; i < tasks; ++i) {
      expected.push_back(i);
      create<nonspec>([&order, i] { order.push_back(i); }, {});
    }
    run();
    EXPECT_EQ(order, expected) << tasks << " tasks";
  }
}

}  // namespace
