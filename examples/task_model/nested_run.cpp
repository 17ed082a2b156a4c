// Wrong: "a task that needs other tasks' results creates them and calls run(), as it would call join()."
// Right: in a task nothing waits. The continuation is another task: put the ones before it into a group, and
// create it with .after. run() in a task is an error on every engine. Happens: the error. With an argument
// the program does it right and prints 6.
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "rubato/rubato.hpp"

using rubato::create, rubato::nonspec;

rubato::TaskGroup parts;
rubato::tracked<int> sum;

void add(int number) { sum += number; }
void show() { std::printf("happened: %d\n", sum.get()); }
void wrong() {
  for (int i = 1; i <= 3; ++i) create<nonspec>(add, {.on = 0}, i);
  rubato::run();
  show();
}
void right() {
  for (int i = 1; i <= 3; ++i) create<nonspec>(add, {.on = 0, .group = &parts}, i);
}

int main(int argc, char**) {
  if (argc > 1) {
    // A member itself: the group is not complete before its children are.
    create<nonspec>(right, {.group = &parts});
    create<nonspec>(show, {.after = &parts});
  } else {
    create<nonspec>(wrong, {});
  }
  try {
    rubato::run();
  } catch (const rubato::TaskError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
