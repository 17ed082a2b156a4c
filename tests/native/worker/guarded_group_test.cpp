// GuardedGroup on several workers, with threads outside, resources and the watch; what holds on every engine
// is in tests/conformance/guarded_group_cases.cpp. R11.
// SPDX-License-Identifier: MIT
#include "rubato/guarded_group.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rubato/algorithms.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

class GuardedGroups : public testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { use_workers(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Workers, GuardedGroups, testing::Values(1u, 2u, 8u));

struct Request {
  explicit Request(int n) : number(n) {}
  const int number;
  GuardedGroup tasks;
};
void serve(Request* request) {
  if (request->number % 10 == 5) throw std::runtime_error("bad request");
}

/// Each request is answered or refused, and run() knows nothing of it.
TEST_P(GuardedGroups, KeepTheFailuresOfAServersRequestsApart) {
  std::atomic<int> answered{0}, refused{0};
  native::Hold open = native::hold();
  std::thread server([] { EXPECT_NO_THROW(run()); });
  for (int i = 0; i < 1000; ++i) {
    auto* const request = new Request(i);
    create<nonspec>(serve, {.group = &request->tasks}, request);
    create<nonspec>(
        [&answered, &refused](Request* r) {
          ++(r->tasks.exception() != nullptr && r->number % 10 == 5 ? refused : answered);
          delete r;
        },
        {.after = &request->tasks}, request);
  }
  open.close();
  server.join();
  EXPECT_EQ(answered, 900);
  EXPECT_EQ(refused, 100);
}

TEST_P(GuardedGroups, HaveEndedWhenTheTaskBehindThemStarts) {
  std::atomic<int> answered{0}, refused{0};
  std::vector<std::unique_ptr<Request>> requests;
  for (int i = 0; i < 500; ++i) {
    Request* const request = requests.emplace_back(std::make_unique<Request>(i)).get();
    for (int k = 0; k < 3; ++k) create<nonspec>(serve, {.group = &request->tasks}, request);
    create<nonspec>(
        [&answered, &refused](Request* r) { ++(r->tasks.exception() != nullptr ? refused : answered); },
        {.after = &request->tasks}, request);
  }
  run();
  EXPECT_EQ(answered, 450);
  EXPECT_EQ(refused, 50);
}

/// Members that are created after cancel() do not run, whatever else runs meanwhile.
TEST_P(GuardedGroups, AreCancelledByAnyThread) {
  std::atomic<int> ran_late{0};
  std::atomic<bool> has_begun{false};
  GuardedGroup group;
  native::Hold open = native::hold();
  std::thread runner([] { run(); });
  create<nonspec>(
      [&has_begun] {
        has_begun = true;
        while (!is_cancelled()) std::this_thread::yield();
      },
      {.group = &group});
  while (!has_begun) std::this_thread::yield();
  group.cancel();
  for (int i = 0; i < 200; ++i) create<nonspec>([&ran_late] { ++ran_late; }, {.group = &group});
  open.close();
  runner.join();
  EXPECT_EQ(ran_late, 0);
  EXPECT_TRUE(group.is_complete());
}

/// Many threads at one group: the first exception is kept, and all are counted.
TEST_P(GuardedGroups, CountFailuresOfManyTasksAtOnce) {
  for (int round = 0; round < 20; ++round) {
    GuardedGroup group(OnFailure::go_on);
    for (int i = 0; i < 200; ++i) {
      create<nonspec>(
          [](int number) {
            if (number % 2 == 0) throw number;
          },
          {.group = &group}, i);
    }
    run();
    EXPECT_EQ(group.failures(), 100u);
    EXPECT_THROW(group.rethrow_if_failed(), int);
    EXPECT_NE(group.error().find("(and 99 further exceptions)"), std::string::npos) << group.error();
  }
}

/// Readers that lose run again, and what they threw then counts once.
TEST_P(GuardedGroups, CountTheFailureOfAReaderOnce) {
  struct Data {
    tracked<int> value = 0;
  };
  for (const auto synchronization :
       {Synchronization::optimistic_latch, Synchronization::optimistic_pool, Synchronization::shared_latch,
        Synchronization::latch, Synchronization::pool}) {
    const auto data =
        make_resource<Data>({.isolation = Isolation::shared_reads, .synchronization = synchronization});
    GuardedGroup group(OnFailure::go_on);
    for (int i = 0; i < 300; ++i) {
      create<nonspec>([data] { data->value += 1; }, {.on = data, .group = &group});
      create<nonspec>(
          [data] {
            if (data->value >= 0) throw 1;
          },
          {.on = data, .group = &group, .access = reads});
    }
    run();
    EXPECT_EQ(data->value, 300);
    EXPECT_EQ(group.failures(), 300u);
    EXPECT_THROW(group.rethrow_if_failed(), int);
    remove(data);
  }
}

/// Tasks that wait behind a long one run on another worker, and still ask their group.
TEST_P(GuardedGroups, AreAskedByTasksThatTheWatchHandsOver) {
  if (GetParam() == 1) return;
  std::atomic<int> ran{0};
  GuardedGroup group, cancelled;
  cancelled.cancel();
  create<nonspec>(
      [&] {
        for (int i = 0; i < 5; ++i) {
          create<nonspec>([&ran] { ran += 1000; }, {.group = &cancelled});
          create<nonspec>([&ran] { ++ran; }, {.group = &group});
        }
        while (ran % 1000 != 5) std::this_thread::yield();
      },
      {});
  run();
  EXPECT_EQ(ran, 5);
}

/// A failure that ends the run drops members as it does others.
TEST_P(GuardedGroups, AreCompleteBehindARunThatHasFailed) {
  for (int round = 0; round < 10; ++round) {
    const auto owned = std::make_shared<int>(0);
    GuardedGroup group;
    for (int i = 0; i < 100; ++i) {
      create<nonspec>([owned] {}, {.group = &group});
      if (i == 50) create<nonspec>([] { throw 1; }, {});
    }
    EXPECT_THROW(run(), TaskError);
    EXPECT_TRUE(group.is_complete());
    EXPECT_EQ(group.failures(), 0u);
    EXPECT_EQ(owned.use_count(), 1);
  }
}

TEST(GuardedGroup, SaysThatItsExceptionWasNotLookedAt) {
  use_workers(2);
  const auto said = [](bool looks) {
    testing::internal::CaptureStderr();
    {
      GuardedGroup group;
      create<nonspec>([] { throw std::runtime_error("no such gate"); }, {.group = &group});
      run();
      EXPECT_EQ(looks && group.exception() == nullptr, false);
    }
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_TRUE(said(true).empty());
  const std::string sentence = said(false);
  EXPECT_TRUE(sentence.starts_with("rubato: a GuardedGroup ends whose exceptions were not looked at: task "))
      << sentence;
  EXPECT_TRUE(sentence.ends_with("without a timestamp ended with an exception: no such gate\n")) << sentence;
}

TEST(DropPending, DestroysWhatWaitsForTheNextRun) {
  use_workers(2);
  const auto owned = std::make_shared<int>(0);
  TaskGroup group;
  std::string said;
  for (int i = 0; i < 50; ++i) {
    create<nonspec>([owned] {}, {.group = &group});
    create<nonspec>([owned] {}, {.at = i, .after = &group});
  }
  native::drop_pending();
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_TRUE(group.is_complete());
  create<nonspec>(
      [&said] {
        try {
          native::drop_pending();
        } catch (const TaskError& error) {
          said = error.what();
        }
      },
      {});
  run();
  EXPECT_NE(said.find("drop_pending() is called in a task or while a run goes on"), said.npos) << said;
}

TEST(DropPending, RefusesAnAlgorithmInADestructor) {
  struct Calls {
    explicit Calls(std::string* s) : said(s) {}
    ~Calls() {
      try {
        parallel_for(0, 10, [](int) {});
      } catch (const TaskError& error) {
        *said = error.what();
      }
    }
    std::string* said;
  };
  std::string said;
  create<nonspec>([calls = std::make_unique<Calls>(&said)] {}, {});
  native::drop_pending();
  EXPECT_NE(said.find("an algorithm is called by the destructor"), said.npos) << said;
}

}  // namespace
