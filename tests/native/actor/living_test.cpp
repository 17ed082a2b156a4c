// Lists of living actors while a run goes on, and on a signal.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "rubato/actors.hpp"

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

}  // namespace
