// Timers on CPU time: setitimer's two, and timer_create on the clocks of the process and of a thread. They
// run while threads run, faster with two busy ones, and stand still in a sleep. no-qemu: how much CPU time
// threads get there depends on the machine
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int came;
static void count(int number) {
  (void)number;
  ++came;
}

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
/// Runs until that much CPU time of the process has passed.
static void busy(double seconds) {
  const double end = now(CLOCK_PROCESS_CPUTIME_ID) + seconds;
  while (now(CLOCK_PROCESS_CPUTIME_ID) < end) {
  }
}
static void* busy_thread(void* seconds) {
  const double end = now(CLOCK_THREAD_CPUTIME_ID) + *(double*)seconds;
  while (now(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
  return NULL;
}
static int is_about(int n, int right) { return n >= right - 1 && n <= right + 1; }

static void itimer(const char* name, int which, int number) {
  signal(number, count);
  struct itimerval every = {{0, 100}, {0, 100}}, left, off = {{0, 0}, {0, 0}};
  came = 0;
  if (setitimer(which, &every, NULL) != 0) printf("%s: %s\n", name, strerror(errno));
  busy(1e-3);
  getitimer(which, &left);
  const int in_time =
      left.it_interval.tv_usec == 100 && left.it_value.tv_sec == 0 && left.it_value.tv_usec <= 100;
  const int of_busy = came;
  usleep(2000);
  const int of_sleep = came - of_busy;
  printf("%s: %s while busy, %s in a sleep, left %s\n", name,
         is_about(of_busy, 10) ? "ten" : "another number", of_sleep <= 1 ? "none" : "some",
         in_time ? "in time" : "wrong");
  setitimer(which, &off, &left);
  getitimer(which, &left);
  printf("%s: off: %ld %ld\n", name, left.it_value.tv_usec, left.it_interval.tv_usec);
}

int main(void) {
  itimer("ITIMER_PROF", ITIMER_PROF, SIGPROF);
  itimer("ITIMER_VIRTUAL", ITIMER_VIRTUAL, SIGVTALRM);
  struct itimerval value = {{0, 0}, {0, 0}};
  printf("no such timer: %d %s\n", setitimer(3, &value, NULL), strerror(errno));

  // A single expiration, beyond the CPU time of either thread alone.
  struct itimerval once = {{0, 0}, {0, 1500}};
  double each = 1e-3;
  pthread_t other;
  came = 0;
  setitimer(ITIMER_PROF, &once, NULL);
  pthread_create(&other, NULL, busy_thread, &each);
  busy_thread(&each);
  pthread_join(other, NULL);
  printf("of two threads: %d\n", came);

  const clockid_t clocks[] = {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
  for (int i = 0; i < 2; ++i) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    struct itimerspec every = {{0, 100000}, {0, 100000}}, left;
    timer_t timer;
    came = 0;
    if (timer_create(clocks[i], &event, &timer) != 0) printf("timer_create: %s\n", strerror(errno));
    timer_settime(timer, 0, &every, NULL);
    busy(1e-3);
    timer_gettime(timer, &left);
    printf("clock %d: %s, left %s\n", i, is_about(came, 10) ? "ten" : "another number",
           left.it_value.tv_nsec > 0 && left.it_value.tv_nsec <= 100000 ? "in time" : "wrong");
    timer_delete(timer);
    // A time of the clock itself, which has passed already.
    timer_create(clocks[i], &event, &timer);
    came = 0;
    every = (struct itimerspec){{0, 0}, {0, 1}};
    timer_settime(timer, TIMER_ABSTIME, &every, NULL);
    busy(1e-4);
    printf("clock %d: absolute: %d\n", i, came);
    timer_delete(timer);
  }
}
