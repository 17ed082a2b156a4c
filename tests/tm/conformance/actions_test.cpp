// Actions at commit and undo, allocation, queries, dropReferences (T12, T24, T25, T28).
// SPDX-License-Identifier: MIT
#include <cstdlib>
#include <string>
#include <thread>

#include "library.hpp"

namespace {

int x;
std::string trace;

void note(void* letter) { trace += static_cast<char>(reinterpret_cast<std::uintptr_t>(letter)); }
void* letter(char c) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(c)); }
constexpr std::uint64_t kNone = 1;

TEST(CommitActions, RunInOrderAfterTheOutermostCommit) {
  trace.clear();
  void* const a = letter('a');
  void* const b = letter('b');
  __transaction_atomic {
    x = 1;
    _ITM_addUserCommitAction(note, kNone, a);
    __transaction_atomic { _ITM_addUserCommitAction(note, kNone, b); }
    x = 2;
  }
  EXPECT_EQ(trace, "ab");
}

TEST(CommitActions, OfACancelledTransactionDoNotRun) {
  trace.clear();
  void* const a = letter('a');
  void* const b = letter('b');
  __transaction_atomic {
    x = 1;
    _ITM_addUserCommitAction(note, kNone, a);
    __transaction_atomic {
      x = 2;
      _ITM_addUserCommitAction(note, kNone, b);
      if (is_true) __transaction_cancel;
    }
  }
  EXPECT_EQ(trace, "a");
}

TEST(UndoActions, RunInReverseOrderAfterMemoryIsRestored) {
  trace.clear();
  x = 5;
  void* const a = letter('a');
  void* const b = letter('b');
  __transaction_atomic {
    x = 6;
    _ITM_addUserUndoAction(note, a);
    _ITM_addUserUndoAction([](void* c) { trace += x == 5 ? "restored " : "dirty ", note(c); }, b);
    if (is_true) __transaction_cancel;
  }
  EXPECT_EQ(trace.substr(trace.find('b')), "ba");
  if (!is_gcc_library()) {
    EXPECT_EQ(trace, "restored ba");
  }
}

TEST(CommitActions, MayRunTransactions) {
  SKIP_ON_GCC("a commit action that runs a transaction corrupts the list of actions");
  x = 0;
  __transaction_atomic {
    x = 1;
    _ITM_addUserCommitAction(
        [](void*) {
          __transaction_atomic {
            x = x + 1;
            _ITM_addUserCommitAction([](void*) { x = x + 10; }, kNone, nullptr);
          }
        },
        kNone, nullptr);
  }
  EXPECT_EQ(x, 12);
}

TEST(CommitActions, OutsideATransactionRunAtOnce) {
  SKIP_ON_GCC("it keeps the action for the next transaction, or crashes in a thread that has had none");
  trace.clear();
  _ITM_addUserCommitAction(note, kNone, letter('a'));
  EXPECT_EQ(trace, "a");
}

TEST(Queries, AreRightInThreadsThatNeverRanATransaction) {
  int in = -1;
  std::uint64_t id = 0;
  std::thread([&] {
    in = _ITM_inTransaction();
    id = _ITM_getTransactionId();
  }).join();
  EXPECT_EQ(in, 0);
  EXPECT_EQ(id, kNone);
  EXPECT_EQ(_ITM_versionCompatible(90), 1);
  EXPECT_EQ(_ITM_versionCompatible(91), 0);
}

TEST(Queries, TellInsideFromOutside) {
  int in = 0, unsafe = 0;
  std::uint64_t first = 0, second = 0;
  __transaction_atomic {
    x = 1;
    in = _ITM_inTransaction();
    first = _ITM_getTransactionId();
    if (is_true) x = 2;
  }
  __transaction_relaxed {
    asm volatile("");
    unsafe = _ITM_inTransaction();
    second = _ITM_getTransactionId();
  }
  EXPECT_GE(in, 1);
  EXPECT_EQ(unsafe, 2);
  EXPECT_NE(first, second);
  EXPECT_GT(first, kNone);
  EXPECT_EQ(_ITM_inTransaction(), 0);
}

TEST(Queries, NestedTransactionsHaveIdsOfTheirOwn) {
  std::uint64_t outer = 0, inner = 0, again = 0;
  __transaction_atomic {
    outer = _ITM_getTransactionId();
    __transaction_atomic {
      inner = _ITM_getTransactionId();
      x = 1;
      if (!is_true) __transaction_cancel;
    }
    again = _ITM_getTransactionId();
  }
  EXPECT_NE(outer, inner);
  EXPECT_EQ(outer, again);
}

TEST(Allocation, IsFreedOnCancel) {
  // Not to be seen from outside but by its use of memory: 1 GB in all.
  for (int i = 0; i < 1000; ++i) {
    __transaction_atomic {
      char* const memory = static_cast<char*>(std::malloc(1 << 20));
      memory[0] = 1;
      memory[(1 << 20) - 1] = 1;
      if (is_true) __transaction_cancel;
    }
  }
}

TEST(Allocation, FreeHappensAtCommitOnly) {
  int* const memory = static_cast<int*>(std::malloc(sizeof(int)));
  *memory = 7;
  __transaction_atomic {
    std::free(memory);
    if (is_true) __transaction_cancel;
  }
  EXPECT_EQ(*memory, 7);
  __transaction_atomic { std::free(memory); }
}

struct Node {
  int value;
  Node* next;
};

TEST(Allocation, NewAndDeleteWorkInTransactions) {
  Node* list = nullptr;
  for (int i = 0; i < 100; ++i) {
    __transaction_atomic { list = new Node{i, list}; }
  }
  int sum = 0;
  while (list != nullptr) {
    __transaction_atomic {
      Node* const first = list;
      sum = sum + first->value;
      list = first->next;
      delete first;
    }
  }
  EXPECT_EQ(sum, 4950);
  int* array = nullptr;
  __transaction_atomic {
    array = new int[100];
    array[99] = 1;
  }
  EXPECT_EQ(array[99], 1);
  __transaction_atomic { delete[] array; }
}

TEST(DropReferences, KeepsWhatWasWrittenBeforeACancel) {
  SKIP_ON_GCC("_ITM_dropReferences ends the program");
  x = 1;
  static int y = 1;
  __transaction_atomic {
    x = 2;
    y = 2;
    _ITM_dropReferences(&x, sizeof x);
    if (is_true) __transaction_cancel;
  }
  EXPECT_EQ(x, 2);
  EXPECT_EQ(y, 1);
}

}  // namespace
