// RLIMIT_NOFILE: the bound of descriptors. Every call that makes one answers EMFILE at the bound, and changes
// nothing. no-qemu: qemu-riscv64 has descriptors of its own below the bound
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static void say(const char* what, long result) {
  printf("%s: %ld %s\n", what, result, result < 0 ? strerrorname_np(errno) : "");
}

static void show(const char* when) {
  struct rlimit limit = {0, 0};
  int result = getrlimit(RLIMIT_NOFILE, &limit);
  printf("%s: %d, %lu and %lu\n", when, result, (unsigned long)limit.rlim_cur, (unsigned long)limit.rlim_max);
}

static long set(unsigned long now, unsigned long most) {
  struct rlimit limit = {now, most};
  return setrlimit(RLIMIT_NOFILE, &limit);
}

int main(void) {
  int high = dup2(0, 50), both[2];
  say("set", set(7, 100));
  show("set");
  say("an open one stays", fcntl(high, F_GETFD));
  int last = -1, fd;
  while ((fd = open("/dev/null", O_RDONLY)) >= 0) last = fd;
  say("open", fd);
  printf("the last is %d\n", last);
  say("made", open("new", O_CREAT | O_WRONLY, 0644));
  say("no file was made", access("new", F_OK));
  say("dup", dup(0));
  say("dup2 to the bound", dup2(0, 7));
  say("dup2 below it", dup2(0, 6));
  say("fcntl from the bound", fcntl(0, F_DUPFD, 7));
  say("fcntl below it", fcntl(0, F_DUPFD, 3));
  say("pipe", pipe(both));
  say("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, both));
  say("eventfd", eventfd(0, 0));
  say("epoll", epoll_create1(0));
  say("memory", memfd_create("m", 0));
  close(last);
  say("pipe, with room for one", pipe(both));
  say("which is still there", open("/dev/null", O_RDONLY));
  struct pollfd many[8] = {{0}};
  for (int i = 0; i < 8; ++i) many[i].fd = -1;
  say("poll of more than may be", poll(many, 8, 0));
  say("of as many", poll(many, 7, 0));
  say("now above most", set(200, 100));
  show("as before");
  say("raised", set(9, 100));
  say("two more", dup(0));
  say("the second", dup(0));
  say("not a third", dup(0));
  say("most lowered", set(5, 90));
  show("lowered");
  struct rlimit wanted = {6, 80}, old;
  say("both at once", prlimit(0, RLIMIT_NOFILE, &wanted, &old));
  printf("before: %lu and %lu\n", (unsigned long)old.rlim_cur, (unsigned long)old.rlim_max);
  show("after");
  return 0;
}
