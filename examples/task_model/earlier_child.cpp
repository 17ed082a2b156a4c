// Wrong: "a task may create work for the past; the system will undo what came too soon."
// Right: a child's timestamp is at least its creator's. An earlier one is an error on every engine, the
// same sentence that names both tasks: a TaskError from run() on the host, exit code 3 on the chip.
// Happens: the error.
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "rubato/rubato.hpp"

using rubato::create, rubato::spec, rubato::timestamp;

void child() {}
void parent() { create<spec>(child, {.at = timestamp() - 1}); }

int main() {
  create<spec>(parent, {.at = 8});
  try {
    rubato::run();
  } catch (const rubato::TaskError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
  std::printf("expected: a child at 7\nhappened: nothing\n");
}
