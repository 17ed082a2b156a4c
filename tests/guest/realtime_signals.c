// no-qemu: qemu-user keeps one signal of a number, whatever its kind
// Queued signals: real-time ones all come, each with its value, first in first out, the lowest number first;
// a standard one comes once. Waits, limits, and how often a timer has expired until its signal was taken.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int count, values[64], numbers[64];
static void on_signal(int signal, siginfo_t* info, void* context) {
  (void)context;
  numbers[count] = signal;
  values[count++] = info->si_value.sival_int;
}

static void show(const char* what) {
  printf("%s:", what);
  for (int i = 0; i < count; ++i)
    printf(" %d:%d", numbers[i] >= SIGRTMIN ? numbers[i] - SIGRTMIN : -numbers[i], values[i]);
  printf("\n");
  count = 0;
}

static int queue(int signal, int value) {
  return sigqueue(getpid(), signal, (union sigval){.sival_int = value});
}

static void* other(void* barrier) {
  pthread_barrier_wait(barrier);
  sigset_t set;
  sigfillset(&set);
  siginfo_t info;
  for (int i = 0; i < 2; ++i) {
    sigwaitinfo(&set, &info);
    printf("thread %d:%d\n", info.si_signo - SIGRTMIN, info.si_value.sival_int);
  }
  return NULL;
}

static int queue_to(pthread_t thread, int signal, int value) {
  return pthread_sigqueue(thread, signal, (union sigval){.sival_int = value});
}

static void limits(void) {
  struct rlimit old, limit;
  getrlimit(RLIMIT_SIGPENDING, &old);
  limit = old;
  limit.rlim_cur = 3;
  printf("limit %d", setrlimit(RLIMIT_SIGPENDING, &limit));
  int sent = 0;
  while (sent < 10 && queue(SIGRTMIN + 4, sent) == 0) ++sent;
  printf(" sent %d %s\n", sent, strerror(errno));
  siginfo_t info;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN + 4);
  struct timespec none = {0, 0};
  int taken = 0;
  while (sigtimedwait(&set, &info, &none) > 0) ++taken;
  printf("taken %d %s\n", taken, strerror(errno));
  setrlimit(RLIMIT_SIGPENDING, &old);
}

static void timers(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN + 5);
  struct sigevent event = {
      .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 5, .sigev_value.sival_int = 9};
  timer_t timer;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  struct itimerspec setting = {{0, 1000000}, {0, 1000000}};
  timer_settime(timer, 0, &setting, NULL);
  struct timespec pause = {0, 20000000};
  nanosleep(&pause, NULL);
  siginfo_t info;
  sigwaitinfo(&set, &info);
  struct itimerspec off = {{0, 0}, {0, 0}};
  int overrun = timer_getoverrun(timer);
  timer_settime(timer, 0, &off, NULL);
  struct timespec none = {0, 0};
  int more = sigtimedwait(&set, &info, &none);
  // 20 ms of 1 ms: 19 expirations or more while the signal waited; a busy host may add to them.
  printf("timer %d, told the same %d, at most one more %d\n", overrun >= 18,
         info.si_overrun == overrun || more > 0, sigtimedwait(&set, &info, &none) < 0);
  timer_delete(timer);
}

int main(void) {
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  sigset_t set, old;
  sigemptyset(&set);
  for (int i = 0; i < 6; ++i) {
    sigaction(SIGRTMIN + i, &action, NULL);
    sigaddset(&action.sa_mask, SIGRTMIN + i);
    sigaddset(&set, SIGRTMIN + i);
  }
  sigaction(SIGUSR1, &action, NULL);
  sigaddset(&set, SIGUSR1);
  for (int i = 0; i < 6; ++i) {  // no handler interrupts another one
    action.sa_mask = set;
    sigaction(SIGRTMIN + i, &action, NULL);
  }
  sigprocmask(SIG_BLOCK, &set, &old);
  for (int i = 1; i <= 5; ++i) queue(SIGRTMIN, i);
  for (int i = 1; i <= 3; ++i) queue(SIGUSR1, i);
  sigset_t pending;
  sigpending(&pending);
  printf("pending %d %d %d\n", sigismember(&pending, SIGRTMIN), sigismember(&pending, SIGUSR1),
         sigismember(&pending, SIGRTMIN + 1));
  sigprocmask(SIG_SETMASK, &old, NULL);
  show("delivered");

  sigprocmask(SIG_BLOCK, &set, NULL);
  queue(SIGRTMIN + 2, 21), queue(SIGRTMIN + 1, 11), queue(SIGRTMIN + 2, 22), queue(SIGRTMIN + 1, 12);
  queue_to(pthread_self(), SIGRTMIN + 3, 31);
  siginfo_t info;
  for (int i = 0; i < 5; ++i) {
    sigwaitinfo(&set, &info);
    printf("waited %d:%d code %d\n", info.si_signo - SIGRTMIN, info.si_value.sival_int, info.si_code);
  }
  // Ignored while they wait: gone.
  queue(SIGRTMIN, 1), queue(SIGRTMIN, 2);
  signal(SIGRTMIN, SIG_IGN);
  sigaction(SIGRTMIN, &action, NULL);
  sigprocmask(SIG_SETMASK, &old, NULL);
  show("ignored");

  sigprocmask(SIG_BLOCK, &set, NULL);
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_t thread;
  pthread_create(&thread, NULL, other, &barrier);
  queue_to(thread, SIGRTMIN + 1, 1), queue_to(thread, SIGRTMIN + 1, 2);
  pthread_barrier_wait(&barrier);
  pthread_join(thread, NULL);
  limits();
  timers();
}
