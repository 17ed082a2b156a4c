// A server: run() stays open while another thread reads requests and creates a task for each. A request is a
// line "NAME AMOUNT" on standard input; the answer is "NAME BALANCE". Requests for one account run one at a
// time, and those for different accounts in parallel. A line that is no request is named on standard error;
// others go on, and the exit code is 2. Ends with standard input. Native engine only.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "rubato/rubato.hpp"

struct Account {
  explicit Account(std::string n) : name(std::move(n)) {}
  const std::string name;
  rubato::tracked<std::int64_t> balance = 0;
};

void deposit(rubato::resource<Account> account, std::int64_t amount) {
  account->balance += amount;
  std::printf("%s %lld\n", account->name.c_str(), static_cast<long long>(account->balance.get()));
}

int main() {
  std::map<std::string, rubato::resource<Account>> accounts;
  rubato::native::Hold hold = rubato::native::hold();
  bool has_failed = false;
  std::thread reader([&] {
    for (std::string line; std::getline(std::cin, line);) {
      if (line.empty()) continue;
      std::istringstream request(line);
      std::string name, rest;
      std::int64_t amount = 0;
      if (!(request >> name >> amount) || request >> rest) {
        std::fprintf(stderr, "server: '%s' is no request: NAME AMOUNT was expected\n", line.c_str());
        has_failed = true;
        continue;
      }
      const auto [entry, is_new] = accounts.try_emplace(name);
      if (is_new) entry->second = rubato::make_resource<Account>({}, name);
      rubato::create<rubato::nonspec>(deposit, {.on = entry->second}, entry->second, amount);
    }
    hold.close();
  });
  rubato::run();
  reader.join();
  for (const auto& [name, account] : accounts) rubato::remove(account);
  return has_failed ? 2 : 0;
}
