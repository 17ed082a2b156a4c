// Forks: each function is called once, by its worker or another one, before fork_join() returns; in every
// interleaving of a worker and two thieves; and wrong protocols are caught. Then fork_join() in programs:
// results, exceptions, what the functions create, cancellation, threads outside. (R2, R10, R11)
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rubato/fork_join.hpp"
#include "rubato/rubato.hpp"
#include "tests/base/explorer.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

// ---- The protocol ----

using test::ExploredAtomics;
using test::Explorer;

struct RightForks : engine::ForkRules {
  static constexpr std::uint32_t kSlots = 2;
};

/// Two forks, one in the other, of a worker; two thieves that look for one each.
template <class Rules>
struct ForkModel {
  struct Item {
    engine::ForkEnd<ExploredAtomics, Rules> end;
    int runs = 0;
    bool is_gone = false;  // its frame
  };
  engine::ForkStack<ExploredAtomics, Item, Rules> stack;
  ExploredAtomics::atomic<std::uint32_t> sleeps_at{0};
  Item items[2];
  bool is_wrong = false;

  void call(Item& item) {
    Explorer::step();  // the function takes a while
    is_wrong = is_wrong || item.is_gone;
    ++item.runs;
  }
  void join(Item& item) {
    if (stack.pop()) {
      call(item);
    } else {
      while (!item.end.is_over()) item.end.sleep(sleeps_at, 0);
    }
    is_wrong = is_wrong || item.runs != 1;
    item.is_gone = true;
  }
  void work() {
    stack.push(&items[0]);
    stack.push(&items[1]);
    join(items[1]);
    join(items[0]);
  }
  void steal() {
    Item* const item = stack.steal(0);
    if (item == nullptr) return;
    call(*item);
    item->end.end(engine::ForkEnd<ExploredAtomics, Rules>::done, sleeps_at);
  }
};

struct ForkOutcome {
  Explorer::Result result;
  std::uint64_t wrong = 0, stuck = 0;
};
template <class Rules>
ForkOutcome explore_forks(unsigned thieves) {
  ForkOutcome outcome;
  static std::optional<ForkModel<Rules>> model;  // at one place: states have addresses
  outcome.result = Explorer::explore_states(
      [&] {
        model.emplace();
        for (auto& item : model->items) {
          Explorer::add_plain(item.runs);
          Explorer::add_plain(item.is_gone);
        }
        Explorer::add_plain(model->is_wrong);
        Explorer::Bodies bodies{[&] { model->work(); }};
        for (unsigned i = 0; i < thieves; ++i) bodies.emplace_back([&] { model->steal(); });
        return bodies;
      },
      [&](bool is_stuck) {
        outcome.stuck += is_stuck ? 1u : 0u;
        outcome.wrong += model->is_wrong || (!is_stuck && model->items[0].runs != 1) ? 1u : 0u;
        return outcome.wrong + outcome.stuck == 0;
      });
  return outcome;
}

TEST(ForkProtocol, RunsEachForkOnceBeforeItsJoinReturns) {
  for (const unsigned thieves : {1u, 2u}) {
    const ForkOutcome outcome = explore_forks<RightForks>(thieves);
    EXPECT_EQ(outcome.wrong, 0u);
    EXPECT_EQ(outcome.stuck, 0u);
    EXPECT_TRUE(outcome.result.is_exhausted);
    EXPECT_GT(outcome.result.ended, 10u);
  }
}

struct OwnerLoads : RightForks {
  static constexpr bool kOwnerExchanges = false;
};
struct ThiefStores : RightForks {
  static constexpr bool kThiefCompares = false;
};
struct JoinGoesOn : RightForks {
  static constexpr bool kWaitsForEnd = false;
};
struct SleepsWithoutLook : RightForks {
  static constexpr bool kLooksBeforeSleep = false;
};

template <class Rules>
class WrongForks : public testing::Test {};
using WrongRules = testing::Types<OwnerLoads, ThiefStores, JoinGoesOn, SleepsWithoutLook>;
TYPED_TEST_SUITE(WrongForks, WrongRules);

TYPED_TEST(WrongForks, AreCaught) {
  const ForkOutcome outcome = explore_forks<TypeParam>(2);
  EXPECT_NE(outcome.wrong + outcome.stuck, 0u);
}

// ---- Programs ----

class Forks : public testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { use_workers(GetParam()); }
  unsigned workers() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Workers, Forks, testing::Values(1u, 2u, 3u, 8u));

long fib(int n) {
  if (n < 2) return n;
  long a = 0, b = 0;
  fork_join([&] { a = fib(n - 1); }, [&] { b = fib(n - 2); });
  return a + b;
}

TEST_P(Forks, GiveTheResultOfACallOutsideAndInTasks) {
  EXPECT_EQ(fib(22), 17711);
  std::array<std::atomic<long>, 20> results{};
  for (auto& result : results) create<nonspec>([&result] { result = fib(15); }, {});
  run();
  for (auto& result : results) EXPECT_EQ(result, 610);
}

TEST_P(Forks, CallEachOfSeveralFunctionsOnce) {
  std::array<std::atomic<int>, 5> calls{};
  create<nonspec>(
      [&calls] {
        for (int i = 0; i < 200; ++i)
          fork_join([&] { ++calls[0]; }, [&] { ++calls[1]; }, [&] { ++calls[2]; }, [&] { ++calls[3]; },
                    [&] { ++calls[4]; });
      },
      {});
  run();
  for (const auto& count : calls) EXPECT_EQ(count, 200);
}

/// Sums 0 to n, forking at each element: deeper than a worker's forks may be.
std::uint64_t sum_below(std::uint64_t n) {
  if (n == 0) return 0;
  std::uint64_t rest = 0, own = 0;
  fork_join([&] { rest = sum_below(n - 1); }, [&] { own = n; });
  return rest + own;
}
TEST_P(Forks, RunInPlaceBelowTheDeepestThatAreShared) {
  std::atomic<std::uint64_t> sum{0};
  create<nonspec>([&sum] { sum = sum_below(2000); }, {});
  run();
  EXPECT_EQ(sum, 2000u * 2001u / 2);
}

TEST_P(Forks, RunOnIdleWorkersWhateverTheyDo) {
  if (workers() == 1) return;
  for (int round = 0; round < 20; ++round) {
    std::barrier<> both(2);
    create<nonspec>([&both] { fork_join([&] { both.arrive_and_wait(); }, [&] { both.arrive_and_wait(); }); },
                    {});
    run();
  }
}

/// Forks whose first function ends only when another worker has begun the second: it was stolen.
template <class First, class Second>
void fork_stolen(First first, Second second) {
  std::atomic<bool> has_begun{false};
  fork_join(
      [&] {
        while (!has_begun) std::this_thread::yield();
        first();
      },
      [&] {
        has_begun = true;
        second();
      });
}

std::string text_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "no exception";
}
[[noreturn]] void fail(const char* text) { throw std::runtime_error(text); }

TEST_P(Forks, ThrowWhatAFunctionHasThrown) {
  EXPECT_EQ(text_of([] { fork_join([] { fail("first"); }, [] {}); }), "first");
  EXPECT_EQ(text_of([] { fork_join([] {}, [] { fail("second"); }); }), "second");
  EXPECT_EQ(text_of([] { fork_join([] { fail("first"); }, [] { fail("second"); }); }), "first");
  if (workers() == 1) return;
  std::array<std::string, 3> texts;
  std::mutex mutex;  // the test reads what a worker wrote
  create<nonspec>(
      [&] {
        const std::lock_guard lock(mutex);
        texts[0] = text_of([] { fork_stolen([] {}, [] { fail("stolen"); }); });
        texts[1] = text_of([] { fork_stolen([] { fail("own"); }, [] {}); });
        texts[2] = text_of([] { fork_stolen([] { fail("own"); }, [] { fail("stolen"); }); });
      },
      {});
  run();
  const std::lock_guard lock(mutex);
  EXPECT_EQ(texts[0], "stolen");
  EXPECT_EQ(texts[1], "own");
  EXPECT_EQ(texts[2], "own");
}

TEST_P(Forks, AreNotCalledWhenTheFirstHasThrown) {
  std::atomic<int> calls{0};
  use_workers(1);
  create<nonspec>(
      [&calls] {
        try {
          fork_join([] { fail("first"); }, [&] { ++calls; });
        } catch (const std::runtime_error&) {
          calls += 10;
        }
      },
      {});
  run();
  EXPECT_EQ(calls, 10);
}

TEST_P(Forks, EndTheRunIfTheTaskThrowsWhatTheyHaveThrown) {
  create<nonspec>([] { fork_join([] {}, [] { fail("in a fork"); }); }, {});
  try {
    run();
    FAIL();
  } catch (const TaskError& e) {
    EXPECT_NE(std::string(e.what()).find("in a fork"), std::string::npos) << e.what();
  }
  EXPECT_EQ(fib(12), 144);
}

TEST_P(Forks, KeepWhatComesAfterAGroupUntilTheTaskHasEnded) {
  for (int round = 0; round < 50; ++round) {
    TaskGroup group;
    std::atomic<int> members{0}, seen{-1};
    create<nonspec>(
        [&] {
          const auto follow = [&] { create<nonspec>([&] { seen = members.load(); }, {.after = &group}); };
          if (workers() == 1) {
            follow();
          } else {
            fork_stolen([] {}, follow);
          }
          for (int i = 0; i < 3; ++i) create<nonspec>([&] { ++members; }, {.group = &group});
        },
        {});
    run();
    EXPECT_EQ(seen, 3);
  }
}

TEST_P(Forks, CreateTasksOnWhateverWorkerTheyRun) {
  std::atomic<int> tasks{0};
  create<nonspec>(
      [&] {
        for (int i = 0; i < 300; ++i) {
          const auto create_one = [&] { create<nonspec>([&tasks] { ++tasks; }, {}); };
          fork_join(create_one, create_one, create_one);
        }
      },
      {});
  run();
  EXPECT_EQ(tasks, 900);
}

TEST_P(Forks, SeeThatTheGroupOfTheirTaskIsCancelled) {
  GuardedGroup group;
  std::atomic<int> cancelled{0};
  create<nonspec>(
      [&] {
        const auto look = [&] { cancelled += is_cancelled() ? 1 : 0; };
        group.cancel();
        if (workers() == 1) {
          fork_join(look, look);
        } else {
          fork_stolen(look, look);
        }
      },
      {.group = &group});
  run();
  EXPECT_EQ(cancelled, 2);
}

TEST_P(Forks, RunInPlaceWhereATaskHasAnOrderOrAResource) {
  const auto cell = make_resource<int>(ResourceOptions{}, 0);
  const std::thread::id none;
  std::array<std::atomic<std::thread::id>, 4> threads{};
  const auto fork = [&threads](std::size_t at) {
    fork_join([&threads, at] { threads[at] = std::this_thread::get_id(); },
              [&threads, at] { threads[at + 1] = std::this_thread::get_id(); });
  };
  create<mayspec>(fork, {.at = 3}, std::size_t{0});
  create<nonspec>(fork, {.on = cell}, std::size_t{2});
  run();
  EXPECT_NE(threads[0].load(), none);
  EXPECT_EQ(threads[0].load(), threads[1].load());
  EXPECT_NE(threads[2].load(), none);
  EXPECT_EQ(threads[2].load(), threads[3].load());
  remove(cell);
  run();
}

TEST_P(Forks, OfSeveralThreadsOutsideGiveTheirOwnResults) {
  std::array<long, 4> results{};
  std::vector<std::thread> threads;
  for (long& result : results)
    threads.emplace_back([&result] {
      for (int i = 0; i < 10; ++i) result += fib(12);
    });
  for (std::thread& thread : threads) thread.join();
  for (const long result : results) EXPECT_EQ(result, 1440);
}

/// A lock that a task holds while it waits: only functions that belong to it run on its worker meanwhile. Any
/// other might want the lock, and never get it.
TEST_P(Forks, LetATaskHoldALockMeanwhile) {
  std::mutex mutex;
  std::atomic<long> sum{0};
  for (int i = 0; i < 8; ++i) {
    create<nonspec>(
        [&] {
          for (int j = 0; j < 4; ++j) {
            fork_join(
                [&] {
                  const std::lock_guard lock(mutex);
                  sum += fib(8);
                },
                [&] {
                  const std::lock_guard lock(mutex);
                  sum += fib(9);
                });
          }
        },
        {});
  }
  run();
  EXPECT_EQ(sum, 8 * 4 * (21 + 34));
}

}  // namespace
