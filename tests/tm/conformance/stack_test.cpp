// Variables on the stack of the thread that runs the transaction (T26). GCC reads arguments of class
// type without a barrier: stores to the own stack have to be in place, and still isolated and undone.
// SPDX-License-Identifier: MIT
#include <sys/mman.h>
#include <ucontext.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "library.hpp"

namespace {

struct Cursor {
  long* at;
};
struct Large {
  long words[24];
};

long table[8] = {10, 11, 12, 13, 14, 15, 16, 17};

__attribute__((noinline, transaction_safe)) void step(Cursor* cursor) { cursor->at += 1; }
__attribute__((noinline, transaction_safe)) long read(Cursor cursor) { return *cursor.at; }
__attribute__((noinline, transaction_safe)) void fill(Large* large, long value) {
  for (long& word : large->words) word = value;
}
__attribute__((noinline, transaction_safe)) long sum(Large large) {
  long result = 0;
  for (const long word : large.words) result += word;
  return result;
}

/// Does the method that the program asked for keep stores until commit?
bool keeps_stores() {
  const char* const method = std::getenv("RUBATO_ITM_METHOD");
  if (is_gcc_library() || method == nullptr) return false;
  for (const char* const keeping : {"lazy", "norec", "rtm", "adaptive-all"}) {
    if (std::strncmp(method, keeping, std::strlen(keeping)) == 0) return true;
  }
  return false;
}

__attribute__((noinline)) long in_own_frame() {
  long result = 0;
  __transaction_atomic {
    Cursor cursor = {table + 2};
    step(&cursor);
    result = read(cursor);
    if (!is_true) __transaction_cancel;  // never serial without instrumentation
  }
  return result;
}

TEST(ByValue, AStructOfTheTransactionsFunctionHasItsNewValue) { EXPECT_EQ(in_own_frame(), 13); }

__attribute__((noinline)) long in_callers_frame(Cursor* cursor, Large* large) {
  long result = 0;
  __transaction_atomic {
    step(cursor);
    fill(large, 3);
    result = read(*cursor) + sum(*large);
    if (!is_true) __transaction_cancel;
  }
  return result;
}

TEST(ByValue, AStructOfACallerHasItsNewValue) {
  Cursor cursor = {table + 3};
  Large large = {};
  EXPECT_EQ(in_callers_frame(&cursor, &large), 14 + 24 * 3);
  EXPECT_EQ(cursor.at, table + 4);
  EXPECT_EQ(large.words[23], 3);
}

/// Calls itself so that the caller's variables are megabytes above.
__attribute__((noinline)) long far_below(Cursor* cursor, Large* large, int frames) {
  volatile char frame[1 << 16];
  frame[0] = 0;
  const long result = frames == 0 ? in_callers_frame(cursor, large) : far_below(cursor, large, frames - 1);
  frame[sizeof frame - 1] = 0;  // no tail call
  return result;
}

TEST(ByValue, AStructFarAboveHasItsNewValue) {
  long seen[2] = {};
  const auto run = [](long* result) {
    Cursor cursor = {table + 3};
    Large large = {};
    *result = far_below(&cursor, &large, 60);
  };
  run(&seen[0]);
  std::thread([&] { run(&seen[1]); }).join();
  EXPECT_EQ(seen[0], 14 + 24 * 3);
  EXPECT_EQ(seen[1], 14 + 24 * 3);
}

ucontext_t outside, inside;
long seen_inside[2];
void on_another_stack() {
  Cursor cursor = {table + 3};
  Large large = {};
  seen_inside[0] = in_callers_frame(&cursor, &large);
  swapcontext(&inside, &outside);  // and it goes on in another thread
  seen_inside[1] = in_callers_frame(&cursor, &large);
}

TEST(ByValue, AStructOnTheStackOfACoroutineHasItsNewValue) {
  constexpr std::size_t kBytes = 1 << 17;
  void* const stack = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(stack, MAP_FAILED);
  getcontext(&inside);
  inside.uc_stack.ss_sp = stack;
  inside.uc_stack.ss_size = kBytes;
  inside.uc_link = &outside;
  makecontext(&inside, on_another_stack, 0);
  swapcontext(&outside, &inside);
  std::thread([] { swapcontext(&outside, &inside); }).join();
  EXPECT_EQ(seen_inside[0], 14 + 24 * 3);
  EXPECT_EQ(seen_inside[1], 15 + 24 * 3);
  munmap(stack, kBytes);
}

Cursor shared_cursor;

__attribute__((noinline)) long in_shared_memory() {
  long result = 0;
  __transaction_atomic {
    shared_cursor.at = table + 4;
    result = read(shared_cursor);
    if (!is_true) __transaction_cancel;
  }
  return result;
}

TEST(ByValue, ASharedStructHasItsNewValueWhereStoresAreInPlace) {
  if (keeps_stores()) GTEST_SKIP() << "GCC reads the argument plainly, and the store is kept until commit";
  for (int i = 0; i < 10; ++i) {  // by each method that takes a turn
    shared_cursor.at = table;
    EXPECT_EQ(in_shared_memory(), 14);
  }
}

// Also where a second thread keeps the choice of the method at work.
TEST(ByValue, ASharedStructOfEachOfTwoThreadsHasItsNewValue) {
  if (keeps_stores()) GTEST_SKIP() << "GCC reads the argument plainly, and the store is kept until commit";
  static Cursor cursors[2][16];
  std::atomic<long> wrong = 0;
  const auto run = [&](int me) {
    for (int i = 0; i < 20000; ++i) {
      Cursor& mine = cursors[me][i % 16];
      mine.at = table;
      long result = 0;
      __transaction_atomic {
        mine.at = table + 5;
        result = read(mine);
      }
      if (result != 15) wrong.fetch_add(1);
    }
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  EXPECT_EQ(wrong, 0);
}

__attribute__((noinline, transaction_safe)) void set(long* place, long value) { *place = value; }
__attribute__((noinline, transaction_safe)) long nested_cancel(long* outer) {
  long between = 1, result = 0;
  set(&between, 2);
  __transaction_atomic {
    set(outer, 10);
    set(&between, 20);
    long inner = 5;
    set(&inner, between + 1);
    result = inner;
    if (is_true) __transaction_cancel;
  }
  return between * 100 + result;
}

TEST(OwnStack, ANestedCancelRestoresTheFramesAboveIt) {
  SKIP_ON_GCC("a nested cancel loses what the outer transaction wrote to the same place");
  long outer = 1, result = 0;
  __transaction_atomic {
    set(&outer, 2);
    result = nested_cancel(&outer);
    if (!is_true) __transaction_cancel;
  }
  EXPECT_EQ(result, 200);
  EXPECT_EQ(outer, 2);
  __transaction_atomic {
    set(&outer, 7);
    if (is_true) __transaction_cancel;
  }
  EXPECT_EQ(outer, 2);
}

/// Lets another thread come in, also where there is one core.
__attribute__((transaction_pure, noinline)) void linger() { std::this_thread::yield(); }
std::atomic<long> unequal;
__attribute__((transaction_pure, noinline)) void expect_equal(long a, long b) {
  if (a != b) unequal.fetch_add(1);
}

// A variable on a stack may be shared: the owner's transactions are isolated there as elsewhere.
TEST(OwnStack, VariablesThatOthersUseAreIsolated) {
  unequal = 0;
  alignas(64) long left = 0;
  alignas(64) long right = 0;
  const auto add = [](long* l, long* r, bool is_cancelled) {
    __transaction_atomic {
      set(l, *l + 1);
      linger();
      set(r, *r + 1);
      expect_equal(*l, *r);
      if (is_cancelled) __transaction_cancel;
    }
  };
  std::thread other([&] {
    for (int i = 0; i < 2000; ++i) {
      __transaction_atomic { expect_equal(left, right); }
      add(&left, &right, i % 4 == 0);
    }
  });
  for (int i = 0; i < 2000; ++i) add(&left, &right, i % 3 == 0);
  other.join();
  EXPECT_EQ(unequal, 0);
  EXPECT_EQ(left, 1500 + 1333);
  EXPECT_EQ(right, left);
}

std::atomic<int> stage;
/// By a method that runs one transaction at a time the other does not come in.
__attribute__((transaction_pure, noinline)) void let_another_commit() {
  if (stage == 0) stage = 1;
  for (int i = 0; i < 50 && stage != 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}
long number;
/// Frames of 4 KiB, each of which reads and changes the one above.
__attribute__((noinline, transaction_safe)) long add_frames(int depth, long* above) {
  long own[512];
  set(above, *above + 1);
  set(&own[7], *above);
  long sum = number;
  if (depth == 0) {
    let_another_commit();
  } else {
    sum = sum + add_frames(depth - 1, &own[7]);
  }
  return sum + number + own[7];
}

TEST(OwnStack, FramesFarBelowTheTransactionAreItsOwn) {
  constexpr int kDepth = 600;  // more than two megabytes
  stage = 0;
  static long shared;
  shared = number = 0;
  std::thread other([] {
    while (stage != 1) std::this_thread::yield();
    __transaction_atomic { shared = shared + 1; }
    stage = 2;
  });
  long sum = 0;
  __transaction_atomic {
    long first = 0;
    sum = add_frames(kDepth, &first);
  }
  other.join();
  EXPECT_EQ(shared, 1);
  // The frame at depth d from the top begins with d + 1, and all but the last are changed once more.
  EXPECT_EQ(sum, (kDepth + 1) * (kDepth + 2) / 2 + kDepth);
}

__attribute__((noinline)) void unsafe() { asm volatile("" : : : "memory"); }

TEST(OwnStack, ASwitchToSerialAfterAStoreThereEnds) {
  long own = 0;
  static long shared;
  shared = 0;
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    while (!is_over) {
      __transaction_atomic { shared = shared + 1; }
    }
  });
  for (int i = 0; i < 500; ++i) {
    __transaction_relaxed {
      set(&own, own + 1);
      linger();
      if (is_true) unsafe();
      set(&own, own + 1);
    }
  }
  is_over = true;
  other.join();
  EXPECT_EQ(own, 1000);
}

}  // namespace
