// epoll: what is reported and when, time limits, one-shot and edge-triggered interests, waking another
// thread.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static int set, counter, ends[2];

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int by_data(const void* a, const void* b) {
  const struct epoll_event *first = a, *second = b;
  return (first->data.u64 > second->data.u64) - (first->data.u64 < second->data.u64);
}

/// Prints what a call reports: in which order is the kernel's affair.
static int report(const char* what, int most, int timeout) {
  struct epoll_event found[4] = {{0}};
  const int count = epoll_wait(set, found, most, timeout);
  printf("%s: %d", what, count);
  if (count > 1) qsort(found, (size_t)count, sizeof found[0], by_data);
  if (count < 0) printf(" %s", strerror(errno));
  for (int i = 0; i < count; ++i)
    printf(" [%#x %llx]", found[i].events, (unsigned long long)found[i].data.u64);
  printf("\n");
  return count;
}

static int control(const char* what, int operation, int fd, uint32_t events, uint64_t data) {
  struct epoll_event event = {.events = events, .data.u64 = data};
  const int result = epoll_ctl(set, operation, fd, &event);
  printf("%s: %s\n", what, result == 0 ? "done" : strerror(errno));
  return result;
}

static void add(uint64_t value) {
  if (write(counter, &value, sizeof value) != sizeof value) perror("write");
}
static uint64_t take(void) {
  uint64_t value = 0;
  return read(counter, &value, sizeof value) == sizeof value ? value : 0;
}

static void* wake(void* nothing) {
  for (int i = 0; i < 3; ++i) {
    usleep(2000);
    add(i + 1);
  }
  return nothing;
}

int main(void) {
  set = epoll_create1(EPOLL_CLOEXEC);
  counter = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (pipe2(ends, O_NONBLOCK) != 0) perror("pipe2");
  printf("created %d %d; flags: %s\n", set >= 0, counter >= 0,
         epoll_create1(1) < 0 ? strerror(errno) : "taken");

  control("watch the counter", EPOLL_CTL_ADD, counter, EPOLLIN, 0xfeedfacecafef00dULL);
  control("again", EPOLL_CTL_ADD, counter, EPOLLIN, 1);
  control("the pipe", EPOLL_CTL_ADD, ends[0], EPOLLIN | EPOLLET, 2);
  control("not watched", EPOLL_CTL_MOD, ends[1], EPOLLOUT, 3);
  control("not watched", EPOLL_CTL_DEL, ends[1], 0, 0);
  control("no descriptor", EPOLL_CTL_ADD, 99, EPOLLIN, 0);
  control("itself", EPOLL_CTL_ADD, set, EPOLLIN, 0);
  const int file = open("epoll.txt", O_CREAT | O_RDWR, 0600);
  control("a file", EPOLL_CTL_ADD, file, EPOLLIN, 0);
  unlink("epoll.txt");

  report("nothing", 4, 0);
  const long long since = now();
  report("nothing in 3 ms", 4, 3);
  printf("it took them: %d\n", now() - since >= 3000000);
  report("no room", 0, 0);

  add(5);
  report("counter", 4, -1);
  report("and still", 4, -1);
  if (write(ends[1], "x", 1) != 1) perror("write");
  report("both", 4, 0);
  printf("taken %d\n", (int)take());
  char c;
  printf("read %d\n", (int)read(ends[0], &c, 1));
  report("nothing", 4, 0);

  control("one shot", EPOLL_CTL_MOD, counter, EPOLLIN | EPOLLONESHOT, 4);
  add(1);
  report("once", 4, 0);
  report("not twice", 4, 0);
  control("armed anew", EPOLL_CTL_MOD, counter, EPOLLIN | EPOLLONESHOT, 5);
  report("once more", 4, 0);
  take();
  control("for good", EPOLL_CTL_MOD, counter, EPOLLIN, 6);

  close(ends[1]);
  report("the writer has gone", 4, 0);
  close(ends[0]);
  report("so has the reader", 4, 0);

  pthread_t thread;
  pthread_create(&thread, NULL, wake, NULL);
  uint64_t sum = 0;
  int calls = 0;
  while (sum < 6) {
    struct epoll_event found;
    if (epoll_wait(set, &found, 1, -1) != 1 || found.data.u64 != 6) printf("unexpected\n");
    sum += take();
    ++calls;
  }
  pthread_join(thread, NULL);
  printf("woken for %d in all, %s\n", (int)sum,
         calls >= 1 && calls <= 3 ? "in at most 3 calls" : "too often");
  control("unwatched", EPOLL_CTL_DEL, counter, 0, 0);
  add(1);
  report("nothing", 4, 0);
  return 0;
}
