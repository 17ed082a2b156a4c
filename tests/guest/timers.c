// Timers: timerfd (one expiration, intervals, absolute times, in epoll and in read), POSIX timers that send a
// signal with a value. No line depends on how long something took.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int set;

static void said(const char* what, int result) {
  printf("%s: %d %s\n", what, result, result < 0 ? strerror(errno) : "");
}

static void wait_once(const char* what, int timeout) {
  struct epoll_event event;
  int count = epoll_wait(set, &event, 1, timeout);
  printf("%s: %d", what, count);
  if (count == 1) printf(" %x", event.events);
  printf("\n");
}

static volatile sig_atomic_t alarms, value;
static void on_timer(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  value = info->si_value.sival_int;
  ++alarms;
}

static void files(void) {
  uint64_t count = 0;
  int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  said("no expiration", (int)read(timer, &count, 8));
  said("no room", (int)read(timer, &count, 4));
  said("no write", (int)write(timer, &count, 8));
  struct itimerspec setting = {{0, 0}, {0, 2000000}};
  timerfd_settime(timer, 0, &setting, NULL);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = timer};
  said("watched", epoll_ctl(set, EPOLL_CTL_ADD, timer, &event));
  wait_once("timer", -1);
  wait_once("still", -1);
  printf("expired %zd", read(timer, &count, 8));
  printf(" %llu\n", (unsigned long long)count);
  wait_once("not again", 0);

  struct itimerspec again = {{0, 1000000}, {0, 1000000}};
  timerfd_settime(timer, 0, &again, NULL);
  struct timespec pause = {0, 20000000};
  nanosleep(&pause, NULL);
  wait_once("interval", -1);
  printf("expired often %zd", read(timer, &count, 8));
  printf(" %d\n", count >= 10);
  timerfd_gettime(timer, &setting);
  printf("interval %ld, left %d\n", setting.it_interval.tv_nsec,
         setting.it_value.tv_nsec > 0 && setting.it_value.tv_nsec <= 1000000);
  struct pollfd one = {timer, POLLIN, 0};
  printf("poll %d", poll(&one, 1, -1));
  printf(" %x\n", (unsigned)one.revents);
  struct itimerspec none = {{0, 0}, {0, 0}};
  timerfd_settime(timer, 0, &none, &setting);
  printf("it was %ld\n", setting.it_interval.tv_nsec);
  wait_once("disarmed", 2);
  close(timer);

  // A read that waits, on an absolute time that is over.
  timer = timerfd_create(CLOCK_REALTIME, 0);
  setting = (struct itimerspec){{0, 0}, {1000, 0}};
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &setting, NULL);
  printf("long ago %zd\n", read(timer, &count, 8));
  setting = (struct itimerspec){{0, 0}, {0, 1500000}};
  timerfd_settime(timer, 0, &setting, NULL);
  printf("read waits %zd", read(timer, &count, 8));
  printf(" %llu\n", (unsigned long long)count);
  setting.it_value.tv_nsec = 2000000000;
  said("wrong time", timerfd_settime(timer, 0, &setting, NULL));
  said("no timer", timerfd_settime(set, 0, &none, NULL));
  said("no clock", timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0));
  close(timer);
}

static void posix_timers(void) {
  struct itimerspec setting;
  struct itimerspec again = {{0, 1000000}, {0, 1000000}};
  struct timespec pause = {0, 0};
  struct sigaction action = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO};
  sigaction(SIGRTMIN, &action, NULL);
  struct sigevent notify = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
  notify.sigev_value.sival_int = 42;
  timer_t posix;
  printf("created %d\n", timer_create(CLOCK_MONOTONIC, &notify, &posix));
  setting = (struct itimerspec){{0, 0}, {0, 2000000}};
  timer_settime(posix, 0, &setting, NULL);
  wait_once("interrupted", -1);
  printf("alarms %d value %d overrun %d\n", alarms, value, timer_getoverrun(posix));
  timer_gettime(posix, &setting);
  printf("disarmed %ld\n", setting.it_value.tv_nsec);
  timer_settime(posix, 0, &again, NULL);
  while (alarms < 4) pause.tv_nsec = 100000, nanosleep(&pause, NULL);
  printf("deleted %d\n", timer_delete(posix));
  printf("no timer %d\n", timer_delete(posix));
}

int main(void) {
  set = epoll_create1(EPOLL_CLOEXEC);
  files();
  posix_timers();
  return 0;
}
