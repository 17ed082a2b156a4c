// Transactions: threads move money between accounts, and others add up what there is. Nothing says which
// account is whose: a block is atomic, and two blocks that meet wait for each other or one of them runs
// again. Compiled by GCC with -fgnu-tm (docs/transactions.md). Prints the sum, which never changes, and which
// library ran it.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <thread>
#include <vector>

extern "C" const char* _ITM_libraryVersion();

namespace {

constexpr long kAccounts = 100, kEach = 1'000, kTransfers = 20'000;
long accounts[kAccounts];

void move(long from, long to, long amount) {
  __transaction_atomic {
    if (accounts[from] >= amount) {
      accounts[from] -= amount;
      accounts[to] += amount;
    }
  }
}

long audit() {
  long sum = 0;
  __transaction_atomic {
    sum = 0;
    for (const long account : accounts) sum += account;
  }
  return sum;
}

}  // namespace

int main() {
  for (long& account : accounts) account = kEach;
  std::vector<std::jthread> threads;
  for (long t = 0; t < 3; ++t) {
    threads.emplace_back([t] {
      for (long i = 0; i < kTransfers; ++i) move((i * 7 + t) % kAccounts, (i * 13 + 5) % kAccounts, i % 50);
    });
  }
  long wrong = 0;
  for (int i = 0; i < 1'000; ++i) wrong += audit() != kAccounts * kEach;
  threads.clear();  // waits for them
  std::printf("%ld in all, %ld wrong audits, on %s\n", audit(), wrong, _ITM_libraryVersion());
  return wrong != 0;
}
