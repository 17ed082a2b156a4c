// The listings of the publication on a transactional memcached that are program text and not a part of the
// server: Fig. 3, Fig. 5 and Fig. 7, on GCC's libitm and on ours. Fig. 1 is the server's two branches, Fig. 2
// its wake-up.
// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cctype>
#include <string>
#include <thread>
#include <vector>

#include "rubato/tm/library.h"
#include "rubato/tm/statistics.h"

namespace {

/// Runs `work(thread)` on `threads` threads, and `look()` beside them until they have ended.
template <class Work, class Look>
void run_beside(int threads, Work work, Look look) {
  std::atomic<int> running{threads};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      work(t);
      --running;
    });
  }
  do look();
  while (running != 0);
  for (std::thread& thread : all) thread.join();
}

/// Transactions that have committed; -1 on GCC's library, which does not count.
long committed() {
  using Ask = int (*)(rubato_itm_statistics_t*, std::size_t);
  const auto ask = reinterpret_cast<Ask>(::dlsym(RTLD_DEFAULT, "rubato_itm_statistics"));
  rubato_itm_statistics_t found;
  if (ask == nullptr || ask(&found, sizeof found) != 0) return -1;
  return static_cast<long>(found.committed);
}

// Fig. 3: a lock is released and acquired again at once. As transactions the two sections are two, or one
// that is larger, or parts of one that surrounds them.
struct Statistics {
  long items, first, second;
};
Statistics statistics;

void count_in_two(bool unlikely) {
  __transaction_atomic { ++statistics.first; }
  if (unlikely) {
    __transaction_atomic { ++statistics.second; }
  }
}
void count_in_one(bool unlikely) {
  __transaction_atomic {
    ++statistics.first;
    if (unlikely) ++statistics.second;
  }
}
void count_inside(bool unlikely) {
  __transaction_atomic {
    ++statistics.items;
    count_in_two(unlikely);
  }
}
Statistics seen() {
  Statistics now{};
  __transaction_atomic {
    now.items = statistics.items;
    now.first = statistics.first;
    now.second = statistics.second;
  }
  return now;
}

constexpr int kThreads = 3, kRounds = 4000, kUnlikely = 8;

template <class Count, class Check>
void count_on_threads(Count count, Check check) {
  statistics = {};
  run_beside(
      kThreads,
      [&](int) {
        for (int i = 0; i < kRounds; ++i) count(i % kUnlikely == 0);
      },
      [&] { check(seen()); });
  const Statistics last = seen();
  EXPECT_EQ(last.first, kThreads * kRounds);
  EXPECT_EQ(last.second, kThreads * kRounds / kUnlikely);
}

TEST(TmListings, Figure3CountsInTwoTransactionsInOneAndInsideAnother) {
  // A thread's second count comes after its first, whichever transactions they are in.
  const auto in_order = [](const Statistics& now) { EXPECT_LE(now.second, now.first); };
  count_on_threads(count_in_two, in_order);
  // In one transaction no other ever sees the first without the second.
  const auto at_once = [](const Statistics& now) {
    EXPECT_LE(now.second, now.first / kUnlikely + kThreads);
    EXPECT_GE(now.second, now.first / kUnlikely);
  };
  count_on_threads(count_in_one, at_once);
  count_on_threads(count_inside, [&](const Statistics& now) {
    at_once(now);
    EXPECT_EQ(now.items, now.first);
  });
}

TEST(TmListings, Figure3SectionsInsideATransactionAreNoTransactionsOfTheirOwn) {
  const auto taken = [](void (*count)(bool), bool unlikely) {
    const long before = committed();
    count(unlikely);
    return committed() - before;
  };
  if (committed() < 0) GTEST_SKIP() << "GCC's library does not count transactions";
  EXPECT_EQ(taken(count_in_two, false), 1);
  EXPECT_EQ(taken(count_in_two, true), 2);
  EXPECT_EQ(taken(count_in_one, true), 1);
  EXPECT_EQ(taken(count_inside, true), 1);
}

// Fig. 5: a conditional reads a volatile variable again. In its place is a transactional variable, which is
// read by transaction expressions, or by one transaction around the conditional.
int variable;

void set(int value) {
  __transaction_atomic { variable = value; }
}
template <class F>
int block_of_two_reads(F between) {
  if (__transaction_atomic(variable) == 1) return 1;
  between();
  if (__transaction_atomic(variable) == 2) return 2;
  return 3;
}
int block_of_one_transaction() {
  int block = 3;
  __transaction_atomic {
    if (variable == 1)
      block = 1;
    else if (variable == 2)
      block = 2;
  }
  return block;
}

TEST(TmListings, Figure5ReadsAgainWhatAnotherThreadMayHaveChanged) {
  const auto nothing = [] {};
  for (int value = 1; value <= 3; ++value) {
    set(value);
    EXPECT_EQ(block_of_two_reads(nothing), value);
    EXPECT_EQ(block_of_one_transaction(), value);
  }
  set(2);
  EXPECT_EQ(block_of_two_reads([] { std::thread(set, 1).join(); }), 3) << "as a volatile variable would";
}

TEST(TmListings, Figure5InOneTransactionTheVariableHasOneValue) {
  set(1);
  run_beside(
      2,
      [](int) {
        for (int i = 0; i < kRounds; ++i) set(1 + i % 2);
      },
      [] { EXPECT_NE(block_of_one_transaction(), 3); });
}

/// "A transaction expression must have the same ordering guarantees as a read of an atomic variable", of
/// std::memory_order_seq_cst: of two threads that each set a variable and then read the other's, one sees it.
TEST(TmListings, Figure5ExpressionsAreOrderedAsSequentiallyConsistentAtomics) {
  constexpr int kPairs = 20000;
  std::vector<int> set_by[2] = {std::vector<int>(kPairs), std::vector<int>(kPairs)};
  std::vector<int> seen_by[2] = {std::vector<int>(kPairs), std::vector<int>(kPairs)};
  std::atomic<int> at[2] = {0, 0};
  const auto run = [&](int me) {
    int *const mine = set_by[me].data(), *const theirs = set_by[1 - me].data();
    for (int i = 0; i < kPairs; ++i) {
      at[me].store(i, std::memory_order_relaxed);
      while (at[1 - me].load(std::memory_order_relaxed) < i) std::this_thread::yield();
      __transaction_atomic { mine[i] = 1; }
      seen_by[me][i] = __transaction_atomic(theirs[i]);
    }
    at[me] = kPairs;
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  for (int i = 0; i < kPairs; ++i) ASSERT_TRUE(seen_by[0][i] != 0 || seen_by[1][i] != 0) << "pair " << i;
}

// Fig. 7: a function of a library that is not safe gets its input from the stack, to which it was copied, and
// its output is copied back. The publication warns of algorithms that keep stores until commit: pure_foo()
// reads memory as it is. Here they store to the thread's own stack in place.
constexpr int kMost = 64;
char shared_in_string[kMost], shared_out_string[kMost];

int foo(const char* in, char* out) {
  int size = 0;
  for (; in[size] != '\0'; ++size)
    out[size] = static_cast<char>(std::toupper(static_cast<unsigned char>(in[size])));
  out[size] = '\0';
  return size;
}
[[gnu::transaction_pure, gnu::noinline]] int pure_foo(const char* in, char* out) { return foo(in, out); }

[[gnu::transaction_safe]] int marshal() {
  int size = static_cast<int>(tm_strlen(shared_in_string));
  char in[kMost];
  char out[kMost];
  for (int i = 0; i <= size; ++i) in[i] = shared_in_string[i];
  size = pure_foo(in, out);
  for (int i = 0; i <= size; ++i) shared_out_string[i] = out[i];
  return size;
}

/// A letter so many times that its number says which letter it is.
int length_of(char letter) { return 8 + std::tolower(static_cast<unsigned char>(letter)) - 'a'; }
void put(char letter) {
  const int length = length_of(letter);
  __transaction_atomic {
    for (int i = 0; i < length; ++i) shared_in_string[i] = letter;
    shared_in_string[length] = '\0';
  }
}
std::string output() {
  char copy[kMost];
  __transaction_atomic {
    for (int i = 0; i < kMost; ++i) copy[i] = shared_out_string[i];
  }
  return copy;
}

TEST(TmListings, Figure7CallsALibraryFunctionOnCopies) {
  put('c');
  int size = 0;
  __transaction_atomic { size = marshal(); }
  EXPECT_EQ(size, length_of('c'));
  EXPECT_EQ(output(), std::string(length_of('c'), 'C'));
  put('d');
  __transaction_atomic {
    marshal();
    __transaction_cancel;
  }
  EXPECT_EQ(output(), std::string(length_of('c'), 'C')) << "copied back, and undone";
}

TEST(TmListings, Figure7CallsItAgainInTheSameTransaction) {
  put('a');
  int first = 0, second = 0;
  __transaction_atomic {
    first = marshal();
    shared_in_string[first] = 'b';  // what this transaction itself has written is copied, too
    shared_in_string[first + 1] = '\0';
    second = marshal();
  }
  EXPECT_EQ(second, first + 1);
  EXPECT_EQ(output(), std::string(first, 'A') + 'B');
}

TEST(TmListings, Figure7SeesOneStateOfWhatOthersChange) {
  put('a');
  __transaction_atomic { marshal(); }
  run_beside(
      3,
      [](int thread) {
        for (int i = 0; i < kRounds / 4; ++i) {
          if (thread == 0) {
            put(static_cast<char>('a' + i % 26));
          } else {
            __transaction_atomic { marshal(); }
          }
        }
      },
      [] {
        const std::string found = output();
        ASSERT_FALSE(found.empty());
        EXPECT_EQ(found, std::string(length_of(found[0]), found[0]));
      });
}

}  // namespace
