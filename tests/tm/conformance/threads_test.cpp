// Many threads: atomicity, opacity, privatization, threads that come and go, fork (T29, T36, T39, T65,
// T66).
// SPDX-License-Identifier: MIT
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "library.hpp"

namespace {

void in_threads(int threads, const std::function<void(int)>& body) {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(body, i);
  for (std::thread& thread : all) thread.join();
}

// Asked before main, and so before any transaction: EPERM where the process is not registered.
const long membarrier_commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
const int membarrier_error = syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0 ? 0 : errno;

// Later, in a process with threads, the kernel takes milliseconds for it, in the first transaction.
TEST(Threads, MembarrierIsRegisteredBeforeThereAreAny) {
  SKIP_ON_GCC("it uses no membarrier");
  if (membarrier_commands < 0 || (membarrier_commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0)
    GTEST_SKIP() << "the kernel has no membarrier";
  EXPECT_EQ(membarrier_error, 0);
}

long counter;

TEST(Threads, FirstUseInEachOfTenCounts) {
  counter = 0;
  in_threads(10, [](int) {
    __transaction_atomic { counter = counter + 1; }
  });
  EXPECT_EQ(counter, 10);
}

TEST(Threads, LoseNoIncrement) {
  counter = 0;
  in_threads(4, [](int) {
    for (int i = 0; i < 20000; ++i) {
      __transaction_atomic { counter = counter + 1; }
    }
  });
  EXPECT_EQ(counter, 80000);
}

TEST(Threads, AThousandComeAndGo) {
  counter = 0;
  for (int i = 0; i < 100; ++i) {
    in_threads(10, [](int) {
      __transaction_atomic { counter = counter + 1; }
    });
  }
  EXPECT_EQ(counter, 1000);
}

constexpr int kAccounts = 64;
long accounts[kAccounts];

// The sum is the same at every moment: a transaction that sees another has not seen one moment.
TEST(Opacity, AuditsSeeOneMoment) {
  for (long& account : accounts) account = 100;
  std::atomic<bool> is_wrong = false, is_over = false;
  std::atomic<int> finished = 0;
  in_threads(4, [&](int me) {
    unsigned random = static_cast<unsigned>(me) * 7919 + 1;
    for (int i = 0; i < 8000; ++i) {
      random = random * 1664525 + 1013904223;
      const int from = static_cast<int>(random >> 8) % kAccounts,
                to = static_cast<int>(random >> 20) % kAccounts;
      if (i % 8 == 0) {
        long sum = 0;
        __transaction_atomic {
          sum = 0;
          for (int a = 0; a < kAccounts; ++a) sum += accounts[a];
        }
        if (sum != 100 * kAccounts) is_wrong = true;
      } else {
        __transaction_atomic {
          accounts[from] = accounts[from] - 1;
          accounts[to] = accounts[to] + 1;
          if (is_true && i % 5 == 0) __transaction_cancel;
        }
      }
    }
  });
  EXPECT_FALSE(is_wrong);
}

// A doomed attempt must not see two halves that were never there together, even if it is undone later.
long left, right;
std::atomic<long> doomed_saw{0};
__attribute__((transaction_pure, noinline)) void note_difference(long difference) {
  if (difference != 0) doomed_saw.fetch_add(1);
}

TEST(Opacity, EvenAbortedAttemptsSeeOneMoment) {
  left = right = 0;
  doomed_saw = 0;
  in_threads(4, [&](int me) {
    for (int i = 0; i < 20000; ++i) {
      if (me % 2 == 0) {
        __transaction_atomic {
          const long l = left;
          const long r = right;
          note_difference(l - r);
        }
      } else {
        __transaction_atomic {
          left = left + 1;
          right = right + 1;
        }
      }
    }
  });
  EXPECT_EQ(doomed_saw, 0);
  EXPECT_EQ(left, right);
}

/// Lets another thread come in, also where there is one core.
__attribute__((transaction_pure, noinline)) void linger() { std::this_thread::yield(); }

// Each of two transactions reads both words and writes one: one after the other, at most one of them finds
// both zero.
TEST(Atomic, TransactionsThatReadWhatOthersWriteDoNotBothCommit) {
  static long words[64];  // far apart
  long* const mine[2] = {&words[0], &words[32]};
  int both = 0;
  std::atomic<int> arrived = 0;
  in_threads(2, [&](int me) {
    for (int i = 1; i <= 5000; ++i) {
      arrived.fetch_add(1);
      while (arrived.load() < 4 * i - 2) std::this_thread::yield();
      __transaction_atomic {
        const long sum = *mine[0] + *mine[1];
        linger();
        if (sum == 0) *mine[me] = 1;
      }
      arrived.fetch_add(1);
      while (arrived.load() < 4 * i) std::this_thread::yield();
      if (me == 0) {
        both += *mine[0] + *mine[1] == 2;
        *mine[0] = *mine[1] = 0;
      }
    }
  });
  EXPECT_EQ(both, 0);
}

TEST(Opacity, WritesThatAreUndoneAreNeverSeen) {
  static long words[4];
  for (long& word : words) word = 0;
  std::atomic<bool> is_over = false;
  std::atomic<long> seen = 0;
  std::thread writer([&] {
    while (!is_over) {
      __transaction_atomic {
        words[0] = 1;
        linger();
        if (is_true) __transaction_cancel;
      }
    }
  });
  for (int i = 0; i < 100000; ++i) {
    long value = 0;
    __transaction_atomic { value = words[0]; }
    seen += value;
  }
  is_over = true;
  writer.join();
  EXPECT_EQ(seen, 0);
}

// Privatization: a thread takes a block out of the shared place, then uses it plainly; others write it in
// transactions.
struct Block {
  long words[8];
};
Block* shared_block;

TEST(Privatization, ABlockThatWasTakenOutIsTouchedByNobody) {
  std::atomic<bool> is_wrong = false, is_over = false;
  shared_block = nullptr;
  std::thread owner([&] {
    for (int i = 0; i < 3000; ++i) {
      auto* block = static_cast<Block*>(std::calloc(1, sizeof(Block)));
      __transaction_atomic { shared_block = block; }
      for (volatile int k = 0; k < 50;) k = k + 1;
      __transaction_atomic { shared_block = nullptr; }
      const long value = block->words[0];
      for (int k = 0; k < 8; ++k) {
        if (block->words[k] != value) is_wrong = true;
        block->words[k] = -1;
      }
      for (int k = 0; k < 8; ++k) {
        if (block->words[k] != -1) is_wrong = true;
      }
      std::free(block);
    }
    is_over = true;
  });
  in_threads(2, [&](int) {
    while (!is_over) {
      __transaction_atomic {
        Block* const block = shared_block;
        if (block != nullptr) {
          for (int k = 0; k < 8; ++k) {
            block->words[k] = block->words[k] + 1;
            if (k == 3) linger();
          }
        }
      }
    }
  });
  owner.join();
  EXPECT_FALSE(is_wrong);
}

// The owner hands the block over by a transaction of a third thread that only reads.
TEST(Privatization, ByProxy) {
  std::atomic<bool> is_wrong = false;
  for (int round = 0; round < 100; ++round) {
    static long flag, value;
    flag = 0;
    value = 0;
    std::thread writer([] {
      __transaction_atomic {
        if (flag == 0) value = value + 1;
      }
    });
    std::thread privatizer([] {
      __transaction_atomic { flag = 1; }
    });
    std::thread reader([&] {
      long seen = 0;
      while (seen == 0) {
        __transaction_atomic { seen = flag; }
      }
      const long before = value;
      value = before + 10;
      if (value != before + 10) is_wrong = true;
    });
    writer.join();
    privatizer.join();
    reader.join();
    EXPECT_TRUE(value == 10 || value == 11) << value;
  }
  EXPECT_FALSE(is_wrong);
}

__attribute__((noinline)) void unsafe() { asm volatile("" : : : "memory"); }

TEST(Irrevocable, TransactionsAreAloneInTheMiddleOfOthers) {
  counter = 0;
  static int inside = 0;
  std::atomic<bool> is_wrong = false;
  in_threads(3, [&](int me) {
    for (int i = 0; i < 2000; ++i) {
      if (i % 10 == me) {
        __transaction_relaxed {
          counter = counter + 1;
          unsafe();
          if (++inside != 1) is_wrong = true;
          unsafe();
          --inside;
        }
      } else {
        __transaction_atomic { counter = counter + 1; }
      }
    }
  });
  EXPECT_FALSE(is_wrong);
  EXPECT_EQ(counter, 6000);
}

pthread_key_t exit_key;

TEST(Threads, RunTransactionsInTheirExitHandlers) {
  counter = 0;
  ASSERT_EQ(pthread_key_create(&exit_key,
                               [](void*) {
                                 __transaction_atomic { counter = counter + 100; }
                               }),
            0);
  in_threads(5, [](int) {
    pthread_setspecific(exit_key, &counter);
    __transaction_atomic { counter = counter + 1; }
  });
  EXPECT_EQ(counter, 505);
  pthread_key_delete(exit_key);
}

}  // namespace
