// Packed tasks alone, against what was put in.
// SPDX-License-Identifier: MIT
#include "runtime/order/packed_tasks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <utility>

#include "rubato/rubato.hpp"

namespace {

using namespace rubato;
using engine::Task;
using runtime::PackedChunks;
using runtime::PackedTasks;
using runtime::PackedTimestamp;

constexpr std::uint64_t kHandle =
    engine::handle::kTimestamped | std::uint64_t{static_cast<std::uint8_t>(Priority::normal)}
                                       << engine::handle::kPriorityShift;

void with_pointer(int, int, int) {}

/// As create() leaves it.
template <class F, class... Args>
std::unique_ptr<Task> make(std::uint64_t locale, std::uint64_t at, F function, Args... args) {
  auto task = std::make_unique<Task>();
  task->handle = kHandle | locale;
  engine::fill_task(task.get(), std::move(function), args...);
  task->words[engine::kInlineWords - 1] = at;
  return task;
}

template <class Make>
void expect_fifo(Make make_one) {
  PackedChunks chunks;
  PackedTasks list;
  std::mt19937_64 random(3);
  struct Expected {
    std::uint64_t handle, words[engine::kInlineWords];
  };
  std::deque<Expected> expected;
  for (int i = 0; i < 60'000; ++i) {
    const bool grows = i < 20'000 || (i < 40'000 && random() % 2 == 0);
    if (grows) {
      const std::unique_ptr<Task> task = make_one(static_cast<int>(random() % 1000), random());
      ASSERT_TRUE(runtime::is_packable(task.get()));
      ASSERT_TRUE(list.push(task.get(), 77, chunks));
      expected.push_back({task->handle, {}});
      std::copy(std::begin(task->words), std::end(task->words), expected.back().words);
    } else if (!expected.empty()) {
      Task task{};
      list.pop(&task, chunks);
      ASSERT_EQ(task.handle, expected.front().handle);
      for (unsigned w = 0; w < task.code->words; ++w)
        ASSERT_EQ(task.words[w], expected.front().words[w]) << "word " << w;
      ASSERT_EQ(engine::timestamp_of(&task), 77u);
      expected.pop_front();
    }
    ASSERT_EQ(list.size(), expected.size());
  }
  EXPECT_TRUE(expected.empty());
  EXPECT_TRUE(list.is_empty());
}

TEST(PackedTasks, GiveBackWhatWasPutIn) {
  expect_fifo([](int a, std::uint64_t b) { return make(b % 4096, 77, with_pointer, a, 5, -a); });
  expect_fifo([](int a, std::uint64_t b) {
    return make(
        b % 4096, 77, [](int, std::uint64_t) {}, a, b);
  });
  expect_fifo(
      [](int a, std::uint64_t b) { return make(b % 4096, 77, [a, b] { static_cast<void>(a + b); }); });
  expect_fifo([](int, std::uint64_t b) { return make(b % 4096, 77, [] {}); });
}

TEST(PackedTasks, AreNotThoseThatNeedMoreThanTheirWords) {
  const auto is_packable = [](const std::unique_ptr<Task>& task) { return runtime::is_packable(task.get()); };
  const std::unique_ptr<Task> task = make(1, 2, with_pointer, 1, 2, 3);
  EXPECT_TRUE(is_packable(task));
  task->handle |= engine::handle::kSpec;
  EXPECT_FALSE(is_packable(task)) << "runs alone";
  task->handle = kHandle | engine::handle::kExtended;
  EXPECT_FALSE(is_packable(task)) << "has a second line";
  task->handle = engine::handle::kTimestamped | std::uint64_t{static_cast<std::uint8_t>(Priority::high)}
                                                    << engine::handle::kPriorityShift;
  EXPECT_FALSE(is_packable(task)) << "goes first";

  struct Owner {
    Owner() = default;
    Owner(const Owner& o) : self(this) { static_cast<void>(o); }
    Owner& operator=(const Owner&) = delete;
    ~Owner() = default;
    void operator()() const {}
    const Owner* self = this;
  };
  EXPECT_FALSE(is_packable(make(1, 2, Owner{}))) << "knows its address";
}

TEST(PackedTimestamp, TakesManyInARowOfOneTimestampAndFunction) {
  PackedChunks chunks;
  PackedTimestamp later(2);
  const std::unique_ptr<Task> one = make(1, 5, with_pointer, 1, 2, 3), other = make(1, 5, [] {});
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_FALSE(later.wants(one.get(), 5));
    ASSERT_FALSE(later.wants(other.get(), 5)) << "in turns: no row";
  }
  int linked = 0;
  for (; linked < 10'000 && !later.wants(one.get(), 5); ++linked) continue;
  EXPECT_GT(linked, 100);
  EXPECT_LT(linked, 5000);
  ASSERT_TRUE(later.push(one.get(), 1, chunks));
  EXPECT_FALSE(later.wants(other.get(), 5));
  EXPECT_FALSE(later.wants(one.get(), 6));
  EXPECT_TRUE(later.wants(one.get(), 5)) << "what came between changes nothing";
  EXPECT_TRUE(later.take(0).is_empty());
  PackedTasks list = later.take(1);
  EXPECT_EQ(list.size(), 1u);
  EXPECT_TRUE(later.is_empty());
  Task task{};
  list.pop(&task, chunks);
}

}  // namespace
