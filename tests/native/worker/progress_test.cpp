// Every task has its turn although others never run out: no worker is ever idle here, so that whatever waits
// for one to become idle waits for ever. R10.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;
using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::atomic<std::uint64_t> calls{0};
std::atomic<std::uint64_t> wanted{0};

bool is_to_go_on(Clock::time_point until) { return calls < wanted && Clock::now() < until; }

/// Never run out before all that is wanted has run, or for far too long.
void go_on(Clock::time_point until) {
  if (is_to_go_on(until)) create<nonspec>(go_on, {}, until);
}
constexpr seconds kTooLong{300};  // for a thread beside other work, too
void work_for(microseconds time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}
void go_on_slowly(Clock::time_point until) {
  work_for(microseconds(20));
  if (is_to_go_on(until)) create<nonspec>(go_on_slowly, {}, until);
}
void go_on_in_order(Clock::time_point until) {
  work_for(microseconds(20));
  if (is_to_go_on(until)) create<nonspec>(go_on_in_order, {.at = timestamp() + 1}, until);
}

std::atomic<bool> has_created{false};
void go_on_slowly_and_create(Clock::time_point until) {
  work_for(microseconds(20));
  if (is_to_go_on(until)) create<nonspec>(go_on_slowly_and_create, {}, until);
  if (Clock::now() < until - kTooLong + milliseconds(30) || has_created.exchange(true)) return;
  for (unsigned i = 0; i < 100; ++i) create<nonspec>([] { ++calls; }, {});
}

void call_slowly() {
  work_for(microseconds(20));
  ++calls;
}
void go_on_in_order_and_create(Clock::time_point until) {
  work_for(microseconds(20));
  if (is_to_go_on(until)) create<nonspec>(go_on_in_order_and_create, {.at = timestamp() + 1}, until);
  if (Clock::now() < until - kTooLong + milliseconds(30) || has_created.exchange(true)) return;
  for (unsigned i = 0; i < 100; ++i) create<nonspec>(call_slowly, {});
}
void go_on_at(std::uint32_t core, Clock::time_point until) {
  work_for(microseconds(20));
  if (is_to_go_on(until)) create<nonspec>(go_on_at, {.core = core}, core, until);
}

class Progress : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override { use_workers(GetParam()); }

  /// As many tasks as keep all workers busy until `count` others have run.
  void keep_busy(std::uint64_t count, void (*function)(Clock::time_point) = go_on) {
    calls = 0;
    wanted = count;
    begin_ = Clock::now();
    for (unsigned i = 0; i < 4 * GetParam() && function != nullptr; ++i)
      create<nonspec>(function, {}, begin_ + kTooLong);
  }
  /// All but the first.
  void keep_others_busy() {
    for (std::uint32_t core = 1; core < GetParam(); ++core)
      create<nonspec>(go_on_at, {.core = core}, core, begin_ + kTooLong);
  }
  void expect_all_run() {
    run();
    EXPECT_EQ(calls, wanted);
    EXPECT_LT(Clock::now() - begin_, kTooLong);
  }

  Clock::time_point begin_;
};
INSTANTIATE_TEST_SUITE_P(Workers, Progress, ::testing::Values(1u, 2u, 8u));

TEST_P(Progress, OfTimestamps) {
  keep_busy(100);
  for (std::uint64_t i = 0; i < 100; ++i) create<nonspec>([] { ++calls; }, {.at = 1 + i / 3});
  expect_all_run();
}

TEST_P(Progress, OfTimestampsWhileEveryTaskIsLong) {
  keep_busy(20, go_on_slowly);
  for (std::uint64_t i = 0; i < 20; ++i) create<nonspec>([] { ++calls; }, {.at = 1 + i / 3});
  expect_all_run();
}

/// Created by tasks of the timestamp before: in the heaps of several workers, which hand them out themselves.
TEST_P(Progress, OfLargeTimestamps) {
  constexpr std::uint64_t kCreators = 64, kChildren = 400;
  for (const bool has_locale : {false, true}) {
    keep_busy(kCreators * kChildren + 1);
    for (std::uint64_t i = 0; i < kCreators; ++i) {
      create<nonspec>(
          [has_locale, i] {
            for (std::uint64_t k = 0; k < kChildren; ++k) {
              if (has_locale) {
                create<nonspec>([] { ++calls; }, {.at = 2, .on = i * kChildren + k});
              } else {
                create<nonspec>([] { ++calls; }, {.at = 2});
              }
            }
          },
          {.at = 1, .on = i});
    }
    create<nonspec>([] { ++calls; }, {.at = 3});
    expect_all_run();
  }
}

TEST_P(Progress, OfSpecTasksWithTimestamps) {
  keep_busy(20);
  for (std::uint64_t i = 0; i < 20; ++i) create<spec>([] { ++calls; }, {.at = 1 + i / 2});
  expect_all_run();
}

/// Tasks that were offered to idle workers come back if none is idle: created when all have been busy for a
/// while.
TEST_P(Progress, OfTasksThatAreOfferedToOthers) {
  for (const bool is_ordered : {false, true}) {
    keep_busy(100, go_on_slowly_and_create);
    has_created = false;
    if (is_ordered) create<nonspec>(go_on_in_order, {.at = 1}, begin_ + kTooLong);
    expect_all_run();
  }
}

/// The same where one worker has all other tasks, many or none.
TEST_P(Progress, OfTasksThatAreOfferedByOneWorker) {
  for (const unsigned polls : {0u, 1u, 5u, 40u}) {
    keep_busy(100, nullptr);
    keep_others_busy();
    for (unsigned i = 0; i < polls; ++i) create<nonspec>(go_on_slowly, {}, begin_ + kTooLong);
    has_created = false;
    create<nonspec>(go_on_in_order_and_create, {.at = 1}, begin_ + kTooLong);
    expect_all_run();
  }
}

void call_in_order(unsigned left) {
  ++calls;
  if (left != 1) create<nonspec>(call_in_order, {.at = timestamp() + 1, .on = 3}, left - 1);
}

/// Timestamps have run outside pools; then tasks without timestamps go into them, also all of a worker that
/// may not take any before the one that ran the timestamps says so.
TEST_P(Progress, OfLocalesAfterTimestamps) {
  for (const std::uint64_t locale : {0, 1}) {
    keep_busy(500 + 16, nullptr);
    keep_others_busy();
    create<nonspec>(go_on, {}, begin_ + kTooLong);
    create<nonspec>(call_in_order, {.at = 1, .on = 3}, 500u);
    create<nonspec>(
        [locale] {
          while (calls < 500 && GetParam() != 1) work_for(milliseconds(1));
          for (std::uint64_t i = 0; i < 16; ++i) create<nonspec>([] { ++calls; }, {.on = locale});
        },
        {.core = GetParam() - 1});
    expect_all_run();
  }
}

/// Pools were closed when the tasks came, and then it is always the turn of the pinned ones when the ring is
/// empty.
TEST_P(Progress, OfLocalesAfterALongTimestamp) {
  for (const std::uint64_t locale : {0, 1}) {
    keep_busy(16, nullptr);
    keep_others_busy();
    create<nonspec>(go_on, {}, begin_ + kTooLong);
    has_created = false;
    create<nonspec>(
        [until = begin_ + kTooLong] {
          while (!has_created && GetParam() != 1 && Clock::now() < until) std::this_thread::yield();
          work_for(milliseconds(1));
        },
        {.at = 1, .on = 3});
    create<nonspec>(
        [locale] {
          for (std::uint64_t i = 0; i < 16; ++i) create<nonspec>([] { ++calls; }, {.on = locale});
          has_created = true;
        },
        {.core = GetParam() - 1});
    expect_all_run();
  }
}

void go_on_at_once(Clock::time_point until) {
  if (is_to_go_on(until)) create<nonspec>(go_on_at_once, {.at = timestamp()}, until);
  if (Clock::now() < until - kTooLong + milliseconds(100) || has_created.exchange(true)) return;
  create<nonspec>([] { ++calls; }, {.on = 5});
  static TaskGroup group;
  create<nonspec>([] { ++calls; }, {.at = timestamp(), .group = &group});
  create<nonspec>([] { ++calls; }, {.at = timestamp(), .after = &group});
}
void count_down(unsigned left, Clock::time_point until) {
  if (left == 0) return go_on_at_once(until);
  create<nonspec>(count_down, {.at = timestamp() + 1}, left - 1, until);
}

/// A timestamp that runs outside the pools does not end before what it has created there, or what waits.
TEST_P(Progress, OfWhatAnEndlessTimestampCreates) {
  for (const bool are_busy : {false, true}) {
    keep_busy(3, nullptr);
    if (are_busy) keep_others_busy();
    has_created = false;
    create<nonspec>(count_down, {.at = 1}, 20000u, begin_ + kTooLong);
    expect_all_run();
  }
}

void go_on_alone(Clock::time_point until) {
  work_for(microseconds(20));
  if (is_to_go_on(until)) create<spec>(go_on_alone, {}, until);
}

/// Others have a turn between two rounds of tasks that run with nothing beside them.
TEST_P(Progress, BesideSpecTasks) {
  keep_busy(10, nullptr);
  create<spec>(go_on_alone, {}, begin_ + kTooLong);
  create<nonspec>(
      [] {
        work_for(milliseconds(30));
        for (unsigned i = 0; i < 10; ++i) create<nonspec>([] { ++calls; }, {.core = GetParam() - 1});
      },
      {.core = GetParam() - 1});
  expect_all_run();
}

/// SPEC tasks that wait while those of another worker run have their turn before the other worker has its
/// next one.
TEST_P(Progress, OfSpecTasksBesideOthers) {
  keep_busy(10, nullptr);
  create<spec>(go_on_alone, {}, begin_ + kTooLong);
  create<nonspec>(
      [] {
        work_for(milliseconds(30));
        for (unsigned i = 0; i < 10; ++i) create<spec>([] { ++calls; }, {});
      },
      {.core = GetParam() - 1});
  expect_all_run();
}

struct Word {
  tracked<std::uint64_t> value = 0;
};
void go_on_writing(resource<Word> word, Clock::time_point until) {
  word->value = word->value + 1;
  work_for(microseconds(100));
  if (is_to_go_on(until)) create<nonspec>(go_on_writing, {.on = word}, word, until);
}

/// A writer that takes longer than a reader waits for it, and then the next.
TEST_P(Progress, OfReadersBesideWriters) {
  for (const auto how : {Synchronization::optimistic_latch, Synchronization::optimistic_pool}) {
    keep_busy(1, nullptr);
    const auto word = make_resource<Word>({.isolation = Isolation::shared_reads, .synchronization = how});
    for (unsigned i = 0; i < 2; ++i)
      create<nonspec>([](resource<Word> w,
                         Clock::time_point until) { create<nonspec>(go_on_writing, {.on = w}, w, until); },
                      {.core = 0}, word, begin_ + kTooLong);
    create<nonspec>(
        [](resource<Word> w) {
          work_for(milliseconds(1));
          create<nonspec>(
              [](resource<Word> read) {
                const std::uint64_t seen = read->value;
                work_for(microseconds(20));
                create<nonspec>([](std::uint64_t value) { calls += value < ~std::uint64_t{0} ? 1 : 0; }, {},
                                seen);
              },
              {.on = w, .access = reads}, w);
        },
        {.core = GetParam() - 1}, word);
    expect_all_run();
    remove(word);
  }
}

void go_on_for_long(Clock::time_point until) {
  work_for(milliseconds(5));
  if (is_to_go_on(until)) create<nonspec>(go_on_for_long, {}, until);
  if (Clock::now() < until - kTooLong + milliseconds(500) || has_created.exchange(true)) return;
  create<nonspec>([] { ++calls; }, {.on = 5, .priority = Priority::low});
}

/// A ready pool is left to others for a while, and one of low priority for longer, but not for both.
TEST_P(Progress, OfLowPriorityInPoolsBesideLongTasks) {
  keep_busy(1, nullptr);
  has_created = false;
  for (std::uint32_t core = 0; core < GetParam(); ++core)
    create<nonspec>(
        [](Clock::time_point until) {
          work_for(milliseconds(100));
          for (unsigned i = 0; i < 8; ++i) create<nonspec>(go_on_for_long, {}, until);
        },
        {.core = core}, begin_ + kTooLong);
  expect_all_run();
}

std::atomic<std::uint64_t> long_tasks{0};
void go_on_for_5_ms(Clock::time_point until) {
  ++long_tasks;
  std::this_thread::sleep_for(milliseconds(5));
  if (is_to_go_on(until)) create<nonspec>(go_on_for_5_ms, {}, until);
}

/// A worker that never idles goes on to the next timestamp every few long tasks, not every 50.
TEST_P(Progress, OfTimestampsBesideVeryLongTasks) {
  constexpr std::uint64_t kTimestamps = 20;
  long_tasks = 0;
  keep_busy(kTimestamps, go_on_for_5_ms);
  for (std::uint64_t i = 0; i < kTimestamps; ++i) create<nonspec>([] { ++calls; }, {.at = 1 + i});
  expect_all_run();
  EXPECT_LT(long_tasks, GetParam() * kTimestamps * 25);
}

void go_on_reading(resource<Word> word, Clock::time_point until) {
  ++long_tasks;
  std::this_thread::sleep_for(milliseconds(20));
  if (is_to_go_on(until)) create<nonspec>(go_on_reading, {.on = word, .access = reads}, word, until);
}

/// Readers overlap, so that one is always inside, also when each takes longer than readers wait for a writer.
TEST_P(Progress, OfAWriterBesideLongReaders) {
  keep_busy(1, nullptr);
  long_tasks = 0;
  const auto word = make_resource<Word>(
      {.isolation = Isolation::shared_reads, .synchronization = Synchronization::shared_latch});
  for (std::uint32_t core = 0; core < GetParam(); ++core)
    create<nonspec>(
        [](resource<Word> w, Clock::time_point until, std::uint32_t turn) {
          std::this_thread::sleep_for(milliseconds(10 * turn));
          create<nonspec>(go_on_reading, {.on = w, .access = reads}, w, until);
        },
        {.core = core}, word, begin_ + kTooLong, core);
  create<nonspec>(
      [](resource<Word> w) {
        std::this_thread::sleep_for(milliseconds(100));
        long_tasks = 0;
        create<nonspec>([] { ++calls; }, {.on = w});
      },
      {.core = 0}, word);
  expect_all_run();
  EXPECT_LT(long_tasks, 25 * GetParam());
  remove(word);
}

void go_on_holding(resource<Word> word, Clock::time_point until) {
  std::this_thread::sleep_for(milliseconds(5));
  if (is_to_go_on(until)) create<nonspec>(go_on_holding, {.on = word}, word, until);
}

/// The writer's worker has many other tasks, all short: it looks at the latch once in all of them.
TEST_P(Progress, OfAWriterAmongShortTasksBesideLongWriters) {
  for (const auto how : {Synchronization::latch, Synchronization::optimistic_latch}) {
    keep_busy(1, nullptr);
    const auto word = make_resource<Word>({.isolation = Isolation::shared_reads, .synchronization = how});
    create<nonspec>(
        [](resource<Word> w, Clock::time_point until) {
          for (unsigned i = 0; i < 2; ++i) create<nonspec>(go_on_holding, {.on = w}, w, until);
        },
        {.core = GetParam() - 1}, word, begin_ + kTooLong);
    create<nonspec>(
        [](resource<Word> w, Clock::time_point until) {
          work_for(milliseconds(50));
          for (unsigned i = 0; i < 1000; ++i) create<nonspec>(go_on, {}, until);
          create<nonspec>([] { ++calls; }, {.on = w});
        },
        {.core = 0}, word, begin_ + kTooLong);
    expect_all_run();
    remove(word);
  }
}

}  // namespace
