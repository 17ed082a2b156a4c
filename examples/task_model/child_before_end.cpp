// Wrong: "a child begins after its parent has ended."
// Right: that holds for children of spec tasks and for children that are spec. A nonspec or mayspec child
// of a nonspec parent may begin at once. Create it last, give it a later timestamp, or both one locale.
// Happens: the serial engine and one core or worker run the parent to its end (1); others may not (0).
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "rubato/rubato.hpp"

using rubato::create, rubato::nonspec, rubato::timestamp;

rubato::tracked<int> parent_has_ended;
rubato::tracked<int> child_saw;

void child() { child_saw = parent_has_ended.get(); }
void parent() {
  create<nonspec>(child, {.at = timestamp()});
  for (int i = 0; i < 20'000; ++i) asm volatile("" : : : "memory");  // work
  parent_has_ended = 1;
}

int main() {
  create<nonspec>(parent, {.at = 4});
  rubato::run();
  std::printf("expected: 1\nhappened: %d\n", child_saw.get());
}
