// Exceptions that leave transactions, are caught inside, or are undone (T14, T23).
// SPDX-License-Identifier: MIT
#include <malloc.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "library.hpp"

extern "C" void _ITM_changeTransactionMode(std::uint32_t) __attribute__((transaction_pure));

namespace {

int x;

__attribute__((noinline, transaction_safe)) void throw_int(int value) {
  x = x + 1;
  if (is_true) throw value;
}

TEST(Exceptions, LeavingATransactionCommitIt) {
  x = 0;
  int caught = 0;
  try {
    __transaction_atomic {
      x = 10;
      throw_int(5);
    }
  } catch (int value) {
    caught = value;
  }
  EXPECT_EQ(caught, 5);
  EXPECT_EQ(x, 11);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
}

__attribute__((noinline, transaction_safe)) int catch_inside(int value) {
  try {
    throw_int(value);
  } catch (...) {  // GCC 12 crashes on handlers of a type inside transactions
    return value;
  }
  return -1;
}

TEST(Exceptions, CaughtInsideATransactionDoNotLeaveIt) {
  SKIP_ON_GCC("a handler inside a transaction never ends: its _ITM_cxa_begin_catch calls itself");
  x = 0;
  int caught = 0;
  __transaction_atomic { caught = catch_inside(6); }
  EXPECT_EQ(caught, 6);
  EXPECT_EQ(x, 1);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
}

TEST(Exceptions, CaughtBeforeACancelAreCleanedUp) {
  SKIP_ON_GCC("a handler inside a transaction never ends: its _ITM_cxa_begin_catch calls itself");
  x = 0;
  for (int i = 0; i < 1000; ++i) {
    __transaction_atomic {
      catch_inside(i);
      if (is_true) __transaction_cancel;
    }
  }
  EXPECT_EQ(x, 0);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  EXPECT_EQ(std::current_exception(), nullptr);
}

__attribute__((noinline, transaction_safe)) int cancel_in_handler(int value) {
  int seen = 0;
  __transaction_atomic {
    try {
      throw_int(value);
    } catch (...) {
      seen = value;
      if (is_true) __transaction_cancel;
    }
  }
  return seen;
}

TEST(Exceptions, ACancelInsideAHandlerEndsTheHandler) {
  SKIP_ON_GCC("a handler inside a transaction never ends: its _ITM_cxa_begin_catch calls itself");
  x = 0;
  EXPECT_EQ(cancel_in_handler(3), 0);
  EXPECT_EQ(x, 0);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  EXPECT_EQ(std::current_exception(), nullptr);
  try {
    throw 4;
  } catch (int caught) {
    EXPECT_EQ(caught, 4);
    EXPECT_NE(std::current_exception(), nullptr);
  }
  EXPECT_EQ(std::current_exception(), nullptr);
}

struct ThrowsWhenMade {
  __attribute__((transaction_safe)) explicit ThrowsWhenMade(int value) {
    x = value;
    if (is_true) throw value;
  }
};

TEST(Exceptions, AConstructorThatThrowsLeaksNoMemory) {
  x = 0;
  int caught = 0;
  try {
    __transaction_atomic {
      auto* const made = new ThrowsWhenMade(9);
      x = made != nullptr;
    }
  } catch (int value) {
    caught = value;
  }
  EXPECT_EQ(caught, 9);
  EXPECT_EQ(x, 9);
}

struct AlsoThrowsWhenThrown {
  __attribute__((transaction_safe)) explicit AlsoThrowsWhenThrown(int value) {
    x = value;
    throw_int(value + 1);
  }
};

TEST(Exceptions, AnExceptionWhoseConstructorThrowsIsReplaced) {
  SKIP_ON_GCC("its _ITM_cxa_free_exception calls itself");
  x = 0;
  int caught = 0;
  try {
    __transaction_atomic {
      x = 1;
      if (is_true) throw AlsoThrowsWhenThrown(7);
    }
  } catch (int value) {
    caught = value;
  } catch (const AlsoThrowsWhenThrown&) {
    caught = -1;
  }
  EXPECT_EQ(caught, 8);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
}

std::size_t too_large = std::size_t{1} << 62;

/// Restarts a transaction whose stores are kept until commit.
struct RestartsWhenDestroyed {
  __attribute__((transaction_safe)) ~RestartsWhenDestroyed() {
    x = x + 1;
    _ITM_dropReferences(&x, sizeof x);
  }
};
__attribute__((noinline, transaction_safe)) char* allocate(std::size_t bytes) { return new char[bytes]; }
__attribute__((noinline, transaction_safe)) void allocate_too_much() {
  const RestartsWhenDestroyed destroyed;
  *allocate(too_large) = 1;
}

// operator new throws without the library: only the count of the thread tells.
TEST(Exceptions, OfOperatorNewDoNotCountAfterARestart) {
  SKIP_ON_GCC("_ITM_dropReferences ends the program");
  int caught = 0;
  for (int i = 0; i < 5; ++i) {
    try {
      __transaction_atomic { allocate_too_much(); }
    } catch (const std::bad_alloc&) {
      ++caught;
    }
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  }
  EXPECT_EQ(caught, 5);
}

/// A writer in place cannot become irrevocable where it is, and restarts.
struct SwitchesWhenDestroyed {
  __attribute__((transaction_safe)) ~SwitchesWhenDestroyed() {
    x = x + 1;
    _ITM_changeTransactionMode(0);
  }
};
__attribute__((noinline, transaction_safe)) void allocate_too_much_and_switch() {
  const SwitchesWhenDestroyed destroyed;
  *allocate(too_large) = 1;
}

int caught_of_operator_new() {
  int caught = 0;
  for (int i = 0; i < 500; ++i) {
    try {
      __transaction_atomic { allocate_too_much(); }
    } catch (const std::bad_alloc&) {
      ++caught;
    }
    try {
      __transaction_atomic { allocate_too_much_and_switch(); }
    } catch (const std::bad_alloc&) {
      ++caught;
    }
  }
  return caught;
}

// An exception object takes 128 bytes or more.
TEST(Exceptions, OfOperatorNewInFlightAtARestartAreFreed) {
  SKIP_ON_GCC("_ITM_dropReferences ends the program");
  EXPECT_EQ(caught_of_operator_new(), 1000);  // the logs have their memory
  const std::size_t before = mallinfo2().uordblks;
  EXPECT_EQ(caught_of_operator_new(), 1000);
  EXPECT_LT(mallinfo2().uordblks, before + 10000);
}

template <class T>
void leaves_a_transaction(T value) {
  bool is_caught = false;
  x = 0;
  try {
    __transaction_atomic {
      x = 1;
      if (is_true) throw value;
    }
  } catch (T caught) {
    is_caught = caught == value;
  }
  EXPECT_TRUE(is_caught);
  EXPECT_EQ(x, 1);
}

TEST(Exceptions, OfScalarTypesLeaveTransactions) {
  leaves_a_transaction<bool>(true);
  leaves_a_transaction<char>('a');
  leaves_a_transaction<signed char>(1);
  leaves_a_transaction<unsigned char>(2);
  leaves_a_transaction<wchar_t>(3);
  leaves_a_transaction<short>(4);
  leaves_a_transaction<unsigned short>(5);
  leaves_a_transaction<int>(6);
  leaves_a_transaction<unsigned>(7);
  leaves_a_transaction<long>(8);
  leaves_a_transaction<unsigned long>(9);
  leaves_a_transaction<long long>(10);
  leaves_a_transaction<float>(11);
  leaves_a_transaction<double>(12);
  leaves_a_transaction<const char*>("thirteen");
}

template <class T>
__attribute__((noinline)) void standard_exception_leaves() {
  std::string what;
  try {
    __transaction_atomic {
      x = 1;
      if (is_true) throw T("the reason");
    }
  } catch (const T& caught) {
    what = caught.what();
  }
  EXPECT_EQ(what, "the reason");
}

TEST(Exceptions, OfTheStandardLibraryLeaveTransactions) {
  standard_exception_leaves<std::logic_error>();
  standard_exception_leaves<std::domain_error>();
  standard_exception_leaves<std::invalid_argument>();
  standard_exception_leaves<std::length_error>();
  standard_exception_leaves<std::out_of_range>();
  standard_exception_leaves<std::runtime_error>();
  standard_exception_leaves<std::range_error>();
  standard_exception_leaves<std::overflow_error>();
  standard_exception_leaves<std::underflow_error>();
}

}  // namespace
