// Exceptions around transactions and inside them, each nesting by itself, with restarts (T23).
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <thread>

#include "../conformance/library.hpp"
#include "program.hpp"

extern "C"
    [[gnu::transaction_pure]] void become_irrevocable(std::uint32_t) __asm__("_ITM_changeTransactionMode");

namespace {

int x, y;

/// Counts its objects, outside of transactions.
struct Outside {
  static inline int objects = 0;
  explicit Outside(int v) : value(v) { ++objects; }
  Outside(const Outside&) = delete;
  ~Outside() {
    value = -1;
    --objects;
  }
  int value;
};

struct RestartsWhenDestroyed {
  __attribute__((transaction_safe)) ~RestartsWhenDestroyed() {
    x = x + 1;
    perhaps_restart();
  }
};

class Nestings : public testing::Test {
 protected:
  void SetUp() override {
    x = y = 0;
    Outside::objects = 0;
    live_ = live_exceptions();
    allow_restarts(kRestarts, 1);
  }
  void TearDown() override {
    allow_restarts(0, 1);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
    EXPECT_EQ(std::current_exception(), nullptr);
    EXPECT_EQ(Outside::objects, 0);
    EXPECT_EQ(live_exceptions(), live_);
  }
  static constexpr unsigned kRestarts = 20;

 private:
  long live_ = 0;
};

__attribute__((noinline)) void throw_again_in_transaction() {
  __transaction_atomic {
    const RestartsWhenDestroyed destroyed;
    y = y + 1;
    if (is_true) throw;
  }
}

TEST_F(Nestings, AnOuterExceptionThrownAgainSurvivesRestarts) {
  for (int i = 1; i <= 10; ++i) {
    allow_restarts(kRestarts, static_cast<unsigned>(i));
    int caught = 0;
    try {
      try {
        throw Outside(i);
      } catch (const Outside&) {
        throw_again_in_transaction();
      }
    } catch (const Outside& again) {
      caught = again.value;
      EXPECT_EQ(Outside::objects, 1);
    }
    EXPECT_EQ(caught, i);
    EXPECT_EQ(x, i);
    EXPECT_EQ(y, i);
  }
}

__attribute__((noinline)) int throw_once_or_end(bool is_first) {
  int ended = 0;
  __transaction_atomic {
    const RestartsWhenDestroyed destroyed;
    if (is_first) throw;
    ended = 1;
  }
  return ended;
}

TEST_F(Nestings, AHandlerIsAsBeforeARestartAfterWhichNothingIsThrown) {
  for (int i = 1; i <= 10; ++i) {
    allow_restarts(kRestarts, static_cast<unsigned>(i));
    bool is_first = true;
    try {
      throw Outside(i);
    } catch (const Outside& caught) {
      try {
        is_first = throw_once_or_end(is_first) == 0;
      } catch (const Outside&) {
      }
      EXPECT_EQ(caught.value, i);
      EXPECT_EQ(Outside::objects, 1);
    }
    EXPECT_EQ(Outside::objects, 0);
  }
}

struct RunsATransactionWhenDestroyed {
  ~RunsATransactionWhenDestroyed() {
    const int uncaught = std::uncaught_exceptions();
    __transaction_atomic {
      const RestartsWhenDestroyed destroyed;
      y = y + 1;
    }
    EXPECT_EQ(std::uncaught_exceptions(), uncaught);
  }
};
__attribute__((noinline)) void unwind_through_a_transaction(int value) {
  const RunsATransactionWhenDestroyed destroyed;
  throw Outside(value);
}

TEST_F(Nestings, AnExceptionInFlightOutsideSurvivesRestarts) {
  for (int i = 1; i <= 10; ++i) {
    allow_restarts(kRestarts, static_cast<unsigned>(i));
    try {
      unwind_through_a_transaction(i);
      ADD_FAILURE();
    } catch (const Outside& caught) {
      EXPECT_EQ(caught.value, i);
    }
    EXPECT_EQ(y, i);
  }
}

struct ThrowsInATransactionWhenDestroyed {
  ~ThrowsInATransactionWhenDestroyed() {
    try {
      __transaction_atomic {
        const RestartsWhenDestroyed destroyed;
        y = y + 1;
        if (is_true) throw y;
      }
    } catch (int value) {
      caught = value;
    }
    uncaught = std::uncaught_exceptions();
  }
  static inline int caught = 0, uncaught = 0;
};
__attribute__((noinline)) void unwind_through_another_exception(int value) {
  const ThrowsInATransactionWhenDestroyed destroyed;
  throw Outside(value);
}

TEST_F(Nestings, AnotherExceptionLeavesATransactionInADestructor) {
  for (int i = 1; i <= 10; ++i) {
    allow_restarts(kRestarts, static_cast<unsigned>(i));
    try {
      unwind_through_another_exception(i);
      ADD_FAILURE();
    } catch (const Outside& caught) {
      EXPECT_EQ(caught.value, i);
    }
    EXPECT_EQ(ThrowsInATransactionWhenDestroyed::caught, i);
    EXPECT_EQ(ThrowsInATransactionWhenDestroyed::uncaught, 1);
  }
}

TEST_F(Nestings, APointerToAnExceptionThatLeftATransactionStaysValid) {
  std::exception_ptr kept;
  for (int i = 1; i <= 10; ++i) {
    allow_restarts(kRestarts, static_cast<unsigned>(i));
    try {
      __transaction_atomic {
        const RestartsWhenDestroyed destroyed;
        y = y + 1;
        if (is_true) throw std::runtime_error("the reason");
      }
    } catch (...) {
      kept = std::current_exception();
    }
    try {
      __transaction_atomic {
        const RestartsWhenDestroyed destroyed;
        y = y - 1;
      }
      std::rethrow_exception(kept);
    } catch (const std::runtime_error& caught) {
      EXPECT_STREQ(caught.what(), "the reason");
    }
  }
  EXPECT_EQ(y, 0);
  EXPECT_EQ(x, 20);
}

std::exception_ptr taken;
[[gnu::transaction_pure]] void take_current() { taken = std::current_exception(); }
__attribute__((noinline, transaction_safe)) void throw_text() {
  if (is_true) throw std::runtime_error("the reason");
}
__attribute__((noinline, transaction_safe)) void catch_and_take() {
  try {
    throw_text();
  } catch (...) {
    y = y + 1;
    take_current();
  }
  perhaps_restart();
}

TEST_F(Nestings, APointerThatAHandlerOfTheTransactionTookStaysValid) {
  SKIP_ON_GCC("a handler inside a transaction never ends");
  for (int i = 1; i <= 10; ++i) {
    allow_restarts(kRestarts, static_cast<unsigned>(i));
    __transaction_atomic { catch_and_take(); }
    try {
      std::rethrow_exception(taken);
    } catch (const std::runtime_error& caught) {
      EXPECT_STREQ(caught.what(), "the reason");
    }
  }
  taken = nullptr;
  EXPECT_EQ(y, 10);
}

__attribute__((noinline, transaction_safe)) void catch_text() {
  try {
    throw_text();
  } catch (...) {
    y = y + 1;
  }
}

// The text's memory is the transaction's own, too.
TEST_F(Nestings, ATextThatWasCaughtIsFreedOnce) {
  SKIP_ON_GCC("a handler inside a transaction never ends");
  for (int i = 1; i <= 10; ++i) {
    allow_restarts(kRestarts, static_cast<unsigned>(i));
    __transaction_atomic {
      catch_text();
      perhaps_restart();
    }
    __transaction_atomic {
      catch_text();
      if (is_true) __transaction_cancel;
    }
  }
  EXPECT_EQ(y, 10);
}

/// So large that its memory goes back to the system with it.
struct Large {
  __attribute__((transaction_safe)) explicit Large(int v) : value(v) { look(); }
  __attribute__((transaction_safe, noinline)) void look() {
    __transaction_atomic {
      if (value < 0) __transaction_cancel;
      y = y + value;
    }
  }
  int value;
  char room[300000];
};
__attribute__((noinline, transaction_safe)) void throw_large(int value) {
  if (is_true) throw Large(value);
}
__attribute__((noinline, transaction_safe)) void catch_large(int value) {
  try {
    throw_large(value);
  } catch (...) {
    x = x + 1;
  }
}
__attribute__((noinline, transaction_safe)) void catch_large_and_cancel() {
  __transaction_atomic {
    catch_large(100);
    if (is_true) __transaction_cancel;
  }
}

// The change to irrevocable compares what the transaction has read.
TEST_F(Nestings, ReadsOfAnExceptionThatIsOverAreNotCompared) {
  SKIP_ON_GCC("a handler inside a transaction never ends");
  for (int i = 0; i < 10; ++i) {
    __transaction_atomic {
      catch_large(1);
      become_irrevocable(0);
    }
    __transaction_atomic {
      catch_large_and_cancel();
      become_irrevocable(0);
    }
  }
  EXPECT_EQ(x, 10);
  EXPECT_EQ(y, 10);
}

/// Another thread that changes `x` in a transaction when it is told to.
class Disturber {
 public:
  Disturber() : thread_([this] { run(); }) {}
  ~Disturber() {
    wishes_ = -1;
    thread_.join();
  }
  /// Returns when the change is visible, or after a while: by some methods the other one has to wait.
  void change() {
    const int seen = looked_at();
    ++wishes_;
    for (int i = 0; i < 50 && looked_at() == seen; ++i)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  void finish() {
    while (done_ != wishes_) sched_yield();
  }

 private:
  static int looked_at() { return __atomic_load_n(&x, __ATOMIC_ACQUIRE); }
  void run() {
    for (int wishes; (wishes = wishes_) >= 0; sched_yield()) {
      if (done_ == wishes) continue;
      __transaction_atomic { x = x + 1; }
      ++done_;
    }
  }
  std::atomic<int> wishes_{0}, done_{0};
  std::thread thread_;
};

Disturber* disturber;
int attempts;
[[gnu::transaction_pure]] void let_other_change() {
  if (++attempts == 1) disturber->change();
}
__attribute__((noinline)) void leave_with(bool is_outer) {
  __transaction_atomic {
    y = y + 1 + 0 * x;
    const int seen = x;
    let_other_change();
    y = y + (seen < 0);
    if (is_outer) throw;
    throw y;
  }
}

// The commit at which the exception leaves the transaction fails.
TEST_F(Nestings, AnExceptionLeavesATransactionThatHasToRunAgain) {
  SKIP_ON_GCC("it frees the exception of the handler at the restart");
  Disturber other;
  disturber = &other;
  for (int i = 1; i <= 10; ++i) {
    attempts = 0;
    int caught = 0, own = 0;
    try {
      try {
        throw Outside(i);
      } catch (const Outside&) {
        leave_with(true);
      }
    } catch (const Outside& again) {
      caught = again.value;
      EXPECT_EQ(Outside::objects, 1);
    }
    EXPECT_EQ(caught, i);
    other.finish();
    attempts = 0;
    try {
      leave_with(false);
    } catch (int value) {
      own = value;
    }
    EXPECT_EQ(own, 2 * i);
    other.finish();
  }
  EXPECT_EQ(y, 20);
  EXPECT_EQ(x, 20);
}

}  // namespace
