// Bounded mailboxes (A18), on every engine: what happens to messages that find one full.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "rubato/actors.hpp"

namespace rubato {
namespace {

using ::testing::ElementsAre;

struct Item {
  int value = 0;
};
struct Next {};

std::uint64_t refused() {
  return actor_counters().dead_letters[static_cast<unsigned>(DeadLetter::Cause::full)];
}

struct Sink : behavior<Item> {
  void on(Item item) { seen.push_back(item.value); }
  static inline std::vector<int> seen;
};

std::vector<int> seen_of_three(WhenFull when_full) {
  Sink::seen.clear();
  const auto sink = spawn<Sink>({.mailbox = {.capacity = 2, .when_full = when_full}});
  for (int i = 1; i <= 3; ++i) sink.send(Item{i});
  run();
  sink.stop();
  run();
  return Sink::seen;
}

TEST(Bounds, NewestOrOldestMessagesAreDroppedAsDeadLetters) {
  const std::uint64_t before = refused();
  EXPECT_THAT(seen_of_three(WhenFull::drop_newest), ElementsAre(1, 2));
  EXPECT_THAT(seen_of_three(WhenFull::refuse), ElementsAre(1, 2));
  EXPECT_THAT(seen_of_three(WhenFull::drop_oldest), ElementsAre(2, 3));
  EXPECT_EQ(refused() - before, 3u);
  EXPECT_THAT(seen_of_three(WhenFull::mute), ElementsAre(1, 2, 3)) << "what is no actor is not muted";
}

TEST(Bounds, WhoTriesHearsOfAFullMailboxAndTheRoomComesBack) {
  Sink::seen.clear();
  const std::uint64_t before = refused();
  const auto sink = spawn<Sink>({.mailbox = {.capacity = 1, .when_full = WhenFull::refuse}});
  EXPECT_EQ(sink.try_send(Item{1}), Sent::accepted);
  EXPECT_EQ(sink.try_send(Item{2}), Sent::full);
  run();
  EXPECT_EQ(sink.try_send(Item{3}), Sent::accepted);
  run();
  sink.stop();
  run();
  EXPECT_EQ(sink.try_send(Item{4}), Sent::stopped);
  EXPECT_THAT(Sink::seen, ElementsAre(1, 3));
  EXPECT_EQ(refused(), before) << "the sender knows";
}

constexpr int kItems = 2000, kCapacity = 8;

struct Consumer : behavior<Item> {
  void on(Item) {
    const int waiting = sent - ++handled;
    if (waiting > longest) longest = waiting;
    if (stops_after != 0 && handled == stops_after) stop();
  }
  static inline std::atomic<int> sent{0}, handled{0}, longest{0};
  static inline int stops_after = 0;
};
struct Producer : behavior<Next> {
  explicit Producer(actor<Item> to) : to_(to) { self().send(Next{}); }
  void on(Next) {
    ++Consumer::sent;
    to_.send(Item{});
    if (++sent_ == kItems) return stop();
    self().send(Next{});
  }
  actor<Item> to_;
  int sent_ = 0;
};

void produce(WhenFull when_full, int stops_after) {
  Consumer::sent = Consumer::handled = Consumer::longest = 0;
  Consumer::stops_after = stops_after;
  const auto consumer = spawn<Consumer>({.mailbox = {.capacity = kCapacity, .when_full = when_full}});
  for (int i = 0; i < 3; ++i) spawn<Producer>(consumer);
  run();
  consumer.stop();
  run();
}

TEST(Bounds, SendersAreMutedUntilHalfIsHandledAndLoseNothing) {
  const std::uint64_t before = refused();
  produce(WhenFull::mute, 0);
  EXPECT_EQ(Consumer::handled, 3 * kItems);
  EXPECT_LE(Consumer::longest, kCapacity + 3) << "a message over the bound for each sender";
  EXPECT_EQ(refused(), before);
}

TEST(Bounds, MutedSendersGoOnWhenTheReceiverStops) {
  produce(WhenFull::mute, 100);
  EXPECT_EQ(Consumer::handled, 100);
  EXPECT_EQ(Consumer::sent, 3 * kItems);
}

/// Two actors with a bound of one that answer each other twice: above its own bound an actor is not muted.
struct Echo : behavior<Item> {
  void on(Item item) {
    ++handled;
    if (item.value == 0) return;
    for (int i = 0; i < 2; ++i) other.send(Item{item.value - 1});
  }
  actor<Item> other;
  static inline std::atomic<int> handled{0};
  static inline actor<Item> latest;
};

TEST(Bounds, CyclesOfFullMailboxesGoOn) {
  Echo::handled = 0;
  struct Linked : Echo {
    explicit Linked(actor<Item> to) { other = to ? to : self(); }
  };
  const Spawn bounded{.mailbox = {.capacity = 1, .when_full = WhenFull::mute}};
  const auto first = spawn<Linked>(bounded, actor<Item>());
  const auto second = spawn<Linked>(bounded, first);
  second.send(Item{8});
  run();
  EXPECT_EQ(Echo::handled, (1 << 9) - 1);
  first.stop();
  second.stop();
  run();
}

/// The first actor has five messages and is muted by the second, which is then muted by the first: both are
/// neither full nor have room.
TEST(Bounds, TwoThatAreHalfFullDoNotWaitForEachOther) {
  Echo::handled = 0;
  struct First : behavior<Item> {
    void on(Item) {
      ++Echo::handled;
      if (++seen_ != 1) return;
      for (int i = 0; i < 5; ++i) other.send(Item{});
    }
    actor<Item> other = Echo::latest;
    int seen_ = 0;
  };
  struct Second : behavior<Item, Next> {
    void on(Item) {
      ++Echo::handled;
      if (++seen_ == 2) other_.send(Item{});
    }
    void on(Next) { other_ = Echo::latest; }
    actor<Item> other_;
    int seen_ = 0;
  };
  const Spawn bounded{.mailbox = {.capacity = 4, .when_full = WhenFull::mute}};
  const auto second = spawn<Second>(bounded);
  Echo::latest = second;
  const auto first = spawn<First>(bounded);
  Echo::latest = first;
  second.send(Next{});
  run();
  for (int i = 0; i < 5; ++i) first.send(Item{});
  run();
  EXPECT_EQ(Echo::handled, 11);
  first.stop();
  second.stop();
  run();
}

TEST(Bounds, AParentThatIsMutedByItsChildDecidesAboutItsFailure) {
  Echo::handled = 0;
  struct Child : behavior<Item> {
    void on(Item item) {
      if (item.value == 1) throw item.value;
      ++Echo::handled;
    }
  };
  struct Parent : behavior<Next> {
    void on(Next) {
      const auto child = spawn<Child>({.mailbox = {.capacity = 1, .when_full = WhenFull::mute}});
      for (int i = 1; i <= 4; ++i) child.send(Item{i});
      child.stop();
    }
    Directive on_failure(const Failure&) { return Directive::resume; }
  };
  const auto parent = spawn<Parent>();
  parent.send(Next{});
  run();
  EXPECT_EQ(Echo::handled, 3);
  parent.stop();
  run();
}

TEST(Bounds, OthersTimersDoNotWaitForOneOfAFullMailbox) {
  Echo::handled = 0;
  struct Full : behavior<Item> {
    void on(Item item) {
      ++Echo::handled;
      if (item.value != 0) return;
      for (int i = 0; i < 3; ++i) self().send(Item{1});
      static_cast<void>(after(Duration::zero(), Item{1}));
      const auto is_called = std::make_shared<std::atomic<bool>>(false);
      engine::call_after(Duration::zero(), [is_called] { *is_called = true; });
#if defined(RUBATO_ENGINE_NATIVE)
      while (!*is_called) std::this_thread::yield();  // no turn makes room meanwhile
#endif
    }
  };
  const auto full = spawn<Full>({.mailbox = {.capacity = 1, .when_full = WhenFull::mute}});
  full.send(Item{0});
  run();
  EXPECT_EQ(Echo::handled, 5);
  full.stop();
  run();
}

}  // namespace
}  // namespace rubato
