// Algorithms that several threads call at once: each returns with its own result or exception when its own
// tasks are done, by whichever thread. R10 and R11.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rubato/algorithms.hpp"
#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

constexpr int kCalls = 200;
constexpr int kSize = 500;

/// The sum of 0 to kSize - 1, in a frame that is gone as soon as the call returns.
int sum_by_parallel_reduce() {
  const std::vector<int> ones(kSize, 1);
  const auto add = [&ones](const blocked_range<int>& part, int sum) {
    for (int i = part.begin(); i != part.end(); ++i) sum += ones[static_cast<std::size_t>(i)] * i;
    return sum;
  };
  return parallel_reduce(blocked_range(0, kSize, 8), 0, add, std::plus<>());
}
constexpr int kSum = kSize * (kSize - 1) / 2;

void in_threads(unsigned count, const std::function<void(unsigned)>& act) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) threads.emplace_back(act, i);
  for (std::thread& thread : threads) thread.join();
}

class Algorithms : public testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { use_workers(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Workers, Algorithms, testing::Values(1u, 2u, 8u));

TEST_P(Algorithms, MayBeCalledByThreadsAtOnce) {
  for (const unsigned threads : {2u, 4u}) {
    std::atomic<int> right{0};
    in_threads(threads, [&](unsigned) {
      for (int k = 0; k < kCalls; ++k) right += sum_by_parallel_reduce() == kSum ? 1 : 0;
    });
    EXPECT_EQ(right, kCalls * static_cast<int>(threads));
  }
}

TEST_P(Algorithms, JoinTheRunOfAServer) {
  native::Hold open = native::hold();
  std::atomic<int> served{0};
  std::thread server([] { run(); });
  in_threads(2, [&](unsigned) {
    for (int k = 0; k < kCalls; ++k) {
      EXPECT_EQ(sum_by_parallel_reduce(), kSum);
      create<nonspec>([&served] { ++served; }, {});
    }
  });
  open.close();
  server.join();
  EXPECT_EQ(served, 2 * kCalls);
}

/// Also if the call comes before the server's run(): then its own run ends before the hold is closed.
TEST_P(Algorithms, ReturnWhileAHoldIsOpenThatNoRunHasSeen) {
  native::Hold open = native::hold();
  EXPECT_EQ(sum_by_parallel_reduce(), kSum);
  open.close();
  run();
}

TEST_P(Algorithms, JoinARunWhoseTasksWaitForThem) {
  std::atomic<bool> are_over{false};
  std::atomic<bool> has_begun{false};
  std::thread runner([&] {
    create<nonspec>(
        [&] {
          has_begun = true;
          while (!are_over) std::this_thread::yield();
        },
        {});
    run();
  });
  while (!has_begun) std::this_thread::yield();
  if (GetParam() > 1) {  // with one worker nothing runs beside the task
    for (int k = 0; k < 20; ++k) EXPECT_EQ(sum_by_parallel_reduce(), kSum);
  }
  are_over = true;
  runner.join();
}

using Clock = std::chrono::steady_clock;
/// The whole range takes about a millisecond.
void call_brief_algorithm() {
  parallel_for(0, 16, [](int) {
    const Clock::time_point end = Clock::now() + std::chrono::microseconds(60);
    while (Clock::now() < end) {
    }
  });
}
/// Until it is destroyed, threads call algorithms, one after the other.
class Callers {
 public:
  explicit Callers(unsigned threads) : calls_(threads) {
    for (unsigned i = 0; i < threads; ++i)
      threads_.emplace_back([this, i] {
        for (; !is_over_; ++calls_[i]) call_brief_algorithm();
      });
  }
  ~Callers() {
    is_over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Callers(const Callers&) = delete;
  Callers& operator=(const Callers&) = delete;
  unsigned fewest() const {
    unsigned fewest = calls_[0];
    for (const std::atomic<unsigned>& calls : calls_) fewest = std::min(fewest, calls.load());
    return fewest;
  }

 private:
  std::vector<std::atomic<unsigned>> calls_;
  std::atomic<bool> is_over_{false};
  std::vector<std::thread> threads_;
};
constexpr std::chrono::minutes kForTooLong{1};

/// The first call's run ends, though algorithms of the others never run out.
TEST_P(Algorithms, ReturnBesideThreadsThatCallOneAfterTheOther) {
  const Callers callers(8);
  const Clock::time_point too_late = Clock::now() + kForTooLong;
  while (callers.fewest() < 5 && Clock::now() < too_late)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(callers.fewest(), 5u);
}
/// So does the run of run(), with which they begin.
TEST_P(Algorithms, LetRunReturnBesideThreadsThatCallOneAfterTheOther) {
  const Callers callers(7);
  const Clock::time_point too_late = Clock::now() + kForTooLong;
  for (int i = 0; i < 5; ++i) {
    std::atomic<bool> has_run{false};
    create<nonspec>([&has_run] { has_run = true; }, {});
    run();
    EXPECT_TRUE(has_run);
  }
  EXPECT_LT(Clock::now(), too_late);
}

struct OwnError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

TEST_P(Algorithms, ThrowWhatTheirOwnBodiesThrow) {
  std::atomic<int> thrown{0}, right{0};
  in_threads(3, [&](unsigned thread) {
    for (int k = 0; k < kCalls; ++k) {
      if (thread != 0) {
        right += sum_by_parallel_reduce() == kSum ? 1 : 0;
        continue;
      }
      try {
        parallel_for(0, kSize, [k](int i) {
          if (i == k) throw OwnError("of index " + std::to_string(i));
        });
        ADD_FAILURE() << "parallel_for() throws";
      } catch (const OwnError& own) {
        thrown += own.what() == "of index " + std::to_string(k) ? 1 : 0;
      }
    }
  });
  EXPECT_EQ(thrown, kCalls);
  EXPECT_EQ(right, 2 * kCalls);
}

/// No part refers to a call that has ended, and what had begun is told from what was done.
TEST_P(Algorithms, AreToldOfAnExceptionThatEndsTheRunTheyHaveJoined) {
  std::atomic<int> right{0}, told{0}, wrong{0};
  std::atomic<bool> are_over{false};
  std::thread failing([&] {
    while (!are_over) {
      try {
        create<nonspec>([] { throw OwnError("of the run"); }, {});
        run();
      } catch (const TaskError&) {
      }
    }
  });
  in_threads(2, [&](unsigned) {
    for (int k = 0; k < kCalls; ++k) {
      try {
        (sum_by_parallel_reduce() == kSum ? right : wrong) += 1;
      } catch (const TaskError& error) {
        const std::string said = error.what();
        (said.ends_with("ended with an exception: of the run") ? told : wrong) += 1;
      }
    }
  });
  are_over = true;
  failing.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(right + told, 2 * kCalls);
  run();
  EXPECT_EQ(sum_by_parallel_reduce(), kSum);
}

/// Parts that the engine has chosen are no more tasks than parts, and a part that has begun keeps no other
/// from its task: unless all of them are brief.
TEST(Algorithm, CreatesAtMostATaskAPart) {
  use_workers(2);
  constexpr std::uint64_t kParts = 32;  // 16 a worker
  const auto created = [](int size) {
    const std::uint64_t before = native::counters().tasks_created;
    std::atomic<int> calls{0};
    parallel_for(0, size, [&calls](int) { ++calls; });
    EXPECT_EQ(calls, size);
    return native::counters().tasks_created - before;
  };
  for (const int size : {33, 64, 1000, 100'000}) {
    for (int round = 0; round < 20; ++round) {
      EXPECT_LE(created(size), kParts);
      EXPECT_GT(created(size), 0u);
    }
  }
}

/// Parts that were brief until now, and take long from here on, become tasks of their own.
TEST(Algorithm, SharesPartsThatTakeLongBehindBriefOnes) {
  use_workers(2);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> calls{0};
    std::atomic<bool> has_other{false};
    const std::thread::id caller = std::this_thread::get_id();
    parallel_for(0, 64, [&](int i) {
      ++calls;
      if (std::this_thread::get_id() != caller) has_other = true;
      if (i < 32) return;
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
      while (std::chrono::steady_clock::now() < end) continue;
      // The last ones wait for the other worker: all behind a part that takes long is to be had.
      while (i == 40 && !has_other) std::this_thread::yield();
    });
    EXPECT_EQ(calls, 64);
    EXPECT_TRUE(has_other);
  }
}

struct CallsWhenDestroyed {
  explicit CallsWhenDestroyed(std::string* text) : said(text) {}
  ~CallsWhenDestroyed() {
    try {
      sum_by_parallel_reduce();
    } catch (const TaskError& error) {
      *said = error.what();
    }
  }
  std::string* said;
};

/// A worker, or the thread that ends a run, would wait for itself.
TEST_P(Algorithms, AreRefusedInDestructorsThatRunOutsideTasks) {
  for (const bool is_late : {false, true}) {
    std::string said;
    const auto object = make_resource<CallsWhenDestroyed>({}, &said);
    create<nonspec>([object] { remove(object); }, {.at = 0});
    for (int i = 0; i < 1000 && !is_late; ++i)
      create<nonspec>([] {}, {.at = 1 + static_cast<std::uint64_t>(i)});
    run();
    EXPECT_NE(said.find("is called by the destructor"), std::string::npos) << said;
  }
}

TEST(Algorithm, NamesWhatTheUserCalled) {
  use_workers(2);
  const auto nest = [](int) { parallel_for(0, 4, [](int) {}); };
  try {
    parallel_for(0, 1, nest);
    ADD_FAILURE() << "a nested parallel_for() throws";
  } catch (const TaskError& error) {
    const std::string said = error.what();
    EXPECT_TRUE(error.function().starts_with("parallel_for((anonymous namespace)::")) << error.function();
    EXPECT_NE(said.find("parallel_for() calls run(), which only code outside tasks may do"), said.npos)
        << said;
    EXPECT_NE(said.find("then(...)"), said.npos) << said;
    EXPECT_EQ(said.find("RunPart"), said.npos) << said;
  }
}

TEST(Algorithm, ThrowsWhatABodyHasThrownAndStartsNoPartAfterThat) {
  use_workers(1);
  int calls = 0, created = 0;
  create<nonspec>([&created] { ++created; }, {});
  try {
    parallel_for(blocked_range(0, 100, 1), [&calls](const auto&) {
      ++calls;
      throw 42;
    });
    ADD_FAILURE() << "parallel_for() throws";
  } catch (const int thrown) {
    EXPECT_EQ(thrown, 42);
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(created, 1);  // other tasks go on
}

template <class Index>
void cover(Index begin, Index end, std::uint64_t expected) {
  using blocked = blocked_range<Index>;
  const auto width = [](Index a, Index b) {
    return static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
  };
  EXPECT_EQ(blocked(begin, end).size(), expected);
  std::atomic<std::uint64_t> elements{0}, bad{0};
  parallel_for(blocked(begin, end), [&](const blocked& part) {
    if (!(part.begin() < part.end()) || part.begin() < begin || end < part.end()) ++bad;
    elements += width(part.begin(), part.end());
  });
  EXPECT_EQ(elements, expected);
  const auto add = [&](const blocked& part, std::uint64_t sum) {
    return sum + width(part.begin(), part.end());
  };
  EXPECT_EQ(parallel_reduce(blocked(begin, end), std::uint64_t{0}, add, std::plus<>()), expected);
  EXPECT_EQ(parallel_scan(
                blocked(begin, end), std::uint64_t{0},
                [&](const blocked& part, std::uint64_t sum, bool) { return add(part, sum); }, std::plus<>()),
            expected);
  EXPECT_EQ(bad, 0u);
  EXPECT_EQ(blocked(end, begin).size(), 0u);
  parallel_for(blocked(end, begin), [&](const blocked&) { ++bad; });
  EXPECT_EQ(bad, 0u);
}
template <class Index>
void cover_all() {
  using Limits = std::numeric_limits<Index>;
  cover<Index>(Limits::min(), Limits::max(),
               static_cast<std::uint64_t>(Limits::max()) - static_cast<std::uint64_t>(Limits::min()));
}

/// Their difference does not fit a signed type. UndefinedBehaviorSanitizer tells, too.
TEST(BlockedRange, HoldsAllThatItsTypeHas) {
  use_workers(2);
  cover_all<signed char>();
  cover_all<unsigned char>();
  cover_all<short>();
  cover_all<int>();
  cover_all<unsigned>();
  cover_all<long>();
  cover_all<unsigned long>();
  cover<int>(-1'500'000'000, 1'500'000'000, 3'000'000'000u);
  std::atomic<unsigned> calls{0};
  parallel_for(static_cast<signed char>(-128), static_cast<signed char>(127), [&](signed char) { ++calls; });
  EXPECT_EQ(calls, 255u);
  std::vector<int> numbers(100);
  std::iota(numbers.begin(), numbers.end(), 0);
  parallel_for_each(numbers.begin(), numbers.end(), [&](int i) { calls += static_cast<unsigned>(i); });
  EXPECT_EQ(calls, 255u + 4950u);
}

}  // namespace
