// A task that waits for a thread it has started: cores run tasks only until run() ends.
// SPDX-License-Identifier: MIT
#include <thread>

#include "rubato/rubato.hpp"

int main() {
  rubato::create<rubato::nonspec>([] { std::thread([] {}).join(); }, {.at = 0});
  rubato::run();
}
