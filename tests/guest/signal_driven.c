// Signal-driven input: the owner of a pipe or socket gets a signal when it becomes ready. Prints the same on
// every Linux.
// no-qemu: it gives the host other owners
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

static volatile sig_atomic_t heard;

static void hears(int signal) { heard = signal; }

static void ask(const char* what, int fd) {
  for (int i = 0; i < 100 && !heard; ++i) usleep(1000);
  char byte = 0;
  printf("%s: signal %d, %c\n", what, heard, read(fd, &byte, 1) == 1 ? byte : '-');
  fflush(stdout);
  heard = 0;
}

int main(void) {
  setpgid(0, 0);  // no other process is to get the signals of its group
  signal(SIGIO, hears);
  signal(SIGUSR2, hears);
  int pair[2], ends[2], on = 1, off = 0;
  socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair);
  say("none", fcntl(pair[0], F_GETOWN));
  say("asynchronous", ioctl(pair[0], FIOASYNC, &on));
  say("flag", (fcntl(pair[0], F_GETFL) & O_ASYNC) != 0);
  say("owner", fcntl(pair[0], F_SETOWN, getpid()));
  say("is", fcntl(pair[0], F_GETOWN) == getpid());
  write(pair[1], "a", 1);
  ask("itself", pair[0]);
  if (fork() == 0) {
    write(pair[1], "b", 1);
    _exit(0);
  }
  ask("a child", pair[0]);
  wait(NULL);
  say("another signal", fcntl(pair[0], F_SETSIG, SIGUSR2));
  say("is", fcntl(pair[0], F_GETSIG));
  write(pair[1], "c", 1);
  ask("another", pair[0]);
  say("off", ioctl(pair[0], FIOASYNC, &off));
  write(pair[1], "d", 1);
  usleep(2000);
  ask("no longer", pair[0]);
  pipe2(ends, O_NONBLOCK);
  say("of its group", fcntl(ends[0], F_SETOWN, -getpgrp()));
  say("a pipe", fcntl(ends[0], F_SETFL, O_NONBLOCK | O_ASYNC));
  write(ends[1], "e", 1);
  ask("of the pipe", ends[0]);
  struct f_owner_ex owner = {F_OWNER_TID, gettid()};
  say("a thread", fcntl(ends[0], F_SETOWN_EX, &owner));
  owner.type = 77;
  say("get", fcntl(ends[0], F_GETOWN_EX, &owner));
  say("is", owner.type == F_OWNER_TID && owner.pid == gettid());
  write(ends[1], "f", 1);
  ask("of the thread", ends[0]);
  owner.type = 9;
  say("what", fcntl(ends[0], F_SETOWN_EX, &owner));
  say("no signal", fcntl(ends[0], F_SETSIG, 65));
  const int file = open("/dev/null", O_RDWR);
  say("no such file", ioctl(file, FIOASYNC, &on));
  return 0;
}
