// Lists of living actors while a run goes on, and on a signal.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "actors/living.hpp"
#include "rubato/actors.hpp"
#include "rubato/algorithms.hpp"

namespace {

using namespace rubato;

struct Drop {};
struct Sink : behavior<Drop> {
  void on(Drop) {}
};
std::atomic<bool> is_seen{false};
/// Sends to a sink with a small mailbox, again and again.
struct Tap : behavior<Drop> {
  explicit Tap(actor<Drop> to) : to_(to) {}
  void on(Drop) {
    for (int i = 0; i < 20; ++i) to_.send(Drop{});
    if (!is_seen) self().send(Drop{});
  }
  actor<Drop> to_;
};

TEST(Native_Living, AThreadOutsideListsThemWhileARunGoesOn) {
  is_seen = false;
  native::Hold hold = native::hold();
  const auto sink = spawn<Sink>({.name = "sink", .mailbox = {.capacity = 4}});
  const auto tap = spawn<Tap>({.name = "tap"}, actor<Drop>(sink));
  tap.send(Drop{});
  std::thread lister([&] {
    // Between two tasks the tap is muted now and then, and not at other times.
    while (!is_seen) {
      for (const LivingActor& a : living_actors())
        if (a.name == "tap" && a.muted_by == actor<>(sink)) is_seen = true;
    }
    tap.stop();
    sink.stop();
    hold.close();
  });
  run();
  lister.join();
  for (const LivingActor& a : living_actors()) EXPECT_TRUE(a.name != "tap" && a.name != "sink") << a.name;
}

TEST(Native_Living, ARunThatFailsMeanwhileDoesNotHoldTheListUp) {
  for (int i = 0; i < 20; ++i) {
    std::atomic<bool> is_over{false};
    std::thread lister([&] {
      while (!is_over) static_cast<void>(living_actors());
    });
    for (int k = 0; k < 10; ++k) {
      create<nonspec>([] { throw 1; }, {});
      EXPECT_THROW(run(), TaskError);
    }
    is_over = true;
    lister.join();
  }
}

/// The run that fails drops what was to list them; the hold of the list must not keep the next one open.
TEST(Native_Living, ARunBehindOneThatFailsDoesNotWaitForTheList) {
  std::atomic<bool> is_over{false};
  std::thread lister([&] {
    while (!is_over) static_cast<void>(living_actors());
  });
  for (int i = 0; i < 500; ++i) {
    create<nonspec>([] { throw 1; }, {});
    EXPECT_THROW(run(), TaskError);
    create<nonspec>([] {}, {});
    EXPECT_NO_THROW(run());
  }
  is_over = true;
  lister.join();
}

/// Threads that list the actors again and again, until it is destroyed.
class Listers {
 public:
  explicit Listers(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { list(); });
  }
  ~Listers() {
    is_over_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Listers(const Listers&) = delete;
  Listers& operator=(const Listers&) = delete;
  void wait_for_lists(unsigned more) const {
    for (const unsigned before = lists_; lists_ - before < more;) std::this_thread::yield();
  }
  /// Lists without the one actor that is there.
  unsigned wrong() const { return wrong_; }

 private:
  void list() {
    for (; !is_over_; ++lists_)
      if (const auto all = living_actors(); all.size() != 1 || all[0].name != "the one") ++wrong_;
  }
  std::vector<std::thread> threads_;
  std::atomic<bool> is_over_{false};
  std::atomic<unsigned> lists_{0}, wrong_{0};
};

/// Each list takes a task: such tasks must not keep a run open, and lists between runs must not keep run()
/// and other calls waiting.
TEST(Native_Living, ThreadsThatListThemWithoutPauseLetRunsBeginAndEnd) {
  const auto sink = spawn<Sink>({.name = "the one"});
  for (const unsigned threads : {1u, 2u, 5u}) {
    const Listers listers(threads);
    for (int i = 0; i < 30; ++i) {
      std::atomic<int> sum{0};
      for (int k = 0; k < i % 5; ++k) create<nonspec>([&sum] { ++sum; }, {});
      sink.send(Drop{});
      run();
      EXPECT_EQ(sum, i % 5);
      parallel_for(0, 10, [&sum](int k) { sum += k; });
      EXPECT_EQ(sum, i % 5 + 45);
      native::drop_pending();
      native::configure(native::options());
    }
    listers.wait_for_lists(10);
    EXPECT_EQ(listers.wrong(), 0u);
  }
  sink.stop();
  run();
}

/// A run that is held open serves one list after the other, and so does one that has work.
TEST(Native_Living, ThreadsThatListThemWithoutPauseGetTheirListsWhileARunGoesOn) {
  const auto sink = spawn<Sink>({.name = "the one"});
  {
    const Listers listers(3);
    native::Hold hold = native::hold();
    std::thread closing([&] {
      while (!engine::may_wait_for_answers()) std::this_thread::yield();
      listers.wait_for_lists(100);
      hold.close();
    });
    run();
    closing.join();
    struct Again {
      const Listers& listers;
      std::atomic<bool>& is_enough;
      void operator()() const {
        if (!is_enough) create<nonspec>(Again{listers, is_enough}, {});
      }
    };
    std::atomic<bool> is_enough{false};
    create<nonspec>(Again{listers, is_enough}, {});
    std::thread waiting([&] {
      listers.wait_for_lists(100);
      is_enough = true;
    });
    run();
    waiting.join();
    EXPECT_EQ(listers.wrong(), 0u);
  }
  sink.stop();
  run();
}

/// A list that comes too late leaves its task behind, which is no reason to keep the run open either.
TEST(Native_Living, ListsThatComeTooLateLetRunsEnd) {
  std::atomic<bool> is_over{false};
  std::atomic<unsigned> calls{0};
  const auto list = [&] {
    const auto ignore = [](const engine::Cell&, std::uint64_t) {};
    for (; !is_over; ++calls)
      static_cast<void>(engine::for_each_actor_until(engine::actor_nanoseconds(), ignore));
  };
  std::thread one(list), other(list);
  for (int i = 0; i < 100 || calls < 100; ++i) {
    std::atomic<int> sum{0};
    for (int k = 0; k < 5; ++k) create<nonspec>([&sum] { ++sum; }, {});
    run();
    EXPECT_EQ(sum, 5);
  }
  is_over = true;
  one.join();
  other.join();
}

TEST(Native_Living, ASignalWritesThemToStandardError) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int before = dup(2);
  dup2(ends[1], 2);
  const auto sink = spawn<Sink>({.name = "the only sink"});
  list_actors_on(SIGUSR1);
  raise(SIGUSR1);
  std::string text;
  while (text.find("the only sink (") == std::string::npos || text.back() != '\n') {
    char piece[256];
    const ssize_t size = read(ends[0], piece, sizeof piece);
    ASSERT_GT(size, 0);
    text.append(piece, static_cast<std::size_t>(size));
  }
  dup2(before, 2);
  close(before), close(ends[0]), close(ends[1]);
  EXPECT_NE(text.find(" live"), std::string::npos) << text;
  EXPECT_NE(text.find("): 0 waiting\n"), std::string::npos) << text;
  sink.stop();
  run();
  EXPECT_THROW(list_actors_on(SIGKILL), TaskError);
}

/// Question in a destructor that a run or drop_pending() calls: there it would wait for itself.
struct Asks {
  explicit Asks(std::atomic<int>* refused) : refused_(refused) {}
  ~Asks() { ask(refused_); }
  static void ask(std::atomic<int>* refused) {
    try {
      static_cast<void>(living_actors());
    } catch (const TaskError& error) {
      *refused += std::string(error.what()).find("which would wait for itself") != std::string::npos ? 1 : 0;
    }
  }
  std::atomic<int>* refused_;  // destructors run on any worker
};

TEST(Native_Living, AreNotListedByWhatARunCallsOutsideTasks) {
  std::atomic<int> refused = 0;
  const auto resource = make_resource<Asks>({}, &refused);
  create<nonspec>([resource] { remove(resource); }, {});
  run();
  EXPECT_EQ(refused, 1);
  for (int i = 0; i < 2; ++i)
    create<nonspec>([asks = std::make_unique<Asks>(&refused)] { throw 1; }, {});  // one runs, one is dropped
  EXPECT_THROW(run(), TaskError);
  EXPECT_EQ(refused, 3);
}

TEST(Native_Living, AreNotListedByWhoHearsOfTheMessagesOfARunThatFailed) {
  struct Fails : behavior<Drop> {
    void on(Drop) { throw 1; }
  };
  std::atomic<int> refused = 0;
  const auto listening = on_dead_letter([&refused](const DeadLetter&) { Asks::ask(&refused); });
  const auto fails = spawn<Fails>();
  for (int i = 0; i < 3; ++i) fails.send(Drop{});
  EXPECT_THROW(run(), TaskError);
  EXPECT_EQ(refused, 2);
  fails.stop();
  run();
}

TEST(Native_Living, AreNotListedByWhatDropPendingDestroys) {
  std::atomic<int> refused = 0;
  create<nonspec>([asks = std::make_unique<Asks>(&refused)] {}, {});
  native::drop_pending();
  EXPECT_EQ(refused, 1);
  EXPECT_NO_THROW(static_cast<void>(living_actors()));
}

/// A list takes the turn of runs for a moment; that is no run which drop_pending() would have to refuse.
TEST(Native_Living, AListOfAnotherThreadDoesNotRefuseDropPending) {
  std::vector<actor<Drop>> sinks;  // so many that a list takes most of the time
  for (int i = 0; i < 1000; ++i) sinks.push_back(spawn<Sink>());
  std::atomic<bool> is_over{false};
  std::atomic<unsigned> lists{0};
  std::thread lister([&] {
    while (!is_over) static_cast<void>(living_actors()), ++lists;
  });
  const auto owned = std::make_shared<int>(0);
  for (unsigned i = 0; i < 20 || lists < 20; ++i) {
    create<nonspec>([owned] {}, {});
    EXPECT_NO_THROW(native::drop_pending());
  }
  is_over = true;
  lister.join();
  EXPECT_EQ(owned.use_count(), 1);
  for (const actor<Drop>& sink : sinks) sink.stop();
  run();
}

/// Whether the child, forked while a run goes on, is refused. An alarm ends one that waits.
TEST(Native_Living, AreNotListedInAForkedCopy) {
  native::Hold hold = native::hold();
  std::atomic<bool> runs{false};
  create<nonspec>([&runs] { runs = true; }, {});
  std::thread runner([] { run(); });
  while (!runs) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    int code = 1;
    try {
      static_cast<void>(living_actors());
    } catch (const TaskError&) {
      code = 0;
    }
    _exit(code);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  hold.close();
  runner.join();
}

}  // namespace
