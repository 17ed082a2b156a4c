// Each thread follows a chain of its own through memory that no cache holds: one miss at a time.
// SPDX-License-Identifier: MIT
#include "planted.h"

enum { kLines = 4001, kStep = 257, kRounds = 2 };
static struct Node {
  struct Node* next;
  long rest[7];
} nodes[kMost][kLines];

static void* chase(void* argument) {
  struct Node* const mine = nodes[(long)argument];
  for (long i = 0; i < kLines; ++i) mine[i * kStep % kLines].next = &mine[(i + 1) * kStep % kLines];
  struct Node* at = mine;
  for (long i = 0; i < kRounds * kLines; ++i) at = at->next;
  return at;
}
int main(int argc, char** argv) { run_threads(argc, argv, chase); }
