// Children of actors, on every engine: they stop before their parent (A14).
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "actors/children.hpp"
#include "rubato/actors.hpp"

namespace rubato {
namespace {

struct Work {};
struct Fail {};
struct Begin {};

/// The order in which behaviors were destroyed, by their depth.
struct Ends {
  std::mutex mutex;
  std::vector<int> depths;
  void add(int depth) {
    const std::lock_guard lock(mutex);
    depths.push_back(depth);
  }
};

struct Node : behavior<Work, Fail> {
  Node(int depth, int children, Ends& ends, std::atomic<int>& handled)
      : depth_(depth), ends_(ends), handled_(handled) {
    for (int i = 0; depth != 0 && i < children; ++i)
      children_.push_back(spawn<Node>(depth - 1, children, std::ref(ends), std::ref(handled)));
  }
  ~Node() { ends_.add(depth_); }
  void on(Work) {
    ++handled_;
    for (const auto& child : children_) child.send(Work{});
  }
  void on(Fail) { throw std::runtime_error("as asked"); }

  int depth_;
  Ends& ends_;
  std::atomic<int>& handled_;
  std::vector<address> children_;
};

class Children : public ::testing::Test {
 protected:
  Ends ends;
  std::atomic<int> handled{0};
};

TEST_F(Children, StopBeforeTheirParent) {
  const auto root = spawn<Node>(1, 20, ends, handled);
  run();
  EXPECT_TRUE(ends.depths.empty());
  root.stop();
  run();
  ASSERT_EQ(ends.depths.size(), 21u);
  EXPECT_EQ(ends.depths.back(), 1);
}

TEST_F(Children, StopDepthFirst) {
  const auto root = spawn<Node>(4, 1, ends, handled);
  root.stop();
  run();
  EXPECT_EQ(ends.depths, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST_F(Children, HandleWhatTheirParentHasSentBefore) {
  const auto root = spawn<Node>(3, 3, ends, handled);
  for (int i = 0; i < 100; ++i) root.send(Work{});
  root.stop();
  run();
  EXPECT_EQ(handled, 100 * (1 + 3 + 9 + 27));
  EXPECT_EQ(ends.depths.size(), 1u + 3 + 9 + 27);
}

TEST_F(Children, OfAKilledOneAreKilled) {
  const auto root = spawn<Node>(2, 3, ends, handled);
  root.kill();
  run();
  EXPECT_EQ(ends.depths.size(), 13u);
  EXPECT_EQ(ends.depths.back(), 2);
}

struct Watcher : behavior<Down> {
  Watcher(actor<> who, Ends& ends) : ends_(ends) { watch(who); }
  void on(Down) {
    ends_.add(100);
    stop();
  }
  Ends& ends_;
};
TEST_F(Children, AreGoneWhenOthersHearOfTheirParentsEnd) {
  const auto root = spawn<Node>(2, 2, ends, handled);
  spawn<Watcher>(root, ends);
  run();
  root.stop();
  run();
  ASSERT_EQ(ends.depths.size(), 8u);
  EXPECT_EQ(ends.depths.back(), 100);
}

TEST_F(Children, WhatComesForAParentMeanwhileIsDead) {
  const auto root = spawn<Node>(1, 1, ends, handled);
  const auto count = [] {
    return actor_counters().dead_letters[static_cast<unsigned>(DeadLetter::Cause::stopped)];
  };
  const std::uint64_t before = count();
  root.stop();
  for (int i = 0; i < 10; ++i) root.send(Work{});
  run();
  EXPECT_EQ(handled, 0);
  EXPECT_EQ(count() - before, 10u);
}

/// Spawns a child a message, which stops at once.
struct Nursery : behavior<Work> {
  struct Brief : behavior<Begin> {
    Brief() { stop(); }
    void on(Begin) {}
  };
  explicit Nursery(int left, std::size_t& most) : left_(left), most_(most) {}
  void on(Work) {
    spawn<Brief>();
    most_ = std::max(most_, engine::child_blocks(*engine::cell_of(self().id())));
    if (--left_ != 0) return self().send(Work{});
    stop();
  }
  int left_;
  std::size_t& most_;
};
TEST_F(Children, ThatHaveStoppedAreForgotten) {
  std::size_t most = 0;
  constexpr int kChildren = 20'000;
  spawn<Nursery>(kChildren, most).send(Work{});
  run();
  EXPECT_GE(most, 1u);
  EXPECT_LT(most, kChildren / 7 / 4);  // 7 a block, if none were forgotten
}

struct Supervisor : behavior<Begin> {
  Supervisor(Directive directive, Ends& ends, std::atomic<int>& handled)
      : directive_(directive), ends_(ends), handled_(handled) {}
  ~Supervisor() { ends_.add(1); }
  void on(Begin) {
    const auto child = spawn<Node>(0, 0, ends_, handled_);
    child.send(Fail{});
    child.send(Work{});
    stop();
  }
  Directive on_failure(const Failure&) {
    ++failures;
    return directive_;
  }
  Directive directive_;
  Ends& ends_;
  std::atomic<int>& handled_;
  static inline std::atomic<int> failures{0};
};
TEST_F(Children, MayFailWhileTheirParentStopsWhichDecides) {
  Supervisor::failures = 0;
  spawn<Supervisor>(Directive::resume, ends, handled).send(Begin{});
  run();
  EXPECT_EQ(Supervisor::failures, 1);
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(ends.depths, (std::vector<int>{0, 1}));
  spawn<Supervisor>(Directive::stop, ends, handled).send(Begin{});
  run();
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(ends.depths, (std::vector<int>{0, 1, 0, 1}));
}
TEST_F(Children, AndTheirParentEndAfterARunThatFailed) {
  const auto root = spawn<Supervisor>(Directive::escalate, ends, handled);
  root.send(Begin{});
  EXPECT_THROW(run(), TaskError);
  root.kill();
  run();
  EXPECT_EQ(ends.depths, (std::vector<int>{0, 1}));
}

/// Its child sends more than its mailbox takes, and so waits for the parent that waits for it.
struct Bounded : behavior<Begin, Work> {
  struct Flood : behavior<Begin> {
    explicit Flood(actor<Work> to, Ends& ends) : to_(to), ends_(ends) { self().send(Begin{}); }
    ~Flood() { ends_.add(0); }
    void on(Begin) {
      for (int i = 0; i < 10; ++i) to_.send(Work{});
      self().send(Begin{});
    }
    actor<Work> to_;
    Ends& ends_;
  };
  explicit Bounded(Ends& ends) : ends_(ends) { spawn<Flood>(self(), ends); }
  ~Bounded() { ends_.add(1); }
  void on(Begin) { stop(); }
  void on(Work) {
    if (++works_ == 100) self().send(Begin{});
  }
  Ends& ends_;
  int works_ = 0;
};
TEST_F(Children, ThatWaitForRoomAtTheirParentStop) {
  spawn<Bounded>({.mailbox = {.capacity = 4}}, ends);
  run();
  EXPECT_EQ(ends.depths, (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace rubato
