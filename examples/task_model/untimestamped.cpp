// Wrong: "a task without a timestamp runs first, since it waits for nothing", or "after what is earlier".
// Right: it has no place in the order. It may run before, between and after tasks with timestamps, and
// those do not wait for it: not even a task's own children without a timestamp are done before the next
// timestamp begins.
// Happens: 0 to 3 tasks with timestamps had run, on every engine.
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "rubato/rubato.hpp"

using rubato::create, rubato::nonspec;

rubato::tracked<int> done;
rubato::tracked<int> seen;

void look() { seen = done.get(); }
void first() {
  create<nonspec>(look, {});
  done = 1;
}
void next(int number) { done = number; }

int main() {
  create<nonspec>(first, {.at = 1});
  create<nonspec>(next, {.at = 2}, 2);
  create<nonspec>(next, {.at = 3}, 3);
  rubato::run();
  std::printf("expected: 1\nhappened: %d\n", seen.get());
}
