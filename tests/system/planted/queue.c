// A bounded queue between eight producers and eight consumers: they contend for its mutex, at two places.
// SPDX-License-Identifier: MIT
#include "planted.h"

enum { kItems = 60, kRoom = 64 };
static pthread_mutex_t latch = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static volatile long ring[kRoom], count, head;

static void* produce(void* argument) {
  for (int i = 0; i < kItems; ++i) {
    pthread_mutex_lock(&latch);
    while (count == kRoom) pthread_cond_wait(&not_full, &latch);
    for (int k = 0; k < 60; ++k) ring[(head + count) % kRoom] += k;
    ++count;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&latch);
  }
  return argument;
}
static void* consume(void* argument) {
  for (int i = 0; i < kItems; ++i) {
    pthread_mutex_lock(&latch);
    while (count == 0) pthread_cond_wait(&not_empty, &latch);
    for (int k = 0; k < 60; ++k) ring[head] -= k;
    head = (head + 1) % kRoom;
    --count;
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&latch);
  }
  return argument;
}
int main(void) {
  pthread_t producers[kMost], consumers[kMost];
  start(producers, 8, produce);
  start(consumers, 8, consume);
  join(producers, 8);
  join(consumers, 8);
}
