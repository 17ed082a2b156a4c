// An optimistic reader that lost is run again as it was: a callable that changes itself when it is called is
// never run as one. R4.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "rubato/actors.hpp"
#include "rubato/async.hpp"
#include "rubato/coroutine.hpp"
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

/// A task whose end creates another one, whether it has run or not.
struct CreatesAtEnd {
  explicit CreatesAtEnd(void (*at_end)()) : end(at_end) {}
  CreatesAtEnd(CreatesAtEnd&& other) noexcept : end(std::exchange(other.end, nullptr)) {}
  CreatesAtEnd& operator=(CreatesAtEnd&&) = delete;
  ~CreatesAtEnd() {
    if (end != nullptr) end();
  }
  void operator()() const {}
  void (*end)();
};
void note_complete() { ++complete; }

/// Tasks of a losing attempt are destroyed unrun. Tasks that their destructors create are no part of the run
/// either.
TEST_P(Repeatable, AnAttemptThatLosesLeavesNothingThatItsDestructorsCreate) {
  static TaskGroup group;
  void (*const ends[])() = {
      [] { create<nonspec>(note_complete, {}); },
      [] { create<nonspec>(note_complete, {.group = &group}); },
      [] { create<nonspec>(note_complete, {.priority = Priority::high}); },
      [] { create<nonspec>(note_complete, {.on = 5}); },
      [] { create<spec>(note_complete, {}); },
      [] { create<nonspec>(note_complete, {.at = 9}); },
      [] { create<nonspec>(CreatesAtEnd([] { create<nonspec>(note_complete, {}); }), {}); },
  };
  for (const auto end : ends) {
    attempts = complete = 0;
    create<nonspec>(
        [o = object, end] {
          create<nonspec>(CreatesAtEnd(end), {.at = 8});
          on_commit(CreatesAtEnd([] { create<nonspec>(note_complete, {}); }));
          lose_once(o);
        },
        {.at = 7, .on = object, .access = reads});
    EXPECT_NO_THROW(run());
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(complete, 2);
    EXPECT_TRUE(group.is_complete());
  }
}

struct Dropped {};
struct Receiver : behavior<CreatesAtEnd, Dropped> {
  void on(const CreatesAtEnd&) {}
  void on(Dropped) { ++complete; }
};
/// The same of messages, and of what destructors send.
TEST_P(Repeatable, AnAttemptThatLosesLeavesNothingThatDestructorsOfItsMessagesSend) {
  static actor<Dropped> to;
  const auto receiver = spawn<Receiver>();
  to = receiver;
  create<nonspec>(
      [o = object, receiver] {
        receiver.send(CreatesAtEnd([] { to.send(Dropped{}); }));
        receiver.send(CreatesAtEnd([] { create<nonspec>(note_complete, {}); }));
        lose_once(o);
      },
      {.on = object, .access = reads});
  run();
  EXPECT_EQ(attempts, 2);
  EXPECT_EQ(complete, 2);
  receiver.stop();
  run();
}

/// Whether two readers of a resource with a latch were in it at once.
template <class CreateReader>
bool are_together(CreateReader create_reader) {
  native::Options options;
  options.workers = 2;
  options.oversubscribe = true;
  native::configure(options);
  const auto object =
      make_resource<Object>({.isolation = Isolation::shared_reads, .synchronization = shared_latch});
  std::atomic<int> inside{0}, together{0};
  for (std::uint32_t core = 0; core < 2; ++core) {
    create_reader(
        [&] {
          ++inside;
          const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
          while (inside != 2 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
          if (inside == 2) ++together;
        },
        Annotations{.on = object, .access = reads, .core = core});
  }
  run();
  remove(object);
  native::configure({});
  return together == 2;
}

Coroutine run_once(std::function<void()> body) {
  body();
  co_return;
}

TEST(ReadersThatChangeThemselves, ShareALatch) {
  EXPECT_TRUE(are_together([](auto body, const Annotations& a) { create<nonspec>(body, a); }));
  EXPECT_TRUE(are_together([](auto body, const Annotations& a) {
    create<nonspec>([body, calls = 0]() mutable { body(), ++calls; }, a);
  })) << "mutable";
  EXPECT_TRUE(are_together([](auto body, const Annotations& a) {
    static_cast<void>(rubato::async(body, a));
  })) << "async()";
  EXPECT_TRUE(are_together([](auto body, const Annotations& a) { create<nonspec>(run_once(body), a); }))
      << "coroutine";
}

}  // namespace
