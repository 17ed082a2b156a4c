// A server of actors: an account is an actor, which threads outside ask. run() stays open while a hold is. A
// request is a line "NAME AMOUNT" on standard input; the answer is "NAME BALANCE", in the order of the
// requests. A line that is no request is named on standard error; others go on, and the exit code is 2.
// Native engine only.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>

#include "rubato/actors.hpp"

using namespace rubato;

struct Deposit {
  using reply = std::int64_t;  // the balance: on() returns it, ask() brings it
  std::int64_t amount;
};

struct Account : behavior<Deposit> {
  std::int64_t on(Deposit deposit) { return balance_ += deposit.amount; }
  std::int64_t balance_ = 0;  // no lock: an actor's messages come one after the other
};

/// @returns whether all were requests.
bool serve(std::istream& in) {
  bool is_right = true;
  std::map<std::string, actor<Deposit>> accounts;
  for (std::string line; std::getline(in, line);) {
    std::istringstream request(line);
    std::string name, rest;
    std::int64_t amount = 0;
    if (!(request >> name >> amount) || request >> rest) {
      std::fprintf(stderr, "actor_server: '%s' is no request: NAME AMOUNT was expected\n", line.c_str());
      is_right = false;
      continue;
    }
    const auto [entry, is_new] = accounts.try_emplace(name);
    if (is_new) entry->second = spawn<Account>({.name = name});
    const std::int64_t balance =
        entry->second.ask(Deposit{amount}).get();  // this thread waits, no worker does
    std::printf("%s %lld\n", name.c_str(), static_cast<long long>(balance));
  }
  for (const auto& [name, account] : accounts) account.stop();
  return is_right;
}

int main() {
  native::Hold hold = native::hold();
  bool is_right = true;
  std::thread reader([&] {
    is_right = serve(std::cin);
    hold.close();
  });
  run();
  reader.join();
  return is_right ? 0 : 2;
}
