// More threads than cores that wait without ever yielding: only time slices that preempt let them through
// (C3). A token around a ring of spinning threads, a spin lock, a spin barrier.
// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { kThreads = 8, kLaps = 3, kTurns = 200, kPhases = 4 };

static atomic_int turn;
static int passed;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static long guarded;
static atomic_int arrived[kPhases];
static int slots[kPhases][kThreads];
static atomic_int broken;

static void* run(void* argument) {
  const int self = (int)(long)argument;
  for (int lap = 0; lap < kLaps; ++lap) {
    while (atomic_load(&turn) != lap * kThreads + self) {
    }
    ++passed;
    atomic_fetch_add(&turn, 1);
  }
  for (int i = 0; i < kTurns; ++i) {
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire)) {
    }
    guarded += self;
    atomic_flag_clear_explicit(&lock, memory_order_release);
  }
  for (int phase = 0; phase < kPhases; ++phase) {
    slots[phase][self] = phase + self;
    atomic_fetch_add(&arrived[phase], 1);
    while (atomic_load_explicit(&arrived[phase], memory_order_acquire) < kThreads) {
    }
    for (int t = 0; t < kThreads; ++t)
      if (slots[phase][t] != phase + t) atomic_store(&broken, 1);
  }
  return argument;
}

int main(void) {
  pthread_t threads[kThreads];
  for (long t = 1; t < kThreads; ++t) pthread_create(&threads[t], NULL, run, (void*)t);
  run((void*)0);
  for (int t = 1; t < kThreads; ++t) pthread_join(threads[t], NULL);
  printf("%d %ld %d\n", passed, guarded, atomic_load(&broken));
  return 0;
}
