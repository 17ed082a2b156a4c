// Threads that each lr/sc a word of their own, the words 1 MiB apart: in caches of few ways all lie in one
// set, and each lr evicts what another one has reserved. No sc fails for that (docs/isa.md), so every loop
// ends.
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { threads = 8, rounds = 200, apart = 1 << 20 };
static char* base;

static void* add(void* argument) {
  uint64_t* word = (uint64_t*)(base + (uintptr_t)argument * apart);
  for (int i = 0; i < rounds; ++i) {
    uint64_t value, failed;
    __asm__ volatile(
        "1: lr.d %0, (%2)\n"
        "addi %0, %0, 1\n"
        "sc.d %1, %0, (%2)\n"
        "bnez %1, 1b"
        : "=&r"(value), "=&r"(failed)
        : "r"(word)
        : "memory");
  }
  return NULL;
}

int main(void) {
  base = mmap(NULL, (size_t)threads * apart, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return 2;
  pthread_t others[threads];
  for (uintptr_t i = 0; i < threads; ++i) pthread_create(&others[i], NULL, add, (void*)i);
  for (int i = 0; i < threads; ++i) pthread_join(others[i], NULL);
  uint64_t sum = 0;
  for (int i = 0; i < threads; ++i) sum += *(uint64_t*)(base + (size_t)i * apart);
  printf("%d\n", (int)sum);
  return 0;
}
