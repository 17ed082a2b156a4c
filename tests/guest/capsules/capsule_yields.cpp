// Choice of the attempt that gives up its core to an earlier task (P41): of two speculative tasks the one
// that is in no capsule, though it is the earlier of both. The capsule is not doomed.
// SPDX-License-Identifier: MIT
#include <time.h>

#include <cstdint>
#include <cstdio>

#include "rubato/capsule.hpp"
#include "rubato/rubato.hpp"

namespace {

struct Seen {
  volatile std::uint64_t calls, doomed;
};
RUBATO_UNTRACKED rubato::untracked<Seen> seen;
volatile std::uint64_t word, other;

}  // namespace

RUBATO_CAPSULE(void, stay, ()) {
  seen->calls = seen->calls + 1;
  for (volatile unsigned i = 0; i < 4000; i = i + 1) {
  }
  seen->doomed = seen->doomed + (rubato::capsule::is_doomed() ? 1 : 0);
}

int main() {
  // Both others have begun when it has slept, and neither core is free.
  rubato::create<rubato::nonspec>(
      [] {
        const timespec time{0, 5000};
        nanosleep(&time, nullptr);
        word = 1;
      },
      {.at = 0});
  rubato::create<rubato::spec>(
      [] {
        while (word == 0) {
        }
        other = 1;
      },
      {.at = 1});
  rubato::create<rubato::spec>([] { stay(); }, {.at = 2});
  rubato::run();
  std::printf("calls %lu, doomed %lu\n", seen->calls, seen->doomed);
  return seen->doomed == 0 ? 0 : 1;
}
