// Wrong: "tracked<T> makes ++ atomic", or "tasks of one timestamp do not run at once".
// Right: tasks of one timestamp run at once unless they have one locale, and ++ is a read and a write.
// Nonspec and mayspec tasks that touch the same data need one locale or different timestamps; spec tasks
// are atomic anyway.
// Happens: 400 with one task at a time (serial engine, one core or worker), else 400 or less.
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "rubato/rubato.hpp"

using rubato::create, rubato::mayspec, rubato::nonspec;

rubato::tracked<int> counter;

void count() { ++counter; }

int main(int argc, char**) {
  for (int i = 0; i < 400; ++i) {
    if (argc > 1) {
      create<mayspec>(count, {.at = 7, .on = i});  // as wrong, but right where all happen to speculate
    } else {
      create<nonspec>(count, {.at = 7, .on = i});  // should be .on = 0
    }
  }
  rubato::run();
  std::printf("expected: 400\nhappened: %d\n", counter.get());
}
