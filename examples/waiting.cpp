// A maintenance thread that sleeps until transactions of other threads give it work, in three forms: a
// semaphore that is posted after commit, a condition variable, and a block that is undone and run again until
// its condition holds. Compiled by GCC with -fgnu-tm and linked with librubato_tm (docs/transactions.md).
// Prints what each form has handled.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <thread>
#include <vector>

#include "rubato/tm/condition.hpp"
#include "rubato/tm/retry.h"
#include "rubato/tm/semaphore.hpp"

namespace {

constexpr long kWorkers = 3, kEach = 1'000;
long pending = 0, handled = 0;

void handle_one() {
  --pending;
  ++handled;
}

struct BySemaphore {
  rubato::tm::semaphore work;
  void give() {
    __transaction_atomic {
      ++pending;
      work.post();
    }
  }
  void maintain() {
    work.wait();
    __transaction_atomic { handle_one(); }
  }
};

struct ByCondition {
  rubato::tm::condition work;
  void give() {
    __transaction_atomic {
      ++pending;
      work.notify_one();
    }
  }
  void maintain() {
    for (bool is_done = false; !is_done;) {
      __transaction_atomic {
        is_done = pending > 0;
        if (is_done) {
          handle_one();
        } else {
          work.wait();
        }
      }
    }
  }
};

struct ByRetry {
  void give() {
    __transaction_atomic { ++pending; }
  }
  void maintain() {
    RUBATO_TM_ATOMIC {
      RUBATO_TM_WAIT_UNLESS(pending > 0);
      handle_one();
    }
  }
};

template <class Form>
void run(const char* name) {
  Form form;
  handled = 0;
  {
    std::vector<std::jthread> threads;
    threads.emplace_back([&form] {
      for (long i = 0; i < kWorkers * kEach; ++i) form.maintain();
    });
    for (long w = 0; w < kWorkers; ++w) {
      threads.emplace_back([&form] {
        for (long i = 0; i < kEach; ++i) form.give();
      });
    }
  }
  std::printf("%s: %ld handled, %ld left\n", name, handled, pending);
}

}  // namespace

int main() {
  run<BySemaphore>("semaphore");
  run<ByCondition>("condition");
  run<ByRetry>("retry");
}
