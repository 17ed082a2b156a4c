// A timestamped task looks again and again at a group whose member waits in a system call: for a while, or
// for ever. Argument: `while` or `ever`.
// SPDX-License-Identifier: MIT
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "rubato/rubato.hpp"

namespace {

using namespace rubato;

TaskGroup group;
bool is_complete = false;

void sleep_for_a_while() {
  const timespec duration{0, 200'000};
  nanosleep(&duration, nullptr);
}
void sleep_for_ever() {
  int ends[2];
  char byte;
  if (pipe(ends) == 0 && read(ends[0], &byte, 1) == 1) std::printf("a byte\n");
}
void after() { is_complete = true; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  create<nonspec>(argv[1] == std::string_view("ever") ? sleep_for_ever : sleep_for_a_while,
                  {.group = &group});
  for (int i = 0; i < 3; ++i) create<nonspec>(after, {.at = 1, .after = &group});
  run();
  std::printf("check: %s\n", is_complete ? "passed" : "failed");
  return is_complete ? 0 : 1;
}
