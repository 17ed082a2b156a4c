// Pipelines and graphs of tasks on several workers: stages run at once, exceptions end them, and the next run
// begins anew; several threads have one each.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "rubato/pipeline.hpp"
#include "rubato/rubato.hpp"
#include "rubato/task_graph.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

class Pipelines : public testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { use_workers(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Workers, Pipelines, testing::Values(1u, 2u, 8u));

using Items = std::optional<std::unique_ptr<int>>;  // that can only be moved

auto items(int size) {
  return [size, next = 0]() mutable -> Items {
    return next == size ? Items() : Items(std::make_unique<int>(next++));
  };
}

TEST_P(Pipelines, MoveItems) {
  std::vector<int> seen;
  parallel_pipeline(
      4, items(500), [](std::unique_ptr<int> n) { return std::make_unique<int>(*n + 1); },
      in_order([&](std::unique_ptr<int> n) { seen.push_back(*n); }));
  ASSERT_EQ(seen.size(), 500u);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i + 1);
}

TEST_P(Pipelines, HaveSeveralItemsInAStage) {
  if (GetParam() == 1) return;
  std::barrier<> both(2);
  parallel_pipeline(2, items(20), [&](std::unique_ptr<int>) { both.arrive_and_wait(); });
}

TEST_P(Pipelines, EndByAnExceptionOfAnyStage) {
  for (int failing = 0; failing < 3; ++failing) {
    std::atomic<int> late{0};
    const auto look = [&](int stage, int n) {
      if (stage == failing && n == 30) throw std::runtime_error("on purpose");
      if (n > 40) ++late;
    };
    const auto call = [&] {
      parallel_pipeline(
          5,
          [&, next = 0]() mutable -> Items {
            look(0, next);
            return std::make_unique<int>(next++);
          },
          [&](std::unique_ptr<int> n) {
            look(1, *n);
            return n;
          },
          in_order([&](std::unique_ptr<int> n) { look(2, *n); }));
    };
    EXPECT_THROW(call(), std::runtime_error) << failing;
    EXPECT_EQ(late, 0) << failing << ": the source goes on";
  }
}

TEST_P(Pipelines, BelongToAGuardedGroup) {
  GuardedGroup group;
  std::atomic<int> ended{0}, behind{0};
  create<nonspec>(
      [&] {
        parallel_pipeline(3, items(1000), in_order([&](std::unique_ptr<int> n) {
                            if (*n == 100) group.cancel();
                            ++ended;
                          }),
                          then([&] { ++behind; }, &group));
      },
      {});
  run();
  EXPECT_EQ(ended, 101);
  EXPECT_EQ(behind, 0);
}

TEST_P(Pipelines, OfSeveralThreadsKeepTheirOrder) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&wrong] {
      int next = 0;
      parallel_pipeline(
          3, items(200), [](std::unique_ptr<int> n) { return *n; },
          in_order([&](int n) { wrong += n != next++ ? 1 : 0; }));
      wrong += next != 200 ? 1 : 0;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_P(Pipelines, GraphsBeginAnewAfterAnException) {
  TaskGraph graph;
  std::atomic<int> calls{0};
  std::atomic<bool> fails{true};
  const auto first = graph.add([&] { ++calls; });
  const auto second = graph.add([&] {
    if (fails) throw std::runtime_error("on purpose");
    ++calls;
  });
  const auto third = graph.add([&] { ++calls; });
  graph.order(first, second);
  graph.order(second, third);
  EXPECT_THROW(graph.run(), std::runtime_error);
  EXPECT_EQ(calls, 1);
  fails = false;
  graph.run();
  EXPECT_EQ(calls, 4);
}

TEST_P(Pipelines, GraphsRunWhatMayRunAtOnce) {
  if (GetParam() == 1) return;
  TaskGraph graph;
  std::barrier<> both(2);
  const auto first = graph.add([] {});
  graph.order(first, graph.add([&] { both.arrive_and_wait(); }));
  graph.order(first, graph.add([&] { both.arrive_and_wait(); }));
  for (int round = 0; round < 5; ++round) graph.run();
}

}  // namespace
