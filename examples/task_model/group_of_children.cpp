// Wrong: "what a member of a group creates belongs to the group, too."
// Right: membership is not inherited. The group is complete when its members have ended, whatever these
// created: a child that others must wait for says .group itself, as long as its creator still belongs to
// the group.
// Happens: the task behind the group sees the child's work (1) or not (0), on every engine.
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "rubato/rubato.hpp"

using rubato::create, rubato::nonspec;

rubato::TaskGroup group;
rubato::tracked<int> child_has_run;
rubato::tracked<int> seen;

void child() { child_has_run = 1; }
void member() { create<nonspec>(child, {}); }  // should be {.group = &group}
void behind() { seen = child_has_run.get(); }

int main() {
  create<nonspec>(member, {.group = &group});
  create<nonspec>(behind, {.after = &group});
  rubato::run();
  std::printf("expected: 1\nhappened: %d\n", seen.get());
}
