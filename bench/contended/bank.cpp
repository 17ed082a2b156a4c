// bank ACCOUNTS TRANSFERS: a task moves an amount from one account to another, or counts a refusal if there
// is not enough. A timestamp a transfer, no locales; accounts share lines, and every refusal writes one
// counter. For bench/speculation; on each engine.
// SPDX-License-Identifier: MIT
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "rubato/rubato.hpp"

namespace {

constexpr std::uint64_t kAtFirst = 100, kMost = 64;

template <class Number>
struct Bank {
  std::vector<Number> accounts;
  alignas(64) Number refused = 0;

  explicit Bank(std::uint64_t count) : accounts(count) {
    for (Number& account : accounts) account = kAtFirst;
  }

  void transfer(std::uint64_t number) {
    const std::uint64_t drawn = (number + 1) * 0x9e3779b97f4a7c15;
    Number& from = accounts[(drawn >> 44) % accounts.size()];
    Number& to = accounts[(drawn >> 24 & 0xfffff) % accounts.size()];
    const std::uint64_t amount = (drawn >> 8) % kMost;
    if (from < amount) {
      refused = refused + 1;
    } else {
      from = from - amount;
      to = to + amount;
    }
  }
};

Bank<rubato::tracked<std::uint64_t>>* bank = nullptr;

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t accounts = argc == 3 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const std::uint64_t transfers = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (accounts == 0 || transfers == 0)
    return std::fputs("usage: bank ACCOUNTS TRANSFERS, at least 1\n", stderr), 2;
  Bank<rubato::tracked<std::uint64_t>> by_tasks(accounts);
  bank = &by_tasks;
  for (std::uint64_t number = 0; number < transfers; ++number)
    rubato::create<rubato::mayspec>([](std::uint64_t n) { bank->transfer(n); }, {.at = number}, number);
  rubato::run();

  Bank<std::uint64_t> expected(accounts);
  for (std::uint64_t number = 0; number < transfers; ++number) expected.transfer(number);
  bool passed = by_tasks.refused == expected.refused;
  for (std::uint64_t a = 0; a < accounts; ++a)
    passed = passed && by_tasks.accounts[a] == expected.accounts[a];
  std::printf("refused: %" PRIu64 " of %" PRIu64 "\ncheck: %s\n", std::uint64_t{by_tasks.refused}, transfers,
              passed ? "passed" : "failed");
  return passed ? 0 : 1;
}
