// An optimistic reader that lost is run again as it was: a callable that changes itself when it is called is
// never run as one. R4.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "rubato/rubato.hpp"

namespace {

using namespace rubato;
using enum Synchronization;

struct Object {
  tracked<std::uint64_t> value;
};

std::atomic<int> attempts{0}, complete{0};

/// In an optimistic reader, the first time: as if a writer had been at work.
void lose_once(resource<Object> object) {
  if (++attempts != 1) return;
  auto* const header = reinterpret_cast<engine::ResourceHeader*>(reinterpret_cast<char*>(object.get()) -
                                                                 sizeof(engine::ResourceHeader));
  if (header->synchronization % 2 == 0) header->synchronization += 2;
}

const std::string kText = "too long to be anywhere but on the heap";

class Repeatable : public ::testing::TestWithParam<Synchronization> {
 protected:
  void SetUp() override {
    native::Options options;
    options.workers = 2;
    options.oversubscribe = true;
    native::configure(options);
    object = make_resource<Object>({.isolation = Isolation::shared_reads, .synchronization = GetParam()});
    attempts = complete = 0;
  }
  void TearDown() override {
    remove(object);
    native::configure({});
  }
  resource<Object> object;
};
INSTANTIATE_TEST_SUITE_P(Ways, Repeatable, ::testing::Values(automatic, optimistic_latch, optimistic_pool));

TEST_P(Repeatable, ReadersRunAgainAsTheyWere) {
  create<nonspec>(
      [text = kText, o = object] {
        const std::string read = text;
        lose_once(o);
        if (read == kText) ++complete;
      },
      {.on = object, .access = reads});
  run();
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(complete, 2);
}

TEST_P(Repeatable, ACallableThatChangesItselfRunsOnce) {
  create<nonspec>(
      [text = kText, o = object]() mutable {
        const std::string taken = std::move(text);
        lose_once(o);
        if (taken == kText) ++complete;
      },
      {.on = object, .access = reads});
  run();
  EXPECT_EQ(attempts, 1);
  EXPECT_EQ(complete, 1);
}

/// In memory of its own.
TEST_P(Repeatable, ALargeCallableThatChangesItselfRunsOnce) {
  std::array<std::string, 3> texts;
  texts.fill(kText);
  create<nonspec>(
      [texts, o = object]() mutable {
        const std::array<std::string, 3> taken = std::move(texts);
        lose_once(o);
        if (taken[2] == kText) ++complete;
      },
      {.on = object, .access = reads});
  run();
  EXPECT_EQ(attempts, 1);
  EXPECT_EQ(complete, 1);
}

/// Neither inside a task nor in memory of their own.
TEST_P(Repeatable, ArgumentsArriveAgainAsTheyWere) {
  std::array<std::string, 3> texts;
  texts.fill(kText);
  create<nonspec>(
      [texts, o = object](auto&& number) {
        lose_once(o);
        if (number++ == 7) ++complete;
      },
      {.on = object, .access = reads}, 7);
  run();
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(complete, 2);
}

struct Both {
  resource<Object> object;
  int calls = 0;
  void operator()() { ++calls; }
  void operator()() const {
    lose_once(object);
    ++complete;
  }
};
TEST_P(Repeatable, ACallableIsCalledAsAConstantIfItCanBe) {
  create<nonspec>(Both{object}, {.on = object, .access = reads});
  run();
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(complete, 2);
}

}  // namespace
