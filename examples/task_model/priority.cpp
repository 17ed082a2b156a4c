// Wrong: "a task of high priority runs before one of low priority." Right: priority, access, prefetch, core,
// numa and fair are hints, which an engine may ignore: the serial engine does, to find programs that rely on
// them. A task that must come first needs a timestamp or a group. Happens: 1 (high went first) or 0.
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "rubato/rubato.hpp"

using rubato::create, rubato::nonspec, rubato::Priority;

rubato::tracked<int> high_has_run;
rubato::tracked<int> high_was_first;

void high() { high_has_run = 1; }
void low() { high_was_first = high_has_run.get(); }

int main() {
  create<nonspec>(low, {.at = 2, .on = 0, .priority = Priority::low});
  create<nonspec>(high, {.at = 2, .on = 0, .priority = Priority::high});
  rubato::run();
  std::printf("expected: 1\nhappened: %d\n", high_was_first.get());
}
