// Fifteen consumers wait for one producer, which is too slow for them.
// SPDX-License-Identifier: MIT
#include "planted.h"

enum { kItems = 100 };
static pthread_mutex_t latch = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int ready, made;

static void* consume(void* argument) {
  for (;;) {
    pthread_mutex_lock(&latch);
    while (ready == 0 && made < kItems) pthread_cond_wait(&more, &latch);
    const int is_over = ready == 0;
    if (!is_over) --ready;
    pthread_mutex_unlock(&latch);
    if (is_over) return argument;
    spend(50);
  }
}
static void* produce(void* argument) {
  for (int i = 0; i < kItems; ++i) {
    spend(600);
    pthread_mutex_lock(&latch);
    ++ready;
    ++made;
    pthread_cond_signal(&more);
    pthread_mutex_unlock(&latch);
  }
  pthread_mutex_lock(&latch);
  pthread_cond_broadcast(&more);
  pthread_mutex_unlock(&latch);
  return argument;
}
int main(void) {
  pthread_t producer[1], consumers[kMost];
  start(consumers, 15, consume);
  start(producer, 1, produce);
  join(consumers, 15);
  join(producer, 1);
}
