// Prints its arguments; the smallest guest program.
// SPDX-License-Identifier: MIT
#include <stdio.h>

int main(int argc, char** argv) {
  printf("hello from %d\n", argc);
  for (int i = 1; i < argc; ++i) printf("argument %d: %s\n", i, argv[i]);
  return 7;
}
