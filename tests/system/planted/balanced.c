// As many threads as the argument says, all of the same work: nothing is wrong.
// SPDX-License-Identifier: MIT
#include "planted.h"

static void* crunch(void* argument) {
  spend(60000);
  return argument;
}
int main(int argc, char** argv) { run_threads(argc, argv, crunch); }
