// run() in a thread of its own, which the main thread joins a little later than run() could begin.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <thread>

#include "rubato/rubato.hpp"

int main() {
  std::thread thread([] {
    rubato::create<rubato::nonspec>([] { std::puts("ran"); }, {.at = 0});
    rubato::run();
  });
  for (int i = 0; i < 20000; ++i) asm volatile("");
  thread.join();
}
