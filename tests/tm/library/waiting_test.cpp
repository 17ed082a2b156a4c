// Threads that wait for what transactions change (T56, T57, T59): on GCC's libitm and on ours.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "rubato/tm/condition.hpp"
#include "rubato/tm/retry.h"
#include "rubato/tm/semaphore.hpp"

namespace {

void run_threads(int count, const std::function<void(int)>& f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(f, i);
  for (std::thread& thread : threads) thread.join();
}

/// Channel of four places: a thread that finds it full or empty waits.
struct Channel {
  static constexpr std::uint64_t kPlaces = 4;
  std::uint64_t place[kPlaces] = {};
  std::uint64_t put = 0, taken = 0;
  rubato::tm::condition not_full, not_empty;

  void send(std::uint64_t value) {
    for (bool is_done = false; !is_done;) {
      __transaction_atomic {
        is_done = put - taken < kPlaces;
        if (is_done) {
          place[put++ % kPlaces] = value;
          not_empty.notify_one();
        } else {
          not_full.wait();
        }
      }
    }
  }
  std::uint64_t receive() {
    std::uint64_t value = 0;
    for (bool is_done = false; !is_done;) {
      __transaction_atomic {
        is_done = put != taken;
        if (is_done) {
          value = place[taken++ % kPlaces];
          not_full.notify_one();
        } else {
          not_empty.wait();
        }
      }
    }
    return value;
  }
};

TEST(TmCondition, AChannelLosesNoValueAndNoWakeUp) {
  constexpr std::uint64_t kValues = 3'000;
  static Channel channel;
  std::vector<std::uint64_t> sums(4);
  run_threads(4, [&](int thread) {
    const auto i = static_cast<std::size_t>(thread);
    for (std::uint64_t value = 1; value <= kValues; ++value) {
      if (thread < 2) {
        channel.send(value);
      } else {
        sums[i] += channel.receive();
      }
    }
  });
  EXPECT_EQ(sums[2] + sums[3], kValues * (kValues + 1));
  EXPECT_EQ(channel.put, channel.taken);
}

tm_condition gate;
int waiting;

TEST(TmCondition, EachNotificationWakesOneThatWaits) {
  constexpr int kThreads = 5;
  std::atomic<int> woken = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      __transaction_atomic {
        ++waiting;
        tm_condition_wait(&gate);
      }
      ++woken;
    });
  }
  for (int count = 0; count < kThreads;) {
    std::this_thread::yield();
    __transaction_atomic { count = waiting; }
  }
  int cancelled = 0;
  __transaction_atomic {
    ++cancelled;
    tm_condition_notify_all(&gate);
    __transaction_cancel;  // wakes no waiter
  }
  tm_waiter* first = nullptr;
  __transaction_atomic { first = gate.first; }
  EXPECT_NE(first, nullptr);
  for (int i = 1; i <= 3; ++i) {
    tm_condition_notify_one(&gate);
    while (woken < i) std::this_thread::yield();
    EXPECT_EQ(woken, i);
  }
  tm_condition_notify_all(&gate);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(woken, kThreads);
  EXPECT_EQ(gate.first, nullptr);
  EXPECT_EQ(gate.last, nullptr);
}

tm_mutex mutex;
long guarded[2];

TEST(TmLock, WhatItGuardsIsTouchedPlainlyByOneAtATime) {
  constexpr int kRounds = 2'000;
  std::atomic<int> skipped = 0;
  run_threads(4, [&](int thread) {
    for (int i = 0; i < kRounds; ++i) {
      if (thread == 0) {  // Fig. 1a's other side: does without if the lock is held
        __transaction_atomic {
          if (tm_trylock(&mutex)) {
            ++guarded[0];
            ++guarded[1];
            tm_unlock(&mutex);
          } else {
            tm_on_commit([](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &skipped);
          }
        }
        continue;
      }
      tm_lock(&mutex);
      ++guarded[0];
      EXPECT_EQ(guarded[0], guarded[1] + 1);
      ++guarded[1];
      tm_unlock(&mutex);
    }
  });
  EXPECT_EQ(guarded[0] + skipped, 4 * kRounds);
  EXPECT_EQ(guarded[1], guarded[0]);
  EXPECT_EQ(mutex.is_held, 0);
}

int turn, laps, trace, seen;

TEST(TmRetry, ABlockRunsWhenItsConditionHoldsAndLeavesNoTraceBefore) {
  constexpr int kThreads = 3, kLaps = 40;
  turn = laps = trace = seen = 0;
  run_threads(kThreads, [](int thread) {
    for (int i = 0; i < kLaps; ++i) {
      RUBATO_TM_ATOMIC {
        if (trace != 0) ++seen;
        // Undone if it is not this thread's turn. Not ++trace: the serial methods of GCC's library, which it
        // falls back to after many conflicts, do not undo that.
        trace = thread + 1;
        RUBATO_TM_WAIT_UNLESS(turn == thread);
        turn = (turn + 1) % kThreads;
        ++laps;
        trace = 0;
      }
    }
  });
  EXPECT_EQ(laps, kThreads * kLaps);
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(turn, 0);
}

extern "C" [[gnu::weak]] int rubato_tm_watch();

int is_open, attempts;
struct alignas(256) Word {
  long value;
};
Word elsewhere[8];

__attribute__((transaction_pure, noinline)) void count_attempt() {
  __atomic_fetch_add(&attempts, 1, __ATOMIC_SEQ_CST);
}
int attempts_so_far() { return __atomic_load_n(&attempts, __ATOMIC_SEQ_CST); }

void wait_until_open() {
  RUBATO_TM_ATOMIC {
    count_attempt();
    RUBATO_TM_WAIT_UNLESS(is_open != 0);
  }
}

TEST(TmRetry, AThreadSleepsUntilATransactionWritesWhatItHasRead) {
  if (&rubato_tm_watch == nullptr) GTEST_SKIP() << "GCC's library does not say what was written";
  is_open = attempts = 0;
  std::thread waiter(wait_until_open);
  while (attempts_so_far() == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LE(attempts_so_far(), 3) << "nothing was written meanwhile";
  __transaction_atomic { is_open = 1; }
  waiter.join();
}

TEST(TmRetry, WritesElsewhereWakeNobody) {
  if (&rubato_tm_watch == nullptr) GTEST_SKIP() << "GCC's library does not say what was written";
  const char* const method = std::getenv("RUBATO_ITM_METHOD");
  const std::string name = method != nullptr ? method : "";
  if (name != "eager" && name != "lazy" && name != "norec") GTEST_SKIP() << "may run without logs";
  is_open = attempts = 0;
  std::thread waiter(wait_until_open);
  while (attempts_so_far() == 0) std::this_thread::yield();
  int fewest = 1000;  // of a signature's bits one may be of another place, too
  for (Word& word : elsewhere) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const int before = attempts_so_far();
    for (int i = 0; i < 100; ++i) {
      __transaction_atomic { ++word.value; }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    fewest = std::min(fewest, attempts_so_far() - before);
  }
  EXPECT_EQ(fewest, 0);
  __transaction_atomic { is_open = 1; }
  waiter.join();
}

int passed[2];

TEST(TmRetry, TwoThreadsThatWaitForEachOtherLoseNoWakeUp) {
  passed[0] = passed[1] = 0;
  run_threads(2, [](int me) {
    for (int i = 0; i < 5'000; ++i) {
      RUBATO_TM_ATOMIC {
        RUBATO_TM_WAIT_UNLESS(me == 0 ? passed[0] == passed[1] : passed[0] > passed[1]);
        ++passed[me];
      }
    }
  });
  EXPECT_EQ(passed[0], 5'000);
  EXPECT_EQ(passed[1], 5'000);
}

void write_through(int* place) {
  RUBATO_TM_ATOMIC { *place = *place + 1; }
}

// The owner's stores to its own stack are in place, by every method: they wake as others do.
TEST(TmRetry, AWriteToTheWritersOwnStackWakesAThreadThatWaitsForIt) {
  for (int round = 0; round < 50; ++round) {
    int own = 0;
    attempts = 0;
    std::thread waiter([&] {
      RUBATO_TM_ATOMIC {
        count_attempt();
        RUBATO_TM_WAIT_UNLESS(own != 0);
      }
    });
    while (attempts_so_far() == 0) std::this_thread::yield();
    if (round % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    write_through(&own);
    waiter.join();
    EXPECT_EQ(own, 1);
  }
}

TEST(TmSemaphore, IsPostedByTransactionsThatCommit) {
  static rubato::tm::semaphore semaphore;
  static int posted = 0;
  std::thread other([] {
    for (int i = 0; i < 100; ++i) {
      __transaction_atomic {
        ++posted;
        semaphore.post();
        if (i % 2 == 1) __transaction_cancel;
      }
    }
  });
  for (int i = 0; i < 50; ++i) semaphore.wait();
  other.join();
  EXPECT_FALSE(semaphore.try_wait());
  EXPECT_EQ(posted, 50);
}

}  // namespace
