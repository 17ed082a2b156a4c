// R4: a resource may ask for its synchronization. Each way with each isolation, on several workers: its
// tasks carry the way that was asked for, writers exclude all others, readers see no write half done.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <tuple>

#include "native/sync/choice.hpp"
#include "rubato/rubato.hpp"

namespace {

using namespace rubato;
using native::Primitive;
using enum Synchronization;

void use(unsigned workers, Synchronization for_all = automatic) {
  native::Options options;
  options.workers = workers;
  options.oversubscribe = true;
  options.synchronization = for_all;
  native::configure(options);
}

struct Carried {
  Primitive primitive;
  bool is_pooled;
  bool operator==(const Carried&) const = default;
};
/// Contents of a task on `resource`.
template <class T>
Carried carried_by(resource<T> resource, Access access) {
  Locale locale = resource;
  const auto handle =
      engine::handle_of<TaskType::nonspec>(engine::attach_thread(), {.on = locale, .access = access}, false);
  return {
      static_cast<Primitive>((handle & engine::handle::kPrimitiveMask) >> engine::handle::kPrimitiveShift),
      (handle & engine::handle::kPooled) != 0};
}

struct Pair {
  tracked<std::uint64_t> first, second;
};

std::atomic<int> writers{0};
std::atomic<std::uint64_t> violations{0};
std::atomic<std::uint64_t> reads_done{0};

void wait_a_little(std::uint64_t turns) {
  for (std::uint64_t i = 0; i < turns; ++i) writers.load();
}

void writes_both(resource<Pair> pair, std::uint64_t turns) {
  if (writers.fetch_add(1) != 0) ++violations;
  pair->first = pair->first + 1;
  wait_a_little(turns);
  pair->second = pair->second + 1;
  writers.fetch_sub(1);
}

void reads_both(resource<Pair> pair, std::uint64_t turns) {
  const std::uint64_t first = pair->first;
  wait_a_little(turns);
  const std::uint64_t second = pair->second;
  on_commit(
      [](std::uint64_t a, std::uint64_t b) {
        if (a != b) ++violations;
        ++reads_done;
      },
      first, second);
}

class Request : public ::testing::TestWithParam<std::tuple<Isolation, Synchronization, unsigned>> {
 protected:
  ~Request() override { native::configure({}); }
};

TEST_P(Request, KeepsTheIsolation) {
  const auto [isolation, asked, workers] = GetParam();
  use(workers);
  const auto pair = make_resource<Pair>({.isolation = isolation, .synchronization = asked});
  writers = 0;
  violations = reads_done = 0;
  constexpr std::uint64_t kTasks = 9000;
  // From several tasks, so that all workers have some.
  for (std::uint64_t part = 0; part < 6; ++part) {
    create<nonspec>(
        [](resource<Pair> p, std::uint64_t from) {
          for (std::uint64_t i = from; i < from + kTasks / 6; ++i) {
            if (i % 3 == 0) {
              create<nonspec>(writes_both, {.on = p}, p, i % 50 * 30);
            } else {
              create<nonspec>(reads_both, {.on = p, .access = reads}, p, i % 50 * 30);
            }
          }
        },
        {}, pair, part * (kTasks / 6));
  }
  run();
  EXPECT_EQ(violations, 0u);
  EXPECT_EQ(pair->first, kTasks / 3);
  EXPECT_EQ(pair->second, kTasks / 3);
  EXPECT_EQ(reads_done, kTasks - kTasks / 3);
  remove(pair);
}

TEST_P(Request, IsWhatTasksCarryWhateverIsChosenForAll) {
  const auto [isolation, asked, workers] = GetParam();
  const Primitive expected = native::respecting(isolation, native::requested(asked));
  for (const Synchronization for_all : {automatic, none, latch, optimistic_latch}) {
    use(workers, for_all);
    const auto pair =
        make_resource<Pair>({.isolation = isolation, .ratio = Ratio::mostly_reads, .synchronization = asked});
    EXPECT_EQ(pair.options().synchronization, asked);
    EXPECT_EQ(pair.options().isolation, isolation);
    EXPECT_EQ(pair.options().ratio, Ratio::mostly_reads);
    for (const Access access : {reads, writes}) {
      const bool is_pooled =
          expected == Primitive::pool || (expected == Primitive::optimistic_pool && access == writes);
      const Carried carried{expected == Primitive::pool ? Primitive::none : expected, is_pooled};
      EXPECT_EQ(carried_by(pair, access), carried);
    }
    remove(pair);
  }
}

std::string name_of(const ::testing::TestParamInfo<Request::ParamType>& info) {
  constexpr const char* kNames[] = {"automatic",       "none", "latch", "shared_latch", "optimistic_latch",
                                    "optimistic_pool", "pool"};
  const auto [isolation, asked, workers] = info.param;
  return std::string(isolation == Isolation::exclusive ? "exclusive_" : "shared_") +
         kNames[static_cast<int>(asked)] + "_" + std::to_string(workers);
}
INSTANTIATE_TEST_SUITE_P(All, Request,
                         ::testing::Combine(::testing::Values(Isolation::exclusive, Isolation::shared_reads),
                                            ::testing::Values(latch, shared_latch, optimistic_latch,
                                                              optimistic_pool, pool),
                                            ::testing::Values(2u, 8u)),
                         name_of);

constexpr std::chrono::minutes kTooLong{10};  // for a thread beside other work, too

/// Two tasks that wait for each other for `patience` at most. @returns whether they met.
bool meet(resource<Pair> pair, Access access, std::chrono::milliseconds patience) {
  static std::atomic<int> inside;
  static std::atomic<bool> have_met;
  inside = 0;
  have_met = false;
  static std::chrono::milliseconds limit;
  limit = patience;
  const auto task = [] {
    ++inside;
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!have_met && inside != 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    if (inside == 2) have_met = true;
    --inside;
  };
  for (const std::uint32_t core : {0u, 1u})
    create<nonspec>([pair, access, task] { create<nonspec>(task, {.on = pair, .access = access}); },
                    {.core = core});
  run();
  return have_met;
}

TEST(Requests, DecideWhoMayMeet) {
  use(2);
  const auto make = [](Isolation isolation, Synchronization asked) {
    return make_resource<Pair>({.isolation = isolation, .synchronization = asked});
  };
  const auto free = make(Isolation::exclusive, none);
  const auto latched = make(Isolation::exclusive, latch);
  const auto readable = make(Isolation::shared_reads, shared_latch);
  const auto closed = make(Isolation::shared_reads, latch);
  EXPECT_TRUE(meet(free, writes, kTooLong));
  EXPECT_FALSE(meet(latched, writes, std::chrono::milliseconds(300)));
  EXPECT_FALSE(meet(latched, reads, std::chrono::milliseconds(300)));
  EXPECT_TRUE(meet(readable, reads, kTooLong));
  EXPECT_FALSE(meet(readable, writes, std::chrono::milliseconds(300)));
  EXPECT_FALSE(meet(closed, reads, std::chrono::milliseconds(300)));
  for (const auto& pair : {free, latched, readable, closed}) remove(pair);
  native::configure({});
}

}  // namespace
