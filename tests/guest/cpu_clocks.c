// no-qemu: how much four busy threads get of the cores depends on the machine
// CPU-time clocks: time that threads run, not time that passes. Each line is a fact that holds on every chip;
// the ratio of the last is for chips of four cores and more, in detail.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

enum { kThreads = 4 };

static double at(clockid_t clock) {
  struct timespec t = {-1, 0};
  if (clock_gettime(clock, &t) != 0) return -1;
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double used(int who) {
  struct rusage usage;
  getrusage(who, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void spin(long count) {
  for (volatile long i = 0; i < count; ++i) {
  }
}

static int is_near(double a, double b) { return a > 0.95 * b - 2e-6 && a < 1.05 * b + 2e-6; }

static pthread_barrier_t barrier;
static double of_thread[kThreads], by_rusage[kThreads];

static void* busy(void* x) {
  long i = (long)x;
  double before = at(CLOCK_THREAD_CPUTIME_ID), usage = used(RUSAGE_THREAD);
  spin(100000 * (i + 1));
  of_thread[i] = at(CLOCK_THREAD_CPUTIME_ID) - before;
  by_rusage[i] = used(RUSAGE_THREAD) - usage;
  return NULL;
}

static void* waits(void* x) {
  (void)x;
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  return NULL;
}

static void sleeps(void) {
  const clockid_t clocks[] = {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
  double before[2], usage = used(RUSAGE_SELF);
  struct tms old, new;
  clock_t ticks = times(&old), c = clock();
  for (int i = 0; i < 2; ++i) before[i] = at(clocks[i]);
  struct timespec pause = {0, 500000000};
  nanosleep(&pause, NULL);
  ticks = times(&new) - ticks;
  printf("asleep: process %d, thread %d, getrusage %d, clock %d, times %d of %d\n",
         at(clocks[0]) - before[0] < 0.01, at(clocks[1]) - before[1] < 0.01, used(RUSAGE_SELF) - usage < 0.01,
         clock() - c < CLOCKS_PER_SEC / 100,
         (int)(new.tms_utime + new.tms_stime - old.tms_utime - old.tms_stime), ticks >= 50);
}

static void others(void) {
  pthread_t thread;
  clockid_t id;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, waits, NULL);
  pthread_getcpuclockid(thread, &id);
  pthread_barrier_wait(&barrier);
  struct timespec pause = {0, 1000000};
  nanosleep(&pause, NULL);  // it waits now
  double before = at(id), own = at(CLOCK_THREAD_CPUTIME_ID), all = at(CLOCK_PROCESS_CPUTIME_ID);
  spin(100000);
  double other = at(id) - before;
  own = at(CLOCK_THREAD_CPUTIME_ID) - own;
  all = at(CLOCK_PROCESS_CPUTIME_ID) - all;
  printf("a waiting thread: none %d, all of it here %d\n", other == 0, is_near(own, all));
  pthread_barrier_wait(&barrier);
  pthread_join(thread, NULL);
  errno = 0;
  double gone = at(id);
  printf("an ended thread: %d %s\n", (int)gone, strerror(errno));
  clock_getcpuclockid(getpid(), &id);
  printf("by number of process: %d\n", is_near(at(id), at(CLOCK_PROCESS_CPUTIME_ID)));
  printf("no such process: %d\n", clock_getcpuclockid(999, &id) != 0);
}

static void by_cpu_time(void) {
  struct timespec t = {0, 1};
  printf("sleep by CPU time: %s\n", strerror(clock_nanosleep(CLOCK_PROCESS_CPUTIME_ID, 0, &t, NULL)));
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_NONE};
  int result = timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer);
  printf("timer by CPU time: %d\n", result);
}

int main(void) {
  sleeps();
  others();
  by_cpu_time();
  double all = at(CLOCK_PROCESS_CPUTIME_ID), elapsed = at(CLOCK_MONOTONIC), usage = used(RUSAGE_SELF);
  pthread_t threads[kThreads];
  for (long i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, busy, (void*)i);
  double sum = 0;
  int agree = 1, grows = 1;
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    sum += of_thread[i];
    agree = agree && is_near(by_rusage[i], of_thread[i]);
    grows = grows && is_near(of_thread[i], of_thread[0] * (i + 1));
  }
  all = at(CLOCK_PROCESS_CPUTIME_ID) - all;
  elapsed = at(CLOCK_MONOTONIC) - elapsed;
  usage = used(RUSAGE_SELF) - usage;
  printf("threads: as much as they did %d, getrusage %d, sum %d, process %d\n", grows, agree,
         is_near(all, sum), is_near(usage, all));
  // Loops of 1 + 2 + 3 + 4 parts, the longest of which is 4.
  printf("cores in use: %.1f\n", all / elapsed);
}
