// A single mutex is taken at five places; no place has the largest part of the waits.
// SPDX-License-Identifier: MIT
#include "planted.h"

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static volatile long rows;

// A macro, so that each place is a line of its own function.
#define UPDATE(name)                          \
  static void* name(void* argument) {         \
    for (int i = 0; i < 80; ++i) {            \
      pthread_mutex_lock(&table);             \
      for (int k = 0; k < 60; ++k) rows += k; \
      pthread_mutex_unlock(&table);           \
    }                                         \
    return argument;                          \
  }
UPDATE(insert)
UPDATE(erase)
UPDATE(find)
UPDATE(grow)
UPDATE(scan)

int main(void) {
  void* (*const updates[])(void*) = {insert, erase, find, grow, scan};
  pthread_t threads[kMost];
  for (int i = 0; i < 16; ++i) pthread_create(&threads[i], NULL, updates[i % 5], NULL);
  join(threads, 16);
}
