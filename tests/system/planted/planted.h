// Common part of the programs with a planted reason.
// SPDX-License-Identifier: MIT
#pragma once

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMost = 64 };

static inline void start(pthread_t* threads, long n, void* (*function)(void*)) {
  for (long i = 0; i < n; ++i) pthread_create(&threads[i], NULL, function, (void*)i);
}
static inline void join(pthread_t* threads, long n) {
  for (long i = 0; i < n; ++i) pthread_join(threads[i], NULL);
}
// About three cycles a step.
__attribute__((noinline)) static long spend(long steps) {
  volatile long sum = 0;
  for (long i = 0; i < steps; ++i) sum += i;
  return sum;
}
// As many threads as the first argument says, all of the same work.
static inline void run_threads(int argc, char** argv, void* (*function)(void*)) {
  const long n = argc > 1 ? atol(argv[1]) : 4;
  pthread_t threads[kMost];
  start(threads, n, function);
  join(threads, n);
}
