// no-qemu: the host's cores are not the chip's
// Threads run where they ask to: masks of one and of several cores, inherited masks, masks set from outside,
// and what is refused. Needs 4 cores. Prints only what holds in any execution; each thread looks where it
// runs many times.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { threads = 8, looks = 300 };
static int wrong;
static volatile int go;

static cpu_set_t only(unsigned cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core = 0; core < 32; ++core)
    if ((cores >> core & 1) != 0) CPU_SET(core, &set);
  return set;
}

static unsigned mask_of_self(void) {
  cpu_set_t set;
  unsigned cores = 0;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 0;
  for (int core = 0; core < 32; ++core)
    if (CPU_ISSET(core, &set)) cores |= 1U << core;
  return cores;
}

static void look(unsigned cores) {
  for (int i = 0; i < looks; ++i) {
    if ((cores >> sched_getcpu() & 1) == 0) __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
    for (volatile int spin = 0; spin < 20; ++spin) {
    }
    if (i % 50 == 0) sched_yield();
  }
  if (mask_of_self() != cores) __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
}

static void* looks_only(void* cores) {
  look((unsigned)(uintptr_t)cores);
  return NULL;
}

static void* pins_itself(void* cores) {
  cpu_set_t set = only((unsigned)(uintptr_t)cores);
  if (sched_setaffinity(0, sizeof set, &set) != 0) puts("sched_setaffinity failed");
  look((unsigned)(uintptr_t)cores);
  return NULL;
}

static void* waits(void* cores) {
  while (!go) sched_yield();
  return looks_only(cores);
}

int main(void) {
  printf("at first: %x\n", mask_of_self());
  pthread_t all[threads];
  static const unsigned masks[threads] = {8, 4, 2, 1, 2, 8, 6, 9};
  for (int i = 0; i < threads; ++i) pthread_create(&all[i], NULL, pins_itself, (void*)(uintptr_t)masks[i]);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
  printf("pinned: %d wrong\n", wrong);

  cpu_set_t set = only(4);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  for (int i = 0; i < 2; ++i) pthread_create(&all[i], NULL, looks_only, (void*)(uintptr_t)4);
  look(4);
  for (int i = 0; i < 2; ++i) pthread_join(all[i], NULL);
  printf("inherited: %d wrong\n", wrong);

  set = only(0xf);
  sched_setaffinity(0, sizeof set, &set);
  pthread_create(&all[0], NULL, waits, (void*)(uintptr_t)2);
  set = only(2);
  if (pthread_setaffinity_np(all[0], sizeof set, &set) != 0) puts("pthread_setaffinity_np failed");
  usleep(100);  // Linux moves it at once, the chip when its turn ends
  go = 1;
  pthread_join(all[0], NULL);
  printf("from outside: %d wrong\n", wrong);

  set = only(0);
  printf("none: %d %s\n", sched_setaffinity(0, sizeof set, &set), errno == EINVAL ? "EINVAL" : "?");
  set = only(1U << 31);
  printf("no such core: %d %s\n", sched_setaffinity(0, sizeof set, &set), errno == EINVAL ? "EINVAL" : "?");
  set = only(1U << 31 | 2);
  printf("one of two: %d, then %x\n", sched_setaffinity(0, sizeof set, &set), mask_of_self());
  return 0;
}
