// Two threads that take two locks in opposite order.
// SPDX-License-Identifier: MIT
#include <pthread.h>
pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void* other(void* argument) {
  pthread_mutex_lock(&right);
  pthread_barrier_wait(&both);
  pthread_mutex_lock(&left);
  return argument;
}
int main(void) {
  pthread_t thread;
  pthread_barrier_init(&both, 0, 2);
  pthread_create(&thread, 0, other, 0);
  pthread_mutex_lock(&left);
  pthread_barrier_wait(&both);
  pthread_mutex_lock(&right);
  return 0;
}
