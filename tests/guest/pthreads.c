// POSIX threads: barriers, robust and recursive mutexes, timed waits, cancellation, keys, semaphores,
// spinning.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_barrier_t barrier;
static pthread_mutex_t robust;
static pthread_key_t key;
static int rounds[6];
static volatile int flag;
static sem_t semaphore;

static void* barrier_thread(void* argument) {
  for (int i = 0; i < 50; ++i) {
    rounds[(long)argument]++;
    pthread_barrier_wait(&barrier);
    if (rounds[((long)argument + 1) % 6] < i + 1) puts("barrier broken");
    pthread_barrier_wait(&barrier);
  }
  return argument;
}
static void* dies_with_lock(void* argument) {
  pthread_mutex_lock(&robust);
  return argument;
}
static void at_end(void* argument) { printf("cleanup %s\n", (char*)argument); }
static void* canceled(void* argument) {
  pthread_cleanup_push(at_end, "handler");
  pthread_setspecific(key, "key");
  sem_post(&semaphore);
  while (1) pause();
  pthread_cleanup_pop(0);
  return argument;
}
static void* spinner(void* argument) {
  while (!flag) {
  }
  return argument;
}

int main(void) {
  pthread_t threads[6];
  pthread_barrier_init(&barrier, NULL, 6);
  for (long i = 0; i < 6; ++i) pthread_create(&threads[i], NULL, barrier_thread, (void*)i);
  long sum = 0;
  for (int i = 0; i < 6; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    sum += (long)result;
  }
  printf("%ld %d\n", sum, rounds[0]);

  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&robust, &attributes);
  pthread_create(&threads[0], NULL, dies_with_lock, NULL);
  pthread_join(threads[0], NULL);
  printf("%d\n", pthread_mutex_lock(&robust) == EOWNERDEAD);
  pthread_mutex_consistent(&robust);
  pthread_mutex_unlock(&robust);

  pthread_mutexattr_t pi;
  pthread_mutexattr_init(&pi);
  pthread_mutexattr_setprotocol(&pi, PTHREAD_PRIO_INHERIT);
  pthread_mutex_t inheriting;
  pthread_mutex_init(&inheriting, &pi);
  printf("%d %d\n", pthread_mutex_lock(&inheriting), pthread_mutex_unlock(&inheriting));

  pthread_key_create(&key, at_end);
  sem_init(&semaphore, 0, 0);
  pthread_create(&threads[0], NULL, canceled, NULL);
  sem_wait(&semaphore);
  pthread_cancel(threads[0]);
  void* result;
  pthread_join(threads[0], &result);
  printf("%d\n", result == PTHREAD_CANCELED);

  pthread_create(&threads[0], NULL, spinner, NULL);
  pthread_create(&threads[1], NULL, spinner, NULL);
  for (volatile int i = 0; i < 100000; ++i) {
  }
  flag = 1;
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);

  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_nsec += 10000000;
  if (end.tv_nsec >= 1000000000) end.tv_nsec -= 1000000000, end.tv_sec++;
  pthread_mutex_lock(&mutex);
  printf("%s\n", strerror(pthread_cond_timedwait(&condition, &mutex, &end)));
  pthread_attr_t own;
  void* stack;
  size_t bytes;
  pthread_getattr_np(pthread_self(), &own);
  pthread_attr_getstack(&own, &stack, &bytes);
  printf("%d\n", (char*)&own >= (char*)stack && (char*)&own < (char*)stack + bytes);
  return 0;
}
