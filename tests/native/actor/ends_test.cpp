// An actor that begins to end while a child of it is half-way through its own end.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "rubato/actors.hpp"
#include "rubato/engine/actor_cell.hpp"
#include "tests/native/use_workers.hpp"

namespace rubato {
namespace {

struct Begin {};
struct Late {};

/// How far they are.
struct Steps {
  std::atomic<bool> is_child_ending{false}, does_parent_wait{false};
  std::atomic<int> ended{0};
};

/// No handle reaches it any more while its destructor runs, and its parent has yet to hear of its end.
struct Child : behavior<Begin> {
  explicit Child(Steps& steps) : steps_(steps) { stop(); }
  ~Child() {
    steps_.is_child_ending = true;
    while (!steps_.does_parent_wait) std::this_thread::yield();
    ++steps_.ended;
  }
  void on(Begin) {}
  Steps& steps_;
};

struct Parent : behavior<Begin, Late> {
  explicit Parent(Steps& steps) : steps_(steps) {}
  ~Parent() { ++steps_.ended; }
  void on(Begin) { spawn<Child>(std::ref(steps_)); }
  void on(Late) {}
  Steps& steps_;
};

TEST(Ends, AParentHearsOfAChildThatWasEndingAlready) {
  use_workers(2);
  Steps steps;
  // A parent that waits for its children drops what comes.
  const auto listening = on_dead_letter([&](const DeadLetter& letter) {
    if (*letter.type == typeid(Late)) steps.does_parent_wait = true;
  });
  const auto parent = spawn<Parent>(std::ref(steps));
  parent.send(Begin{});
  std::thread outside([&, hold = native::hold()]() mutable {
    while (!steps.is_child_ending) std::this_thread::yield();
    parent.stop();
    parent.send(Late{});
    hold.close();
  });
  run();
  outside.join();
  EXPECT_EQ(steps.ended, 2);
  EXPECT_FALSE(engine::is_alive(parent.id()));
  use_workers(0);
}

}  // namespace
}  // namespace rubato
