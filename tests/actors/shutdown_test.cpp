// shutdown(), on every engine: all actors stop, children first, and those that are left are named.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "rubato/actors.hpp"

namespace shutting_down {

using namespace rubato;  // NOLINT(google-build-using-namespace): as programs do

using ::testing::HasSubstr;

struct Go {};
std::atomic<int> handled{0}, ended{0};

struct Leaf : behavior<Go> {
  explicit Leaf(const std::atomic<bool>* parent) : parent_has_ended_(parent) {}
  ~Leaf() {
    EXPECT_FALSE(*parent_has_ended_) << "a child ends before its parent";
    ++ended;
  }
  void on(Go) { ++handled; }
  const std::atomic<bool>* parent_has_ended_;
};
struct Tree : behavior<Go> {
  explicit Tree(std::atomic<bool>* has_ended) : has_ended_(has_ended) {
    for (auto& leaf : leaves_) leaf = spawn<Leaf>(has_ended_);
  }
  ~Tree() {
    *has_ended_ = true;
    ++ended;
  }
  void on(Go) {
    for (const auto& leaf : leaves_) leaf.send(Go{});
  }
  std::atomic<bool>* has_ended_;
  actor<Go> leaves_[3];
};
/// A heartbeat, and a message to itself again and again.
struct Busy : behavior<Go> {
  Busy() {
    every(std::chrono::hours(1), Go{});
    self().send(Go{});
  }
  ~Busy() { ++ended; }
  void on(Go) { self().send(Go{}); }
};

TEST(Shutdown, StopsEveryActorAfterWhatItHasGot) {
  run();
  ASSERT_TRUE(shutdown().empty());
  handled = ended = 0;
  std::atomic<bool> has_ended[4] = {};
  for (auto& tree : has_ended) spawn<Tree>(&tree).send(Go{});
  spawn<Busy>();
  EXPECT_TRUE(shutdown().empty());
  EXPECT_EQ(handled, 12);
  EXPECT_EQ(ended, 17);
  EXPECT_TRUE(living_actors().empty());
  EXPECT_TRUE(shutdown().empty()) << "of nothing";
}

TEST(Shutdown, IsRefusedInATask) {
  std::string sentence;
  create<nonspec>(
      [&] {
        try {
          static_cast<void>(shutdown());
        } catch (const TaskError& error) {
          sentence = error.what();
        }
      },
      {});
  run();
  EXPECT_THAT(sentence, HasSubstr("shutdown() is called in a task"));
}

}  // namespace shutting_down
