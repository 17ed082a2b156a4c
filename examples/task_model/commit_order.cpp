// Wrong: "on_commit() calls come in the order of timestamps."
// Right: each comes once, after its task can no longer be undone, and that is all: it is a task without
// timestamp and locale, so two of them come in any order, and at once. Collect results by timestamp in
// tracked data and print them after run(), or print in a nonspec task of that timestamp.
// Happens: a number from 0 (in order) to 9, of neighbours that came in the wrong order.
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "rubato/rubato.hpp"

using rubato::create, rubato::on_commit, rubato::mayspec;

rubato::tracked<unsigned> place[10];

void note(unsigned number) {  // the one access that is atomic by itself: callers may run at once
  static unsigned places = 0;
  place[number] = __atomic_fetch_add(&places, 1, __ATOMIC_RELAXED);
}
void work(unsigned number) { on_commit(note, number); }

int main() {
  for (unsigned i = 0; i < 10; ++i) create<mayspec>(work, {.at = i}, i);
  rubato::run();
  int wrong = 0;
  for (unsigned i = 1; i < 10; ++i) wrong += place[i] < place[i - 1] ? 1 : 0;
  std::printf("expected: 0\nhappened: %d\n", wrong);
}
