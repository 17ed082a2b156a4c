// Timestamps with very many tasks, most of which wait in packed form: order, exclusion by locale, failures.
// R2, R9 and R11.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "rubato/rubato.hpp"
#include "tests/native/use_workers.hpp"

namespace {

using namespace rubato;

class LargeTimestamps : public ::testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    use_workers(GetParam());
    running = {};
    for (auto& n : started) n = 0;
  }

 public:
  static constexpr std::uint64_t kLevels = 6;
  static constexpr unsigned kLocales = 97, kTasks = 30'000;

  /// Not atomic: tasks of one locale must not run at once.
  struct Place {
    std::uint64_t tasks = 0;
    bool is_busy = false;
  };
  static inline std::vector<Place> running;
  static inline std::atomic<std::uint64_t> started[kLevels + 1], wrong{0};

  static void enter(Place& place) {
    if (place.is_busy) ++wrong;
    place.is_busy = true;
    ++place.tasks;
    const std::uint64_t level = timestamp();
    ++started[level];
    if (level < kLevels && started[level + 1] != 0) ++wrong;
    place.is_busy = false;
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, LargeTimestamps, ::testing::Values(1u, 2u, 8u));

using Tests = LargeTimestamps;

/// Creates one of the next level, elsewhere.
void step(std::uint64_t number) {
  Tests::enter(Tests::running[number % Tests::kLocales]);
  const std::uint64_t level = timestamp();
  if (level == Tests::kLevels) return;
  const std::uint64_t next = number * 7 + level;
  create<nonspec>(step, {.at = level + 1, .on = next % Tests::kLocales}, next);
}

void begin_steps() {
  for (std::uint64_t i = 0; i < Tests::kTasks; ++i) {
    create<nonspec>(step, {.at = std::uint64_t{0}, .on = i % Tests::kLocales}, i);
  }
}

void expect_everything_ran() {
  EXPECT_EQ(Tests::wrong, 0u);
  for (const auto& n : Tests::started) EXPECT_EQ(n, Tests::kTasks);
  std::uint64_t sum = 0;
  for (const Tests::Place& place : Tests::running) sum += place.tasks;
  EXPECT_EQ(sum, Tests::kTasks * (Tests::kLevels + 1));
}

TEST_P(LargeTimestamps, KeepOrderAndExclusion) {
  running.resize(kLocales);
  const std::uint64_t packed = native::counters().tasks_packed;
  begin_steps();
  run();
  expect_everything_ran();
  EXPECT_GT(native::counters().tasks_packed - packed, kTasks * kLevels / 2) << "not what is to be tested";
}

TEST_P(LargeTimestamps, GoTogetherWithTasksWithoutTimestamp) {
  running.resize(kLocales);
  static std::atomic<std::uint64_t> others;
  others = 0;
  struct Chain {
    static void on(std::uint64_t number, std::uint64_t left) {
      Place& place = running[number % kLocales];
      if (place.is_busy) ++wrong;
      ++others;
      if (left != 0) create<nonspec>(on, {.on = (number + 1) % kLocales}, number + 1, left - 1);
    }
  };
  begin_steps();
  for (std::uint64_t i = 0; i < 50; ++i) create<nonspec>(Chain::on, {.on = i}, i, std::uint64_t{2000});
  run();
  expect_everything_ran();
  EXPECT_EQ(others, 50u * 2001u);
}

TEST_P(LargeTimestamps, CreateMoreOfTheirOwn) {
  running.resize(kLocales);
  struct More {
    /// Tasks of two functions, some with priority, some with as many children at the same timestamp.
    static void visit(std::uint64_t number) {
      enter(running[number % kLocales]);
      const std::uint64_t level = timestamp();
      if (level == kLevels) return;
      if (number % 64 == 0) {
        create<nonspec>([](std::uint64_t n) { make(n); }, {.at = level}, number);
      } else {
        make(number);
      }
    }
    static void rare(std::uint64_t number) { visit(number); }
    static void make(std::uint64_t number) {
      const std::uint64_t next = number * 5 + 1;
      const Annotations a{.at = timestamp() + 1, .on = next % kLocales};
      if (number % 1000 == 0) {
        create<nonspec>(rare, a, next);
      } else if (number % 1001 == 0) {
        create<nonspec>(visit, {.at = timestamp() + 1, .on = next % kLocales, .priority = Priority::high},
                        next);
      } else {
        create<nonspec>(visit, a, next);
      }
    }
  };
  for (std::uint64_t i = 0; i < kTasks; ++i) {
    create<nonspec>(More::visit, {.at = std::uint64_t{0}, .on = i % kLocales}, i);
  }
  run();
  expect_everything_ran();
}

TEST_P(LargeTimestamps, EndWithAnException) {
  running.resize(kLocales);
  struct Fail {
    static void at_level(std::uint64_t number, std::uint64_t level) {
      if (timestamp() == level && number % 1009 == 7) throw std::runtime_error("in the middle");
      if (timestamp() == kLevels) return;
      create<nonspec>(at_level, {.at = timestamp() + 1, .on = number % kLocales}, number, level);
    }
  };
  for (const std::uint64_t level : {1, 3}) {
    const std::uint64_t packed = native::counters().tasks_packed;
    for (std::uint64_t i = 0; i < kTasks; ++i) {
      create<nonspec>(Fail::at_level, {.at = std::uint64_t{0}, .on = i % kLocales}, i, level);
    }
    EXPECT_THROW(run(), TaskError);
    EXPECT_GT(native::counters().tasks_packed, packed);
    EXPECT_EQ(native::counters().tasks_created, native::counters().tasks_run)
        << "dropped ones are counted as run";
  }
  begin_steps();
  run();
  expect_everything_ran();
}

}  // namespace
