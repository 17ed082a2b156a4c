// A task ends the worker thread that it runs on.
// SPDX-License-Identifier: MIT
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "rubato/rubato.hpp"

namespace {
void leave() {
  syscall(SYS_exit, 0);
  std::puts("still there");
}
}  // namespace

int main() {
  rubato::create<rubato::spec>(leave, {.at = 1});
  rubato::run();
  std::puts("not noticed");
}
