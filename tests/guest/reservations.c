// Events that must end the reservation of lr (the manual's chapter on lr and sc): another address, another
// sc, a store of another hart, a system call of another hart that writes there or maps the page anew. With
// the argument `control` another thread only looks on: prints whether the sc succeeds then.
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct line {
  _Alignas(64) uint64_t word[8];
};
static struct line started, done, here;
static uint64_t* shared;
static int pipe_ends[2];
static int what;

enum { look, store, read_call, discard };

static void* other(void* unused) {
  (void)unused;
  while (__atomic_load_n(&started.word[0], __ATOMIC_ACQUIRE) == 0) {
  }
  if (what == store) __atomic_store_n(shared, 77, __ATOMIC_RELAXED);
  if (what == read_call && read(pipe_ends[0], shared, 8) != 8) puts("read failed");
  if (what == discard && madvise(shared, 4096, MADV_DONTNEED) != 0) puts("madvise failed");
  __atomic_store_n(&done.word[0], 1, __ATOMIC_RELEASE);
  return NULL;
}

// 0: the sc succeeded.
static uint64_t try_with(int action) {
  what = action;
  started.word[0] = done.word[0] = 0;
  *shared = 5;
  const uint64_t sent = 99;
  if (action == read_call && write(pipe_ends[1], &sent, 8) != 8) puts("write failed");
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  usleep(1000);  // the other one spins
  uint64_t seen = 0, failed = 0;
  __asm__ volatile(
      "lr.d %0, (%2)\n"
      "fence\n"
      "sd %3, 0(%4)\n"
      "1: ld %0, 0(%5)\n"
      "beqz %0, 1b\n"
      "fence\n"
      "sc.d %1, %3, (%2)"
      : "=&r"(seen), "=&r"(failed)
      : "r"(shared), "r"(1234L), "r"(&started.word[0]), "r"(&done.word[0])
      : "memory");
  pthread_join(thread, NULL);
  return failed;
}

static uint64_t elsewhere(unsigned reserved, unsigned stored) {
  uint64_t seen, failed;
  __asm__ volatile(
      "lr.d %0, (%2)\n"
      "sc.d %1, %4, (%3)"
      : "=&r"(seen), "=&r"(failed)
      : "r"(&here.word[reserved]), "r"(&here.word[stored]), "r"(1L)
      : "memory");
  return failed;
}

static uint64_t twice(void) {
  uint64_t seen, first, failed;
  __asm__ volatile(
      "lr.d %0, (%3)\n"
      "sc.d %1, %5, (%4)\n"
      "sc.d %2, %5, (%3)"
      : "=&r"(seen), "=&r"(first), "=&r"(failed)
      : "r"(&here.word[0]), "r"(&here.word[1]), "r"(1L)
      : "memory");
  return failed;
}

int main(int argc, char** argv) {
  shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED || pipe(pipe_ends) != 0) return 2;
  if (argc > 1 && strcmp(argv[1], "control") == 0) {
    printf("alone: sc %s\n", try_with(look) == 0 ? "succeeds" : "fails");
    return 0;
  }
  printf("the next word: %d, value %d\n", (int)elsewhere(0, 1), (int)here.word[1]);
  printf("the last word: %d, value %d\n", (int)elsewhere(0, 7), (int)here.word[7]);
  printf("after another sc: %d, value %d\n", (int)twice(), (int)here.word[0]);
  printf("after another's store: %d, value %d\n", (int)try_with(store), (int)*shared);
  printf("after another's system call: %d, value %d\n", (int)try_with(read_call), (int)*shared);
  printf("after another's mapping: %d, value %d\n", (int)try_with(discard), (int)*shared);
  return 0;
}
