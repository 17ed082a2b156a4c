// Threads outside that wait: for room in a full mailbox, and for answers. The room or the answer comes, or an
// error says why it does not. A11, A18 and A29.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "native/worker/waiting_threads.hpp"
#include "rubato/actors.hpp"

namespace rubato {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr int kThreads = 3;

struct Item {
  int value = 0;
};
struct Open {};
struct Question {
  using reply = int;
};

std::uint64_t dead(DeadLetter::Cause cause) {
  return actor_counters().dead_letters[static_cast<unsigned>(cause)];
}

/// A gate that handlers wait at, so that a mailbox stays full as long as a test wants.
struct Gate {
  std::atomic<bool> is_open{false}, is_reached{false};
  void pass() {
    is_reached = true;
    is_reached.notify_all();
    is_open.wait(false);
  }
  void await() const { is_reached.wait(false); }
  void open() {
    is_open = true;
    is_open.notify_all();
  }
};

struct Held : behavior<Item, Question> {
  explicit Held(Gate& gate) : gate_(gate) {}
  void on(Item item) {
    gate_.pass();
    ++handled;
    if (item.value < 0) throw std::runtime_error("as asked");
  }
  int on(Question) {
    ++handled;
    return 7;
  }
  static inline std::atomic<int> handled{0};
  Gate& gate_;
};

/// Beside a run, on a thread of its own, which keeps the run open.
template <class Act>
std::jthread outside(Act act) {
  return std::jthread([act, hold = native::hold()]() mutable {
    act();
    hold.close();
  });
}

/// A receiver of bound 2 whose mailbox is full: it handles one message and has two.
struct Full {
  Gate gate;
  Held::address held;
  explicit Full(WhenFull when_full = WhenFull::mute)
      : held(spawn<Held>({.mailbox = {.capacity = 2, .when_full = when_full}}, gate)) {
    Held::handled = 0;
  }
  /// By a thread outside.
  void fill() const {
    held.send(Item{});
    gate.await();
    held.send(Item{});
    held.send(Item{});
  }
  ~Full() {
    held.stop();
    run();
  }
};

struct Slow : behavior<Item> {
  void on(Item) { --under_way; }
  static inline std::atomic<int> under_way{0}, most{0};
  static inline std::atomic<bool> is_running{false};
  static void note_sent() {
    const int now = ++under_way;
    for (int before = most; now > before && !most.compare_exchange_weak(before, now);) {
    }
  }
};

TEST(OutsideWaits, ABoundCountsMessagesWhenTheyAreSent) {
  constexpr int kCapacity = 16, kMessages = 20'000;
  const std::uint64_t before = actor_counters().messages_handled;
  const auto slow = spawn<Slow>({.mailbox = {.capacity = kCapacity}});
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.push_back(outside([slow] {
        Slow::is_running.wait(false);  // it waits only while a run goes on
        for (int i = 0; i < kMessages; ++i) {
          slow.send(Item{i});
          Slow::note_sent();
        }
      }));
    const auto opening = spawn_from([](Open) {
      Slow::is_running = true;
      Slow::is_running.notify_all();
    });
    opening.send(Open{});
    opening.stop();
    run();
  }
  EXPECT_EQ(actor_counters().messages_handled - before, std::uint64_t{kThreads} * kMessages + 1);
  // A sender counts after its message was sent, and one that is handled is not counted any more a little
  // later.
  EXPECT_LE(Slow::most, kCapacity + 2 * kThreads);
  slow.stop();
  run();
}

TEST(OutsideWaits, ASenderWaitsUntilThereIsRoomAndLosesNothing) {
  const std::uint64_t before = dead(DeadLetter::Cause::full);
  Full full;
  std::atomic<bool> is_sent = false;
  {
    const std::jthread sender = outside([&] {
      full.fill();
      const std::jthread opener([&] {
        EXPECT_EQ(full.held.try_send(Item{}), Sent::full) << "at once";
        EXPECT_FALSE(is_sent);
        full.gate.open();
      });
      full.held.send(Item{});
      is_sent = true;
      EXPECT_TRUE(full.gate.is_open) << "there was no room before";
    });
    run();
  }
  EXPECT_EQ(Held::handled, 4);
  EXPECT_EQ(dead(DeadLetter::Cause::full), before);
}

TEST(OutsideWaits, ASenderThatIsImpatientHearsThatItWasNotSent) {
  Full full;
  {
    const std::jthread sender = outside([&] {
      full.fill();
      for (const Duration patience :
           {Duration::zero(), Duration(milliseconds(2)), Duration(milliseconds(-1))}) {
        try {
          full.held.send(Item{}, {.patience = patience});
          ADD_FAILURE() << "it is full";
        } catch (const TaskError& e) {
          EXPECT_THAT(e.what(), HasSubstr("found no room in a full mailbox within"));
        }
      }
      std::optional<AskError> error;
      full.held.ask(Question{}, {.timeout = milliseconds(1)})
          .then([](int) {}, [&error](AskError e) { error = e; });
      full.gate.open();
      full.held.send(Item{}, {.patience = hours(1)});
      EXPECT_EQ(full.held.ask(Question{}).get(), 7);
    });
    run();
  }
  EXPECT_EQ(Held::handled, 5) << "three, the patient one, and a question";
}

TEST(OutsideWaits, TryingNeverWaitsWhateverTheBound) {
  for (const WhenFull when_full : {WhenFull::mute, WhenFull::refuse, WhenFull::drop_newest}) {
    Full full(when_full);
    {
      const std::jthread sender = outside([&] {
        EXPECT_EQ(full.held.try_send(Item{}), Sent::accepted);
        full.gate.await();
        EXPECT_EQ(full.held.try_send(Item{}), Sent::accepted);
        EXPECT_EQ(full.held.try_send(Item{}), Sent::accepted);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(full.held.try_send(Item{}), Sent::full);
        full.gate.open();
        while (full.held.try_send(Item{}) == Sent::full) std::this_thread::yield();
      });
      run();
    }
    EXPECT_EQ(Held::handled, 4);
  }
}

TEST(OutsideWaits, AnActorThatTriesIsNotMuted) {
  static int full, accepted;
  full = accepted = 0;
  struct Sink : behavior<Item> {
    void on(Item) {}
  };
  struct Trying : behavior<Open> {
    explicit Trying(actor<Item> to) : to_(to) {}
    void on(Open) {
      for (int i = 0; i < 5; ++i) ++(to_.try_send(Item{}) == Sent::full ? full : accepted);
      stop();
    }
    actor<Item> to_;
  };
  const auto sink = spawn<Sink>({.mailbox = {.capacity = 2}});
  spawn<Trying>(sink).send(Open{});
  run();
  EXPECT_EQ(accepted + full, 5);
  EXPECT_GE(accepted, 2);
  sink.stop();
  run();
}

TEST(OutsideWaits, ASenderGoesOnWhenItsReceiverStopsOrIsKilledOrFails) {
  for (const int how : {0, 1, 2}) {
    const std::uint64_t before = dead(DeadLetter::Cause::stopped) + dead(DeadLetter::Cause::killed) +
                                 dead(DeadLetter::Cause::run_failed);
    Full full;
    {
      const std::jthread sender = outside([&] {
        if (how == 2) {
          full.held.send(Item{-1});
          full.gate.await();
          for (int i = 0; i < 2; ++i) full.held.send(Item{});
        } else {
          full.fill();
        }
        const std::jthread opener([&] {
          if (how == 0) full.held.stop();
          if (how == 1) full.held.kill();
          full.gate.open();
        });
        full.held.send(Item{});
      });
      try {
        run();
        EXPECT_NE(how, 2);
      } catch (const TaskError& e) {
        EXPECT_EQ(how, 2);
        EXPECT_THAT(e.what(), HasSubstr("as asked"));
      }
    }
    run();
    EXPECT_EQ(
        Held::handled + static_cast<int>(dead(DeadLetter::Cause::stopped) + dead(DeadLetter::Cause::killed) +
                                         dead(DeadLetter::Cause::run_failed) - before),
        4);
  }
}

struct Fragile : behavior<Item> {
  void on(Item item) {
    ++handled;
    if (item.value % 50 == 49) throw std::runtime_error("one of fifty");
  }
  static inline std::atomic<std::uint64_t> handled{0};
};

/// Runs fail meanwhile, and clear mailboxes and what is on its way to them: no place is lost.
TEST(OutsideWaits, ThePlacesOfABoundComeBackAlthoughRunsFail) {
  Fragile::handled = 0;
  const std::uint64_t before = dead(DeadLetter::Cause::run_failed);
  const auto fragile = spawn<Fragile>({.mailbox = {.capacity = 4}});
  constexpr int kMessages = 2000;
  std::atomic<int> left = kThreads;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.push_back(outside([&, t] {
        for (int i = 0; i < kMessages; ++i) {
          if (t != 0) {
            fragile.send(Item{i});
          } else {
            while (fragile.try_send(Item{i}) != Sent::accepted) std::this_thread::yield();
          }
        }
        --left;
      }));
    for (bool is_over = false; !is_over;) {
      is_over = left == 0;
      try {
        run();
      } catch (const TaskError&) {
        is_over = false;
      }
    }
  }
  EXPECT_EQ(Fragile::handled + dead(DeadLetter::Cause::run_failed) - before,
            std::uint64_t{kThreads} * kMessages);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(fragile.try_send(Item{}), Sent::accepted) << i;
  EXPECT_EQ(fragile.try_send(Item{}), Sent::full);
  run();
  fragile.stop();
  run();
}

struct Keeper : behavior<Question, Open> {
  void on(Question, reply<int> r) { kept_ = std::move(r); }
  void on(Open) { throw std::runtime_error("as asked"); }
  reply<int> kept_;
};

constexpr const char* kBeyondTheRun = "answer::get() got no answer: nothing runs any more that could give it";
constexpr const char* kNothingRuns =
    "answer::get() waits for an answer, but nothing runs: call run() before it, or open a native::hold() and "
    "call run() on another thread";

std::string error_of_get(actor<Question> asked, Duration patience = kForever) {
  try {
    static_cast<void>(asked.ask(Question{}).get(patience));
  } catch (const TaskError& e) {
    return e.what();
  }
  return "";
}

TEST(OutsideWaits, GetEndsWithTheRun) {
  for (const Duration patience : {kForever, Duration(hours(1))}) {
    for (const bool fails : {false, true}) {
      const auto keeper = spawn<Keeper>();
      native::Hold open = native::hold();
      std::string error;
      {
        const std::uint64_t before = actor_counters().messages_handled;
        const std::jthread asker([&] { error = error_of_get(keeper, patience); });
        const std::jthread closer([&, before] {
          while (actor_counters().messages_handled == before) std::this_thread::yield();
          if (fails) keeper.send(Open{});
          open.close();
        });
        try {
          run();
        } catch (const TaskError& e) {
          EXPECT_TRUE(fails) << e.what();
        }
      }
      EXPECT_THAT(error, AnyOf(kBeyondTheRun, kNothingRuns)) << "whether it waited already is open";
      keeper.stop();
      run();
    }
  }
}

/// A thread that was told that it may wait waits for that run, though it has ended before the thread is
/// listed.
TEST(OutsideWaits, EndWithARunThatEndsWhileTheyBegin) {
  native::WaitingThreads threads;
  bool is_interrupted = false, is_running = true;
  engine::WaitsForRun waiting{[](void* flag) { *static_cast<bool*>(flag) = true; }, &is_interrupted};
  const auto may_wait = [&] { return std::exchange(is_running, false); };
  ASSERT_TRUE(threads.begin(waiting, may_wait, [&] { return 2u * 7 + (is_running ? 1 : 0); }));
  threads.end_run(7);
  EXPECT_TRUE(is_interrupted);
  threads.end(waiting);
}

TEST(OutsideWaits, GetWhereNothingRunsSaysWhatToDo) {
  const auto keeper = spawn<Keeper>();
  EXPECT_EQ(error_of_get(keeper), kNothingRuns);
  EXPECT_EQ(error_of_get(keeper, hours(1)), kNothingRuns);
  run();
  std::string error;
  {
    native::Hold open = native::hold();
    const std::jthread asker([&] { error = error_of_get(keeper); });
    std::this_thread::sleep_for(milliseconds(5));  // so that it waits, most of the time
    open.close();
  }
  EXPECT_THAT(error, AnyOf(kBeyondTheRun, kNothingRuns));
  keeper.stop();
  run();
}

}  // namespace
}  // namespace rubato
