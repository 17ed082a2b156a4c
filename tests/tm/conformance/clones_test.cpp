// Calls through pointers: clones of safe functions, pure functions, functions without one (T15).
// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "library.hpp"

namespace {

int x;

using Safe = int (*)(int) transaction_safe;
__attribute__((noinline, transaction_safe)) int add_two(int value) {
  x = x + value;
  return value + 2;
}
Safe chosen = add_two;

TEST(Clones, OfSafeFunctionsAreFoundThroughPointers) {
  x = 1;
  int result = 0;
  const Safe function = chosen;
  __transaction_atomic {
    result = function(5);
    if (!is_true) __transaction_cancel;
  }
  EXPECT_EQ(result, 7);
  EXPECT_EQ(x, 6);
}

TEST(Clones, AreInstrumented) {
  x = 1;
  const Safe function = chosen;
  __transaction_atomic {
    function(5);
    if (is_true) __transaction_cancel;
  }
  EXPECT_EQ(x, 1);
}

__attribute__((noinline)) int without_clone(int value) {
  asm volatile("" : "+r"(value));
  return value + 3;
}
int (*unsafe_chosen)(int) = without_clone;

/// A transaction in hardware can call whatever can be undone by hardware, and stays one that can be undone.
bool may_be_in_hardware() {
  const char* const method = std::getenv("RUBATO_ITM_METHOD");
  return method == nullptr || std::strncmp(method, "adaptive", 8) == 0 || std::strcmp(method, "rtm") == 0;
}

TEST(Clones, FunctionsWithoutOneMakeARelaxedTransactionIrrevocable) {
  x = 1;
  int result = 0, mode = 0;
  int (*const function)(int) = unsafe_chosen;
  __transaction_relaxed {
    x = x + 1;
    result = function(4);
    mode = _ITM_inTransaction();
  }
  EXPECT_EQ(result, 7);
  EXPECT_TRUE(mode == 2 || (mode == 1 && may_be_in_hardware())) << mode;
  EXPECT_EQ(x, 2);
}

// Objects with clones are loaded and unloaded while another thread looks clones up.
TEST(Clones, AreFoundWhileObjectsAreLoadedAndUnloaded) {
  std::atomic<bool> is_over = false;
  std::atomic<int> wrong = 0;
  std::thread user([&] {
    const Safe function = chosen;
    while (!is_over) {
      int result = 0;
      __transaction_atomic {
        result = function(1);
        if (!is_true) __transaction_cancel;
      }
      wrong += result != 3;
    }
  });
  for (int i = 0; i < 100; ++i) {
    void* const object = dlopen(RUBATO_CLONES_OBJECT, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(object, nullptr) << dlerror();
    const Safe function = reinterpret_cast<Safe>(dlsym(object, "times_three"));
    int result = 0;
    __transaction_atomic {
      result = function(7);
      if (!is_true) __transaction_cancel;
    }
    EXPECT_EQ(result, 21);
    dlclose(object);
  }
  is_over = true;
  user.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
