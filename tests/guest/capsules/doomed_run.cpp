// Abort of a task in a capsule (P36 to P38): the task runs again at once, on its locale too, while the
// capsule goes on. The capsule keeps its core, creates nothing, and holds the end of run(). That end comes
// after the handlers that the capsule registers even at its very end.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>

#include "rubato/capsule.hpp"
#include "rubato/rubato.hpp"

namespace {

struct Seen {
  volatile std::uint64_t calls, is_inside, is_again, created, handled;
};
RUBATO_UNTRACKED rubato::untracked<Seen> seen;
volatile std::uint64_t word;

void create_nothing() { seen->created = seen->created + 1; }

}  // namespace

RUBATO_CAPSULE(void, linger, ()) {
  seen->calls = seen->calls + 1;
  if (seen->calls != 1) {
    seen->is_again = 1;
    return;
  }
  seen->is_inside = 1;
  while (seen->is_again == 0) {
  }
  for (volatile unsigned i = 0; i < 5000; i = i + 1) {  // until its task has long committed
  }
  rubato::create<rubato::nonspec>(create_nothing, {});
  rubato::capsule::on_abort([] { seen->handled = seen->handled + 1; });
}

namespace {

void change_word() {
  while (seen->is_inside == 0) {
  }
  word = 1;
}
void look() {
  if (word != 2) linger();
}

}  // namespace

int main() {
  rubato::create<rubato::nonspec>(change_word, {.at = 0});
  rubato::create<rubato::spec>(look, {.at = 1, .on = 7});
  rubato::run();
  const bool is_right = seen->calls == 2 && seen->created == 0 && seen->handled == 1;
  std::printf("calls %lu, created %lu, handled %lu\n", seen->calls, seen->created, seen->handled);
  return is_right ? 0 : 1;
}
