// Lives of actors, on every engine: their failures, names and groups.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "rubato/actors.hpp"

namespace rubato {
namespace {

using ::testing::HasSubstr;

struct Work {
  int value = 0;
};
struct Fail {};

std::uint64_t dead(DeadLetter::Cause cause) {
  return actor_counters().dead_letters[static_cast<unsigned>(cause)];
}

struct Counted : behavior<Work, Fail> {
  Counted() { ++living; }
  ~Counted() { --living; }
  void on(Work) { ++handled; }
  void on(Fail) { throw std::runtime_error("as asked"); }
  static inline std::atomic<int> living{0}, handled{0};
};

class Lives : public ::testing::Test {
 protected:
  Lives() { Counted::handled = 0; }
  ~Lives() override { EXPECT_EQ(Counted::living, 0); }
};

struct Spawner : behavior<Work> {
  void on(Work) {
    spawn<Counted>().stop();
    stop();
  }
};

TEST_F(Lives, AllActorsAreCountedWhereverTheyAreSpawned) {
  const ActorCounters before = actor_counters();
  spawn<Counted>().stop();
  spawn<Spawner>().send(Work{});
  run();
  const ActorCounters after = actor_counters();
  EXPECT_EQ(after.spawned - before.spawned, 3u);
  EXPECT_EQ(after.stopped - before.stopped, 3u);
}

TEST_F(Lives, AStoppedActorIsDestroyedAndWhatComesLaterIsDead) {
  const std::uint64_t before = dead(DeadLetter::Cause::stopped);
  std::vector<std::string> letters;
  const subscription listening = on_dead_letter([&letters](const DeadLetter& letter) {
    letters.push_back(letter.type->name());
    EXPECT_EQ(letter.cause, DeadLetter::Cause::stopped);
  });
  const auto counted = spawn<Counted>();
  counted.send(Work{});
  counted.stop();
  counted.send(Work{});  // behind the stop
  run();
  EXPECT_EQ(Counted::handled, 1);
  EXPECT_EQ(Counted::living, 0);
  EXPECT_EQ(counted.try_send(Work{}), Sent::stopped);
  counted.send(Work{});
  run();
  EXPECT_EQ(dead(DeadLetter::Cause::stopped) - before, 2u);
  EXPECT_EQ(letters, (std::vector<std::string>{typeid(Work).name(), typeid(Work).name()}));
}

TEST_F(Lives, ActorsStayForTheNextRun) {
  const auto counted = spawn<Counted>();
  for (int i = 0; i < 3; ++i) {
    counted.send(Work{});
    run();
    EXPECT_EQ(Counted::handled, i + 1);
  }
  counted.stop();
  run();
}

TEST_F(Lives, KillOvertakesWhatWaits) {
  const std::uint64_t before = dead(DeadLetter::Cause::killed);
  struct Killer : behavior<Work> {
    explicit Killer(Counted::address victim) : victim_(victim) {}
    void on(Work) {
      for (int i = 0; i < 1000; ++i) victim_.send(Work{});
      victim_.kill();
      stop();
    }
    Counted::address victim_;
  };
  const auto victim = spawn<Counted>();
  spawn<Killer>(victim).send(Work{});
  run();
  EXPECT_EQ(Counted::handled + static_cast<int>(dead(DeadLetter::Cause::killed) - before), 1000);
}

/// A handle of an actor that has stopped must never reach a later one in the same memory.
TEST_F(Lives, StaleHandlesReachNobody) {
  struct Other : behavior<Fail> {
    void on(Fail) { ADD_FAILURE() << "a message for another actor"; }
  };
  std::vector<Counted::address> stale;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 20; ++i) {
      stale.push_back(spawn<Counted>());
      stale.back().stop();
    }
    run();
    const auto other = spawn<Other>();
    for (const auto& handle : stale) handle.send(Fail{});
    other.stop();
    run();
  }
  EXPECT_EQ(Counted::living, 0);
}

struct Tree : behavior<Work> {
  struct Grown {
    int leaves;
  };
  struct Grower : behavior<Grown> {
    Grower(int depth, actor<Grown> parent, std::atomic<int>& result) : parent_(parent), result_(result) {
      if (depth == 0) finish(1);
      for (int i = 0; depth != 0 && i < 2; ++i) spawn<Grower>(depth - 1, self(), result);
    }
    void on(Grown g) {
      leaves_ += g.leaves;
      if (++children_ == 2) finish(leaves_);
    }
    void finish(int leaves) {
      if (parent_) {
        parent_.send(Grown{leaves});
      } else {
        result_ = leaves;
      }
      stop();
    }
    actor<Grown> parent_;
    std::atomic<int>& result_;
    int leaves_ = 0, children_ = 0;
  };
};
TEST_F(Lives, ActorsSpawnActors) {
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> leaves{0};
    spawn<Tree::Grower>(10, actor<Tree::Grown>{}, leaves);
    run();
    EXPECT_EQ(leaves, 1024);
  }
}

TEST_F(Lives, AConstructorThatThrowsLeavesNothing) {
  struct Bad : behavior<Work> {
    Bad() {
      self().send(Work{});
      throw std::runtime_error("no");
    }
    void on(Work) { ADD_FAILURE(); }
  };
  EXPECT_THROW(spawn<Bad>({.name = "bad"}), std::runtime_error);
  const auto again = spawn<Counted>({.name = "bad"});  // the name is free
  again.stop();
  run();
}

TEST_F(Lives, AFailureEndsTheRunWithTheActorsNameAndTheNextRunWorks) {
  const auto counted = spawn<Counted>({.name = "first"});
  counted.send(Fail{});
  for (int i = 0; i < 10; ++i) counted.send(Work{});
  const std::uint64_t before = dead(DeadLetter::Cause::run_failed);
  try {
    run();
    ADD_FAILURE() << "run() did not throw";
  } catch (const TaskError& e) {
    EXPECT_THAT(e.what(), HasSubstr("actor first ("));
    EXPECT_THAT(e.what(), HasSubstr("Counted) handling "));
    EXPECT_THAT(e.what(), HasSubstr("Fail ended with an exception: as asked"));
    EXPECT_THROW(std::rethrow_if_nested(e), std::runtime_error);
  }
  EXPECT_EQ(dead(DeadLetter::Cause::run_failed) - before, 10u);
  EXPECT_EQ(Counted::handled, 0);
  counted.send(Work{});
  counted.stop();
  run();
  EXPECT_EQ(Counted::handled, 1);
}

/// Destructors of dropped tasks are a part of the failed run.
TEST_F(Lives, AMessageThatADroppedTaskSendsAtItsEndIsADeadLetter) {
  const auto counted = spawn<Counted>();
  run();
  const auto send = [counted](int* at) {
    counted.send(Work{});
    delete at;
  };
  TaskGroup never;
  create<nonspec>([] {}, {.group = &never, .after = &never});
  for (int i = 0; i < 10; ++i)
    create<nonspec>([at_end = std::unique_ptr<int, decltype(send)>(new int, send)] {}, {.after = &never});
  const std::uint64_t before = dead(DeadLetter::Cause::run_failed);
  EXPECT_THROW(run(), TaskError);
  EXPECT_EQ(dead(DeadLetter::Cause::run_failed) - before, 10u);
  run();
  EXPECT_EQ(Counted::handled, 0);
  counted.send(Work{});
  counted.stop();
  run();
  EXPECT_EQ(Counted::handled, 1);
}

TEST_F(Lives, NamesAreUniqueAndFound) {
  const auto named = spawn<Counted>({.name = "unique"});
  EXPECT_THROW(spawn<Counted>({.name = "unique"}), TaskError);
  const auto found = find<Work>("unique");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->id(), named.id());
  EXPECT_THROW(find<int>("unique"), TaskError);
  EXPECT_FALSE(find<Work>("nobody").has_value());
  named.stop();
  run();
  EXPECT_FALSE(find<Work>("unique").has_value());
}

TEST_F(Lives, AGroupIsCompleteWhenItsActorsHaveStopped) {
  TaskGroup group;
  int handled = -1;
  const auto counted = spawn<Counted>({.group = &group});
  create<nonspec>([&handled] { handled = Counted::handled; }, {.after = &group});
  counted.send(Work{});
  counted.send(Work{});
  counted.stop();
  run();
  EXPECT_EQ(handled, 2);
}

// The last member may leave on any worker, while another one runs what the actor has created.
TEST_F(Lives, EachOfManyGroupsIsCompletedOnce) {
  constexpr int kGroups = 4000;
  std::vector<TaskGroup> groups(kGroups);
  std::vector<std::atomic<int>> completed(kGroups);
  for (int i = 0; i < kGroups; ++i) {
    const auto counted = spawn<Counted>({.group = &groups[i]});
    create<nonspec>([&completed, i] { ++completed[i]; }, {.after = &groups[i]});
    create<nonspec>([counted] { counted.stop(); }, {});
  }
  run();
  for (int i = 0; i < kGroups; ++i) ASSERT_EQ(completed[i], 1) << "group " << i;
}

struct Watcher : behavior<Work, Down> {
  Watcher(actor<> who, std::vector<Reason>& seen) : who_(who), seen_(seen) { watch(who); }
  void on(Work) { watch(who_); }
  void on(Down down) {
    EXPECT_EQ(down.who.id(), who_.id());
    seen_.push_back(down.reason);
    if (seen_.size() == 1) return self().send(Work{});  // of one that has stopped it comes at once
    stop();
  }
  actor<> who_;
  std::vector<Reason>& seen_;
};
TEST_F(Lives, WhoWatchesHearsOfTheEnd) {
  std::vector<Reason> seen;
  const auto counted = spawn<Counted>();
  spawn<Watcher>(counted, seen);
  run();
  EXPECT_TRUE(seen.empty());
  counted.kill();
  run();
  EXPECT_EQ(seen, (std::vector<Reason>{Reason::killed, Reason::killed}));
}

struct Child : behavior<Work, Fail> {
  static constexpr bool restarts = true;
  Child(int start, std::vector<int>& seen) : value_(start), seen_(seen) {}
  void on(Work w) {
    if (w.value < 0) return stop();
    seen_.push_back(value_++);
  }
  void on(Fail) { throw std::runtime_error("child"); }
  int value_;
  std::vector<int>& seen_;
};
struct Start {};
struct Parent : behavior<Start> {
  Parent(Directive directive, std::vector<int>& seen, int failures)
      : directive_(directive), seen_(seen), failures_(failures) {}
  void on(Start) {
    const auto child = spawn<Child>(100, std::ref(seen_));
    child.send(Work{});
    for (int i = 0; i < failures_; ++i) child.send(Fail{});
    child.send(Work{});
    child.send(Work{-1});
    stop_later_ = child;
  }
  Directive on_failure(const Failure& f) {
    EXPECT_THAT(std::string(f.behavior), HasSubstr("Child"));
    EXPECT_THAT(std::string(f.message), HasSubstr("Fail"));
    EXPECT_EQ(f.who.id(), stop_later_.id());
    return directive_;
  }
  Directive directive_;
  std::vector<int>& seen_;
  int failures_;
  actor<> stop_later_;
};
std::vector<int> supervised(Directive directive, int failures = 1) {
  std::vector<int> seen;
  const auto parent = spawn<Parent>(directive, seen, failures);
  parent.send(Start{});
  try {
    run();
  } catch (...) {
    parent.kill();
    run();
    throw;
  }
  parent.stop();
  run();
  return seen;
}
TEST_F(Lives, AParentDecidesAboutTheFailureOfItsChild) {
  EXPECT_EQ(supervised(Directive::resume), (std::vector<int>{100, 101}));
  EXPECT_EQ(supervised(Directive::restart), (std::vector<int>{100, 100}));
  EXPECT_EQ(supervised(Directive::stop), (std::vector<int>{100}));
  EXPECT_THROW(supervised(Directive::escalate), TaskError);
}
TEST_F(Lives, TheSixthRestartWithinTenSecondsEscalates) {
  EXPECT_EQ(supervised(Directive::restart, 5), (std::vector<int>{100, 100}));
  EXPECT_THROW(supervised(Directive::restart, 6), TaskError);
}

}  // namespace
}  // namespace rubato
