// Wrong: "a task behind a group waits for all that will ever belong to it."
// Right: it waits until the group is complete, which it is whenever no unfinished task belongs to it,
// also before the first member was created. Create all members before run(), or from one task that is a
// member itself.
// Happens: the task behind the group sees 0, 1 or 2 members' work, on every engine.
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "rubato/rubato.hpp"

using rubato::create, rubato::nonspec;

rubato::TaskGroup group;
rubato::tracked<int> finished[2];
rubato::tracked<int> seen;

void member(int number) { finished[number] = 1; }
void creator(int number) { create<nonspec>(member, {.group = &group}, number); }  // is no member
void behind() { seen = finished[0] + finished[1]; }

int main() {
  for (int i = 0; i < 2; ++i) create<nonspec>(creator, {}, i);
  create<nonspec>(behind, {.after = &group});
  rubato::run();
  std::printf("expected: 2\nhappened: %d\n", seen.get());
}
