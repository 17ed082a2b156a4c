// A time-out for idleness whose check is dropped with a run that fails.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "native/engine.hpp"
#include "rubato/actors.hpp"
#include "tests/native/use_workers.hpp"

namespace rubato {
namespace {

struct Work {};
struct Session : behavior<Work, Idle> {
  explicit Session(int* idles) : idles_(idles) { idle_after(std::chrono::milliseconds(1)); }
  void on(Work) {}
  void on(Idle) { ++*idles_; }
  int* idles_;
};

TEST(Native_IdleTimeout, ComesAgainBehindARunThatDroppedItsCheck) {
  use_workers(1);
  int idles = 0;
  actor<Work, Idle> session;
  create<nonspec>(
      [&] {
        session = spawn<Session>(&idles);
        // The timer is a hold. Behind it the check is in the mailbox, which this worker does not look at yet.
        while (native::the_engine().holds() != 0) std::this_thread::yield();
        throw 1;
      },
      {});
  EXPECT_THROW(run(), TaskError);
  EXPECT_EQ(idles, 0);
  session.send(Work{});
  run();
  EXPECT_EQ(idles, 1);
  session.stop();
  run();
  use_workers(0);
}

}  // namespace
}  // namespace rubato
