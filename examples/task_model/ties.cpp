// Wrong: "tasks of one timestamp run in the order in which I created them."
// Right: timestamps order tasks of different timestamps only. The locale keeps these two apart, and
// nothing says which goes first: give them two timestamps if it matters.
// Happens: 5 or 8, on every engine.
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "rubato/rubato.hpp"

using rubato::create, rubato::nonspec;

rubato::tracked<int> amount = 1;

void double_it() { amount *= 2; }
void add_three() { amount += 3; }

int main() {
  create<nonspec>(double_it, {.at = 5, .on = 0});
  create<nonspec>(add_three, {.at = 5, .on = 0});
  rubato::run();
  std::printf("expected: 5\nhappened: %d\n", amount.get());
}
