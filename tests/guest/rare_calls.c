// no-qemu: it lacks some of them; test_linux_calls.py compares with the host.
// Calls that few programs make: what they answer, and what is refused.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

static void identity(void) {
  const uid_t u = getuid();
  const gid_t g = getgid();
  say("keeps users", setresuid((uid_t)-1, (uid_t)-1, (uid_t)-1));
  say("keeps groups", setresgid((gid_t)-1, (gid_t)-1, (gid_t)-1));
  say("the own user", setreuid(u, u));
  say("the own group", setregid(g, g));
  siginfo_t info;
  say("no child", waitid(P_ALL, 0, &info, WEXITED));
  say("no kind of end", waitid(P_ALL, 0, &info, 0));
  say("no kind of child", waitid((idtype_t)9, 0, &info, WEXITED));
  struct timespec slice;
  say("a slice", sched_rr_get_interval(0, &slice));
  say("of no thread", sched_rr_get_interval(999999, &slice));
}

static void memory(void) {
  char* const page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  say("locked", mlock2(page, 4096, MLOCK_ONFAULT));
  say("unknown flags", mlock2(page, 4096, 6));
  munmap(page + 4096, 4096);
  say("a hole", mlock2(page, 8192, 0));
  say("nothing to lock", mlockall(0));
  say("unlock all", munlockall());
}

static void files(void) {
  const int fd = open("rare_calls.txt", O_RDWR | O_CREAT | O_TRUNC, 0600);
  char a[4] = {0}, b[8] = {0};
  struct iovec out[2] = {{"abc", 3}, {"defg", 4}}, in[2] = {{a, 3}, {b, 7}};
  say("write at", pwritev2(fd, out, 2, 2, 0));
  say("write here", pwritev2(fd, out, 1, -1, RWF_DSYNC));
  say("read at", preadv2(fd, in, 2, 0, 0));
  printf("%c%c%c %s\n", a[0], a[1], a[2], b);
  say("read here", preadv2(fd, in, 1, -1, 0));
  say("unknown flags", preadv2(fd, in, 1, 0, 0x4000000));
  say("synced", syncfs(fd));
  say("no descriptor", syncfs(99));
  say("range", sync_file_range(fd, 0, 10, SYNC_FILE_RANGE_WRITE));
  int ends[2];
  pipe(ends);
  say("range of a pipe", sync_file_range(ends[0], 0, 10, SYNC_FILE_RANGE_WRITE));
  say("ahead", readahead(fd, 0, 4096));
  const struct {
    uint64_t flags, mode, resolve;
  } how = {O_RDONLY, 0, 0}, modeless = {O_RDONLY, 0600, 0};
  const int again = (int)syscall(437, AT_FDCWD, "rare_calls.txt", &how, sizeof how);
  say("opened", again >= 0 ? read(again, a, 3) : again);
  say("a mode and nothing made", syscall(437, AT_FDCWD, "rare_calls.txt", &modeless, sizeof modeless));
  say("too small", syscall(437, AT_FDCWD, "rare_calls.txt", &how, 8));
  const int set = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
  const struct timespec two = {0, 2000000}, wrong = {0, -1};
  say("nothing in 2 ms", syscall(441, set, &event, 1, &two, NULL, 8));
  say("no time", syscall(441, set, &event, 1, &wrong, NULL, 8));
  write(ends[1], "x", 1);
  say("at once", syscall(441, set, &event, 1, NULL, NULL, 8));
  unlink("rare_calls.txt");
}

static void* send_later(void* thread) {
  usleep(2000);
  pthread_kill(*(pthread_t*)thread, SIGUSR2);
  return NULL;
}

static void signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigaddset(&set, SIGUSR2);
  sigaddset(&set, SIGRTMIN);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  const int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  struct signalfd_siginfo got[4];
  say("none", read(fd, got, sizeof got));
  sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 5});
  sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 6});
  raise(SIGUSR1);
  struct pollfd p = {.fd = fd, .events = POLLIN};
  say("ready", poll(&p, 1, 0));
  const long bytes = say("read", read(fd, got, sizeof got));
  for (int i = 0; i < bytes / (long)sizeof *got; ++i)
    printf("signal %u value %d from this process %d\n", got[i].ssi_signo, got[i].ssi_int,
           got[i].ssi_pid == (uint32_t)getpid());
  say("taken", poll(&p, 1, 0));
  say("too small", read(fd, got, 64));
  fcntl(fd, F_SETFL, 0);
  pthread_t self = pthread_self(), other;
  pthread_create(&other, NULL, send_later, &self);
  say("waited for", read(fd, got, sizeof got));
  printf("signal %u\n", got[0].ssi_signo);
  pthread_join(other, NULL);
  sigdelset(&set, SIGUSR1);
  say("changed", signalfd(fd, &set, 0) == fd);
  raise(SIGUSR1);
  say("no more of the set", poll(&p, 1, 0));
  say("no descriptor of signals", signalfd(0, &set, 0));
}

int main(void) {
  identity();
  memory();
  files();
  signals();
  return 0;
}
