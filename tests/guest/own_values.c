// Reads a number. For some rounds two threads write values that only that number makes, and look whether they
// are still there. The addresses are the same in every copy of this program. An argument says how the run
// ends: "exit", at once, with status 7; by a "fault"; or with a check that must "fail".
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWords = 1 << 13, kRounds = 6 };
static unsigned long words[2][kWords];  // 128 KiB
static atomic_ulong sum;
static unsigned long number, wrong;

static unsigned long value(int thread, int round, int i) {
  return number * 0x9e3779b97f4a7c15ul + thread * 1000003ul + round * 10007ul + i;
}

static void* work(void* which) {
  const int thread = which != NULL;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kWords; ++i) words[thread][i] = value(thread, round, i);
    for (int i = 0; i < kWords; ++i) {
      if (words[thread][i] != value(thread, round, i)) __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
      if (i % 64 == 0) atomic_fetch_add(&sum, number);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (scanf("%lu", &number) != 1) number = 0;
  if (argc > 1 && strcmp(argv[1], "exit") == 0) exit(7);
  pthread_t other;
  pthread_create(&other, NULL, work, &number);
  work(NULL);
  if (argc > 1 && strcmp(argv[1], "fault") == 0) *(volatile int*)16 = 1;
  pthread_join(other, NULL);
  printf("number %lu: sum %lu, %lu wrong\n", number, atomic_load(&sum), wrong);
  printf("check: %s\n", wrong == 0 && (argc < 2 || strcmp(argv[1], "fail") != 0) ? "passed" : "failed");
  return 0;
}
