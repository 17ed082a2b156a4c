// Waits of POSIX threads: timed ones take at least their time, no waiter is forgotten, and none passes too
// early.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { kThreads = 6, kItems = 120, kSize = 4 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static int ring[kSize], head, count;
static long consumed;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static int written, torn;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int made;
static pthread_barrier_t barrier;
static int serials;
static pthread_spinlock_t spin;
static int spun;

static long long now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static struct timespec in(clockid_t clock, long long ns) {
  const long long at = now(clock) + ns;
  return (struct timespec){at / 1000000000, at % 1000000000};
}
static void lasted(const char* what, long long since, long long least, int result) {
  printf("%s %d %d\n", what, now(CLOCK_MONOTONIC) - since >= least, result);
}
static void* produce(void* argument) {
  for (int i = 0; i < kItems; ++i) {
    pthread_mutex_lock(&mutex);
    while (count == kSize) pthread_cond_wait(&not_full, &mutex);
    ring[(head + count++) % kSize] = i;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&mutex);
  }
  return argument;
}
static void* consume(void* argument) {
  for (int i = 0; i < kItems; ++i) {
    pthread_mutex_lock(&mutex);
    while (count == 0) pthread_cond_wait(&not_empty, &mutex);
    consumed += ring[head];
    head = (head + 1) % kSize;
    --count;
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&mutex);
  }
  return argument;
}
static void make(void) { ++made; }
static void* mixed(void* argument) {
  pthread_once(&once, make);
  for (int i = 0; i < 30; ++i) {
    if (i % 5 == 0) {
      pthread_rwlock_wrlock(&shared);
      ++written;
      sched_yield();
      ++written;
      pthread_rwlock_unlock(&shared);
    } else {
      pthread_rwlock_rdlock(&shared);
      if (written % 2 != 0) torn = 1;
      pthread_rwlock_unlock(&shared);
    }
    pthread_spin_lock(&spin);
    ++spun;
    pthread_spin_unlock(&spin);
  }
  for (int i = 0; i < 10; ++i)
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
      pthread_spin_lock(&spin);
      ++serials;
      pthread_spin_unlock(&spin);
    }
  return argument;
}
static void* sleeper(void* argument) {
  const long long since = now(CLOCK_MONOTONIC);
  usleep(1000 * (unsigned)(long)argument);
  return now(CLOCK_MONOTONIC) - since >= 1000000 * (long)argument ? argument : NULL;
}
static void run(pthread_t* threads, int n, void* (*function)(void*)) {
  for (long t = 0; t < n; ++t) pthread_create(&threads[t], NULL, function, (void*)(t + 1));
}
static long join(pthread_t* threads, int n) {
  long sum = 0;
  for (int t = 0; t < n; ++t) {
    void* result;
    pthread_join(threads[t], &result);
    sum += (long)result;
  }
  return sum;
}

int main(void) {
  pthread_t threads[kThreads], others[kThreads];
  run(threads, 3, produce);
  run(others, 3, consume);
  join(threads, 3);
  join(others, 3);
  printf("%ld %d\n", consumed, count);

  pthread_spin_init(&spin, 0);
  pthread_barrier_init(&barrier, NULL, kThreads);
  run(threads, kThreads, mixed);
  join(threads, kThreads);
  printf("%d %d %d %d %d\n", written, torn, made, serials, spun);

  run(threads, kThreads, sleeper);
  printf("%ld\n", join(threads, kThreads));

  long long since = now(CLOCK_MONOTONIC);
  struct timespec t = {0, 3000000};
  lasted("nanosleep", since, 3000000, nanosleep(&t, NULL));
  since = now(CLOCK_MONOTONIC);
  t = in(CLOCK_MONOTONIC, 2000000);
  lasted("clock_nanosleep", since, 2000000, clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL));
  since = now(CLOCK_MONOTONIC);
  t = in(CLOCK_REALTIME, 2000000);
  pthread_mutex_lock(&mutex);
  lasted("cond_timedwait", since, 2000000, pthread_cond_timedwait(&not_empty, &mutex, &t));
  t = in(CLOCK_MONOTONIC, 2000000);
  since = now(CLOCK_MONOTONIC);
  lasted("cond_clockwait", since, 2000000, pthread_cond_clockwait(&not_empty, &mutex, CLOCK_MONOTONIC, &t));
  since = now(CLOCK_MONOTONIC);
  t = in(CLOCK_REALTIME, 2000000);
  lasted("mutex_timedlock", since, 2000000, pthread_mutex_timedlock(&mutex, &t));
  pthread_mutex_unlock(&mutex);
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  since = now(CLOCK_MONOTONIC);
  t = in(CLOCK_REALTIME, 2000000);
  const int result = sem_timedwait(&semaphore, &t);
  lasted("sem_timedwait", since, 2000000, result == -1 && errno == ETIMEDOUT);
  t = in(CLOCK_REALTIME, -1);
  printf("past %d\n", sem_timedwait(&semaphore, &t) == -1 && errno == ETIMEDOUT);
  return 0;
}
