// How threads sleep outside of transactions: at a semaphore of their own (T57), and between two attempts of a
// block whose condition does not hold (T56).
// SPDX-License-Identifier: MIT
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "rubato/tm/retry.h"
#include "tm/library/ours.hpp"
#include "tm/library/waiter.hpp"

namespace rubato::tm::library {
namespace {

constexpr unsigned kYields = 8;
constexpr long kLongestSleep = 1'000'000, kShortestSleep = 50'000;  // ns

struct Retries {
  bool is_wanted;
  bool is_watched;  ///< librubato_itm says when to look again
  unsigned in_a_row;
};
thread_local Retries retries;
const auto watch = of_ours<int()>("rubato_tm_watch");
const auto sleep_until_written = of_ours<void()>("rubato_tm_sleep");

struct OwnWaiter {
  tm_waiter waiter;
  bool is_ready;
};
thread_local OwnWaiter own;

void sleep_for(long nanoseconds) {
  const std::timespec time{0, nanoseconds};
  ::nanosleep(&time, nullptr);
}

}  // namespace

tm_waiter* own_waiter() {
  if (!own.is_ready) {
    ::sem_init(&own.waiter.woken, 0, 0);
    own.is_ready = true;
  }
  return &own.waiter;
}

void sleep_until_woken(void* waiter) {
  const int error = errno;
  while (::sem_wait(&static_cast<tm_waiter*>(waiter)->woken) != 0 && errno == EINTR) {
  }
  errno = error;
}

}  // namespace rubato::tm::library

using namespace rubato::tm::library;

// No part of the transaction: the cancel that follows does not undo it.
void tm_retry_wanted() {
  retries.is_wanted = true;
  retries.is_watched = watch != nullptr && watch() != 0;
}

int tm_retry_wait() {
  if (!retries.is_wanted) {
    retries.in_a_row = 0;
    return 0;
  }
  retries.is_wanted = false;
  if (retries.is_watched) {
    retries.in_a_row = 0;
    sleep_until_written();
    return 1;
  }
  const unsigned attempt = retries.in_a_row++;
  if (attempt < kYields) {
    ::sched_yield();
  } else {
    sleep_for(std::min(kLongestSleep, kShortestSleep << std::min(attempt - kYields, 10u)));
  }
  return 1;
}
