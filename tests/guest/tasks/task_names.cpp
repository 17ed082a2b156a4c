// Tasks whose functions have parameters that are not integers, which belong to groups, wait for groups, or
// all of that: reports must name each by its function. deposit() and audit() conflict. Argument: the type of
// the tasks.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "rubato/rubato.hpp"

namespace bank {

using namespace rubato;

constexpr int kRounds = 40;

struct Account {
  tracked<std::uint64_t> balance = 0;
};

TaskGroup deposits, reports;
alignas(64) std::uint64_t total = 0;
alignas(64) std::uint64_t calls = 0;

void linger() {
  for (int i = 0; i < 200; ++i) asm volatile("");
}
void deposit(resource<Account> account) {
  const std::uint64_t balance = account->balance;
  linger();
  account->balance = balance + 1;
}
void audit(resource<Account> account) {
  total += account->balance;
  linger();
}
void weigh(double weight, float tare) { calls += weight - tare == 1.5 ? 1 : 1000; }
void five(double a, float b, int c, long d, double e) { calls += a + b + c + d + e == 15.0 ? 1 : 1000; }
void plain(int n) { calls += static_cast<std::uint64_t>(n); }
void close_books(int n) { calls += static_cast<std::uint64_t>(n); }

template <TaskType type>
bool run_all() {
  const auto account = make_resource<Account>({}, Account{});
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    create<type>(deposit, {.at = 2 * i}, account);
    create<type>(audit, {.at = 2 * i + 1}, account);
  }
  create<type>(weigh, {.at = 100}, 2.0, 0.5f);
  create<type>(weigh, {.at = 101, .group = &reports}, 2.0, 0.5f);
  create<type>(five, {.at = 102}, 1.0, 2.0f, 3, 4L, 5.0);
  create<type>(five, {.at = 103, .group = &reports}, 1.0, 2.0f, 3, 4L, 5.0);
  create<type>(plain, {.at = 104, .group = &reports}, 1);
  create<type>(close_books, {.after = &reports}, 1);
  // Waits at its own timestamp, while members run long.
  for (int i = 0; i < 6; ++i) create<type>([](double) { linger(), linger(); }, {.group = &deposits}, 1.0);
  create<type>(close_books, {.at = 0, .after = &deposits}, 1);
  run();
  return calls == 7 && total == kRounds * (kRounds + 1) / 2;
}

}  // namespace bank

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string_view type = argv[1];
  const bool passed = type == "spec"      ? bank::run_all<rubato::spec>()
                      : type == "mayspec" ? bank::run_all<rubato::mayspec>()
                                          : bank::run_all<rubato::nonspec>();
  std::printf("check: %s\n", passed ? "passed" : "failed");
  return passed ? 0 : 1;
}
