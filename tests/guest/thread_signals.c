// Signals between threads: to one that computes, spins, sleeps or waits; masks, sigwait, alternate stacks,
// timers, faults with a handler in several threads at once, asynchronous cancellation.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static __thread volatile sig_atomic_t received;
static __thread sigjmp_buf back;
static atomic_int ready, faults;
static sem_t never;

static void on_user(int signal) { received = signal; }
static void on_fault(int signal) {
  (void)signal;
  siglongjmp(back, 1);
}
static void* spins(void* argument) {
  atomic_fetch_add(&ready, 1);
  while (!received) {
  }
  return (void*)(long)(received + (argument != NULL));
}
static void* computes(void* argument) {
  volatile double value = 1;
  atomic_fetch_add(&ready, 1);
  while (!received) value = value * 1.0000001 + 1e-9;  // the handler must not disturb the registers
  return value > 1 ? argument : NULL;
}
static void* sleeps(void* argument) {
  const struct timespec hour = {3600, 0};
  struct timespec left = {0, 0};
  atomic_fetch_add(&ready, 1);
  const int result = nanosleep(&hour, &left);
  return result == -1 && errno == EINTR && left.tv_sec > 3000 && received == SIGUSR1 ? argument : NULL;
}
static void* waits(void* argument) {
  atomic_fetch_add(&ready, 1);
  const int result = sem_wait(&never);
  return result == -1 && errno == EINTR && received == SIGUSR1 ? argument : NULL;
}
static void* pauses(void* argument) {
  sigset_t all_but;
  sigfillset(&all_but);
  pthread_sigmask(SIG_SETMASK, &all_but, NULL);
  sigdelset(&all_but, SIGUSR1);
  atomic_fetch_add(&ready, 1);
  sigsuspend(&all_but);
  return received == SIGUSR1 ? argument : NULL;
}
static void* takes(void* argument) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  int signal = 0;
  atomic_fetch_add(&ready, 1);
  sigwait(&set, &signal);
  return signal == SIGUSR2 && !received ? argument : NULL;
}
static void* faulty(void* argument) {
  stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  sigaltstack(&stack, NULL);
  for (int i = 0; i < 20; ++i)
    if (sigsetjmp(back, 1) == 0) {
      *(volatile int*)(8 * (long)argument) = 1;
    } else {
      atomic_fetch_add(&faults, 1);
    }
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, NULL);
  free(stack.ss_sp);
  return argument;
}
static void* for_ever(void* argument) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  atomic_fetch_add(&ready, 1);
  for (volatile int i = 0;; ++i) {
  }
  return argument;
}

static long signaled(void* (*function)(void*), int signal) {
  pthread_t thread;
  void* result;
  atomic_store(&ready, 0);
  pthread_create(&thread, NULL, function, (void*)1);
  while (!atomic_load(&ready)) sched_yield();
  usleep(2000);  // so that it waits by now
  if (signal == 0)
    pthread_cancel(thread);
  else
    pthread_kill(thread, signal);
  pthread_join(thread, &result);
  return (long)result;
}

int main(void) {
  sigset_t usr2;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &usr2, NULL);
  struct sigaction action = {.sa_handler = on_user};
  sigaction(SIGUSR1, &action, NULL);
  sigaction(SIGUSR2, &action, NULL);
  sigaction(SIGALRM, &action, NULL);
  struct sigaction fault = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
  sigaction(SIGSEGV, &fault, NULL);
  sem_init(&never, 0, 0);

  printf("spins %d\n", signaled(spins, SIGUSR1) == SIGUSR1 + 1);
  printf("computes %ld\n", signaled(computes, SIGUSR1));
  printf("sleeps %ld\n", signaled(sleeps, SIGUSR1));
  printf("waits %ld\n", signaled(waits, SIGUSR1));
  printf("pauses %ld\n", signaled(pauses, SIGUSR1));
  printf("takes %ld\n", signaled(takes, SIGUSR2));
  printf("cancelled %d\n", (void*)signaled(for_ever, 0) == PTHREAD_CANCELED);
  printf("main received %d\n", received);

  pthread_t threads[6];
  for (long t = 0; t < 6; ++t) pthread_create(&threads[t], NULL, faulty, (void*)t);
  for (int t = 0; t < 6; ++t) pthread_join(threads[t], NULL);
  printf("faults %d\n", atomic_load(&faults));

  // Several spinning threads, all signaled while they outnumber the cores of a small chip.
  atomic_store(&ready, 0);
  for (long t = 0; t < 6; ++t) pthread_create(&threads[t], NULL, spins, NULL);
  while (atomic_load(&ready) != 6) {
  }
  for (int t = 0; t < 6; ++t) pthread_kill(threads[t], SIGUSR1);
  int sum = 0;
  for (int t = 0; t < 6; ++t) {
    void* result;
    pthread_join(threads[t], &result);
    sum += (int)(long)result == SIGUSR1;
  }
  printf("all %d\n", sum);

  const struct itimerval timer = {{0, 300}, {0, 300}};
  int ticks = 0;
  setitimer(ITIMER_REAL, &timer, NULL);
  while (ticks < 5) {
    while (received != SIGALRM) {
    }
    received = 0;
    ++ticks;
  }
  const struct itimerval off = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &off, NULL);
  printf("ticks %d\n", ticks);
  return 0;
}
