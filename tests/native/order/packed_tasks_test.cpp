// Packed tasks alone, against what was put in.
// SPDX-License-Identifier: MIT
#include "native/order/packed_tasks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <utility>

#include "rubato/rubato.hpp"

namespace {

using namespace rubato;
using engine::Task;
using native::PackedChunks;
using native::PackedMemory;
using native::PackedTasks;
using native::PackedTimestamp;

constexpr std::uint64_t kHandle =
    engine::handle::kTimestamped | std::uint64_t{static_cast<std::uint8_t>(Priority::normal)}
                                       << engine::handle::kPriorityShift;

void with_pointer(int, int, int) {}

/// Without the address of a locale that is no resource.
std::uint64_t significant(std::uint64_t handle) {
  return (handle & engine::handle::kResource) != 0 ? handle : handle & ~engine::handle::kAddressMask;
}

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
  PackedMemory memory;
  PackedChunks chunks(memory);
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
      ASSERT_TRUE(native::is_packable(task.get()));
      ASSERT_TRUE(list.push(task.get(), 77, chunks));
      expected.push_back({task->handle, {}});
      std::copy(std::begin(task->words), std::end(task->words), expected.back().words);
    } else if (!expected.empty()) {
      Task task{};
      list.pop(&task, chunks);
      ASSERT_EQ(significant(task.handle), significant(expected.front().handle));
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
  // Resources, each with its address and birth epoch.
  expect_fifo([](int a, std::uint64_t b) {
    return make(engine::handle::kResource | (b & (engine::handle::kAddressMask | engine::handle::kBirthMask)),
                77, with_pointer, a, 5, -a);
  });
  // Nothing but handles; of two kinds, in turns or after many of one.
  for (const int rare : {2, 900}) {
    expect_fifo([rare](int a, std::uint64_t b) {
      const std::uint64_t kind = a % rare == 0 ? engine::handle::kLocale : 0;
      return make(kind | b % 4096, 77, [] {});
    });
  }
}

TEST(PackedTasks, OfTwoKindsShareChunks) {
  PackedMemory memory;
  PackedChunks chunks(memory);
  const native::PackedChunk* const before = chunks.take();
  PackedTasks list;
  const std::unique_ptr<Task> one = make(1, 5, with_pointer, 1, 2, 3);
  const std::unique_ptr<Task> other = make(engine::handle::kLocale, 5, with_pointer, 1, 2, 3);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(list.push(i % 2 == 0 ? one.get() : other.get(), 5, chunks));
  EXPECT_LE(chunks.take() - before, 3);
  Task task{};
  while (!list.is_empty()) list.pop(&task, chunks);
}

TEST(PackedTasks, ComeFromMemoryThatIsUsedAgain) {
  PackedMemory memory;
  const native::PackedChunk* next = nullptr;
  {
    PackedChunks chunks(memory), others(memory);
    const native::PackedChunk* const chunk = chunks.take();
    const auto distance =
        reinterpret_cast<std::uintptr_t>(chunk) ^ reinterpret_cast<std::uintptr_t>(others.take());
    EXPECT_GE(distance, std::uintptr_t{2} << 20) << "two workers in one huge page";
    next = chunk + 1;
  }
  PackedChunks later(memory);
  std::set<const native::PackedChunk*> taken;
  for (int i = 0; i < 254; ++i) taken.insert(later.take());
  EXPECT_TRUE(taken.contains(next)) << "the rest of a slab is lost";
}

TEST(PackedTasks, AreNotThoseThatNeedMoreThanTheirWords) {
  const auto is_packable = [](const std::unique_ptr<Task>& task) { return native::is_packable(task.get()); };
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
  PackedMemory memory;
  PackedChunks chunks(memory);
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
