// Children of a process whose threads run transactions (T29): they have the forking thread only, and
// memory as it is between transactions.
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "library.hpp"

namespace {

long counter;
__attribute__((noinline)) void unsafe() { asm volatile("" : : : "memory"); }

/// How many of so many children do not end with 0. A child that hangs is ended by its alarm.
int failures_of(int children, const std::function<int()>& child) {
  int failures = 0;
  for (int i = 0; i < children; ++i) {
    const pid_t process = fork();
    if (process == 0) {
      alarm(1800);
      _exit(child());
    }
    int status = 0;
    waitpid(process, &status, 0);
    failures += status != 0;
  }
  return failures;
}

TEST(Fork, LeavesTheChildWithItsOwnThread) {
  SKIP_ON_GCC("the child waits for threads that are not there");
  counter = 0;
  std::atomic<bool> is_over = false;
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i) {
    others.emplace_back([&] {
      while (!is_over) {
        __transaction_atomic { counter = counter + 1; }
      }
    });
  }
  const int failures = failures_of(20, [] {
    static long own;
    for (int k = 0; k < 100; ++k) {
      __transaction_atomic { own = own + 1; }
      __transaction_relaxed {
        own = own + 1;
        unsafe();
      }
    }
    return own == 200 ? 0 : 1;
  });
  is_over = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(failures, 0);
}

long first, last, between[200];

void write_all() {
  __transaction_atomic {
    first = first + 1;
    for (long& word : between) word = first;
    last = last + 1;
  }
}
int is_half() {
  long difference = 0;
  __transaction_atomic { difference = first - last; }
  return difference != 0;
}

TEST(Fork, ShowsTheChildNoHalfOfATransaction) {
  SKIP_ON_GCC("the child waits for threads that are not there");
  first = last = 0;
  std::atomic<bool> is_over = false;
  std::thread writer([&] {
    while (!is_over) write_all();
  });
  EXPECT_EQ(failures_of(150, is_half), 0);
  is_over = true;
  writer.join();
  EXPECT_EQ(first, last);
}

// A thread that has run no transaction forks, in a process that has run none but the writer's.
TEST(Fork, ShowsNoHalfToTheChildOfAThreadWithoutTransactions) {
  SKIP_ON_GCC("the child waits for threads that are not there");
  EXPECT_EQ(failures_of(1,
                        [] {
                          first = last = 0;
                          std::atomic<bool> is_over = false;
                          std::atomic<int> failures = -1;
                          std::thread writer([&] {
                            while (!is_over) write_all();
                          });
                          std::thread forking([&] { failures = failures_of(100, is_half); });
                          forking.join();
                          is_over = true;
                          writer.join();
                          return failures != 0;
                        }),
            0);
}

int inside_status = -1;
__attribute__((noinline)) void fork_inside() {
  const pid_t process = fork();
  if (process == 0) {
    inside_status = 77;
    return;
  }
  waitpid(process, &inside_status, 0);
}
__attribute__((transaction_pure, noinline)) void fork_inside_unseen() { fork_inside(); }

TEST(Fork, InsideASerialTransactionGoesOnInBoth) {
  SKIP_ON_GCC("the child waits for threads that are not there");
  counter = 0;
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    while (!is_over) write_all();
  });
  for (int i = 1; i <= 20; ++i) {
    __transaction_relaxed {
      counter = counter + 1;
      fork_inside();
      counter = counter + 1;
    }
    if (inside_status == 77) {
      write_all();
      _exit(counter == 2 * i && is_half() == 0 ? 0 : 1);
    }
    EXPECT_EQ(inside_status, 0);
  }
  is_over = true;
  other.join();
}

TEST(Fork, InsideAPureFunctionOfATransactionGoesOnInBoth) {
  SKIP_ON_GCC("the child waits for threads that are not there");
  long own = 0;
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    while (!is_over) write_all();
  });
  int wrong = 0;
  for (int i = 0; i < 20; ++i) {
    inside_status = -1;
    own = 0;
    __transaction_atomic {
      long* const place = &own;
      *place = 1;
      if (inside_status != 0) fork_inside_unseen();
      *place = *place + 1;
    }
    if (inside_status == 77) _exit(own == 2 ? 0 : 1);
    wrong += inside_status != 0 || own != 2;
  }
  EXPECT_EQ(wrong, 0);
  is_over = true;
  other.join();
}

std::atomic<bool> is_forking, is_other_inside, may_other_end;
std::atomic<int> actions;
void act(void*) { ++actions; }

__attribute__((transaction_pure, noinline)) void stay_until_the_fork() {
  _ITM_addUserCommitAction(act, 1, nullptr);
  is_other_inside = true;
  while (!may_other_end) std::this_thread::yield();
}
/// The other thread does not come in by a method that runs one transaction at a time.
__attribute__((transaction_pure, noinline)) void fork_beside_another() {
  is_forking = true;
  for (int i = 0; i < 200 && !is_other_inside; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  fork_inside();
  may_other_end = true;
}
bool runs_threads() {
  first = last = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([] {
      for (int k = 0; k < 50; ++k) write_all();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return first == 100 && last == 100;
}

TEST(Fork, InsideATransactionLeavesNothingOfAnotherInTheChild) {
  SKIP_ON_GCC("the child waits for threads that are not there");
  is_forking = is_other_inside = may_other_end = false;
  actions = 0;
  inside_status = -1;
  std::thread other([] {
    while (!is_forking) std::this_thread::yield();
    __transaction_atomic {
      counter = counter + 1;
      stay_until_the_fork();
    }
  });
  __transaction_atomic {
    if (inside_status == -1) fork_beside_another();
  }
  if (inside_status == 77) {
    alarm(1800);
    _exit(runs_threads() && actions == 0 ? 0 : 1);
  }
  other.join();
  EXPECT_EQ(inside_status, 0);
  EXPECT_EQ(actions, 1);
}

std::atomic<int> stage;  ///< of the next test: 1 while a transaction is under way, 2 from when it may end
__attribute__((transaction_pure, noinline)) void stay_inside() {
  stage = 1;
  while (stage == 1) std::this_thread::yield();
}

// A fork that waits for transactions sleeps in between. By POSIX it is no cancellation point.
TEST(Fork, IsNoCancellationPointWhileItWaits) {
  SKIP_ON_GCC("the child waits for threads that are not there");
  stage = 0;
  std::thread other([] {
    __transaction_atomic {
      counter = counter + 1;
      stay_inside();
    }
  });
  while (stage != 1) std::this_thread::yield();
  std::atomic<bool> has_forked = false;
  std::thread forking([&] {
    pthread_cancel(pthread_self());
    const pid_t process = fork();
    if (process == 0) _exit(0);
    has_forked = true;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    waitpid(process, nullptr, 0);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  stage = 2;
  other.join();
  forking.join();
  EXPECT_TRUE(has_forked);
  __transaction_atomic { counter = 1; }
}

TEST(Fork, OfManyThreadsAtOnceEnds) {
  SKIP_ON_GCC("the child waits for threads that are not there");
  first = last = 0;
  std::atomic<int> failures = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < 3; ++i) {
    all.emplace_back([&] {
      for (int k = 0; k < 15; ++k) {
        write_all();
        failures += failures_of(1, is_half);
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(failures, 0);
}

}  // namespace
