// Transactions that promise to make nothing private (T38). Only librubato_itm has that, and only its
// concurrent algorithms wait for others at all.
// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "library.hpp"

extern "C" {
void* _ITM_malloc(std::size_t) __attribute__((transaction_pure));
void _ITM_free(void*) __attribute__((transaction_pure));
}

namespace {

using Promise = void (*)();
Promise find_promise() {
  return reinterpret_cast<Promise>(::dlsym(RTLD_DEFAULT, "rubato_tm_no_privatization"));
}
__attribute__((transaction_pure, noinline)) void promise() { find_promise()(); }

bool waits_at_commit() {
  const char* const method = std::getenv("RUBATO_ITM_METHOD");
  return method != nullptr && (std::strcmp(method, "eager") == 0 || std::strcmp(method, "lazy") == 0 ||
                               std::strcmp(method, "norec") == 0 || std::strcmp(method, "tml") == 0);
}

constexpr std::size_t kBytes = 1000;
struct alignas(64) Shared {
  std::uint64_t value;
  char* block;
};
Shared watched, other, third;
std::atomic<int> step{0};

__attribute__((transaction_pure, noinline)) void tell_and_wait() {
  int begun = 0;
  step.compare_exchange_strong(begun, 1);
  while (step.load() < 2) std::this_thread::yield();
}

/// Resident memory of the process: all of the threads' heaps.
long resident_bytes() {
  long pages = 0, resident = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) ADD_FAILURE();
  if (file != nullptr) std::fclose(file);
  return resident * ::sysconf(_SC_PAGESIZE);
}

struct NoPrivatization : testing::Test {
  void SetUp() override {
    if (find_promise() == nullptr || !waits_at_commit()) GTEST_SKIP() << "nobody is waited for";
    step = 0;
  }
  /// A transaction that has read and then stands still, until end_reader().
  std::thread reader{};
  void start_reader() {
    reader = std::thread([] {
      std::uint64_t sum = 0;
      __transaction_atomic {
        sum += watched.value;
        tell_and_wait();
        third.value = sum;
      }
    });
    while (step.load() == 0) std::this_thread::yield();
  }
  void end_reader() {
    step = 2;
    reader.join();
  }
  /// @returns where a block was that was freed.
  char* free_block(bool promises) {
    other.block = static_cast<char*>(std::malloc(kBytes));
    char* const block = other.block;
    __transaction_atomic {
      if (promises) promise();
      ++other.value;
      _ITM_free(other.block);
      other.block = nullptr;
    }
    return block;
  }
  bool is_next(char* block) {
    auto* const next = static_cast<char*>(std::malloc(kBytes));
    const bool is_same = next == block;
    std::free(next);
    return is_same;
  }
};

TEST_F(NoPrivatization, CommitsBesideAnOlderTransactionAndFreesWhenThatIsOver) {
  start_reader();
  char* const block = free_block(true);  // would wait until end_reader() without the promise
  EXPECT_FALSE(is_next(block));
  end_reader();
  EXPECT_FALSE(is_next(block));
  __transaction_atomic { ++other.value; }  // has waited for all that are older
  EXPECT_TRUE(is_next(block));
}

TEST_F(NoPrivatization, IsAPromiseOfOneTransaction) {
  free_block(true);
  EXPECT_TRUE(is_next(free_block(false)));
}

TEST_F(NoPrivatization, OfACancelledTransactionIsForgotten) {
  __transaction_atomic {
    promise();
    ++other.value;
    if (is_true) __transaction_cancel;
  }
  EXPECT_TRUE(is_next(free_block(false)));
}

TEST_F(NoPrivatization, KeepsAtMostAMegabyte) {
  const std::size_t before = ::mallinfo2().uordblks;
  for (int i = 0; i < 10000; ++i) free_block(true);
  EXPECT_LT(::mallinfo2().uordblks, before + (3u << 20));
}

TEST_F(NoPrivatization, GivesBackWhatIsLeftWhenItsThreadEnds) {
  const long before = resident_bytes();
  for (int i = 0; i < 100; ++i) {
    std::thread([this] {
      for (int k = 0; k < 500; ++k) free_block(true);
    }).join();
  }
  EXPECT_LT(resident_bytes(), before + (16 << 20)) << "of 50 MB";
}

}  // namespace
