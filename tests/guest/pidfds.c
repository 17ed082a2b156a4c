// Descriptors of processes: pidfd_open, CLONE_PIDFD, polls and waits for them, signals by them. Prints
// nothing that depends on numbers of processes. no-qemu: qemu-riscv64 does not know all of them
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

enum { kByDescriptor = 3, kNonBlock = O_NONBLOCK, kProcessMrelease = 448 };

static int open_pid(pid_t pid, unsigned flags) { return (int)syscall(SYS_pidfd_open, pid, flags); }
static int send_to(int fd, int signal, siginfo_t* info, unsigned flags) {
  return (int)syscall(SYS_pidfd_send_signal, fd, signal, info, flags);
}
static int is_ready(int fd) {
  struct pollfd asked = {fd, POLLIN, 0};
  return poll(&asked, 1, 0) == 1 && (asked.revents & POLLIN) != 0;
}

static pid_t waiting_child(void) {
  const pid_t pid = fork();
  if (pid == 0) {
    for (;;) pause();
  }
  return pid;
}

static void opened(void) {
  printf("-- opened\n");
  fflush(stdout);
  const pid_t pid = waiting_child();
  const int fd = open_pid(pid, 0);
  say("opens", fd >= 0);
  say("is closed by an exec", fcntl(fd, F_GETFD));
  char byte;
  say("read", read(fd, &byte, 1));
  say("write", write(fd, &byte, 1));
  say("ready", is_ready(fd));
  say("exists", send_to(fd, 0, NULL, 0));
  siginfo_t info;
  memset(&info, 0, sizeof info);
  say("not ended", waitid(kByDescriptor, (id_t)fd, &info, WEXITED | WNOHANG));
  say("of", info.si_pid);
  say("memory in use", syscall(kProcessMrelease, fd, 0));
  say("stops", send_to(fd, SIGSTOP, NULL, 0));
  say("stopped", waitid(kByDescriptor, (id_t)fd, &info, WSTOPPED));
  printf("%d %d %d\n", info.si_code == CLD_STOPPED, info.si_status, info.si_pid == pid);
  say("ends", send_to(fd, SIGKILL, NULL, 0));
  struct pollfd asked = {fd, POLLIN, 0};
  say("becomes ready", poll(&asked, 1, -1));
  say("to read", asked.revents & POLLIN);
  say("a signal to what has ended", send_to(fd, SIGTERM, NULL, 0));
  say("looked at", waitid(kByDescriptor, (id_t)fd, &info, WEXITED | WNOWAIT));
  say("waited for", waitid(kByDescriptor, (id_t)fd, &info, WEXITED));
  printf("%d %d\n", info.si_code == CLD_KILLED, info.si_status);
  say("stays ready", is_ready(fd));
  say("no memory is left", syscall(kProcessMrelease, fd, 0));
  say("a signal to what is gone", send_to(fd, SIGTERM, NULL, 0));
  say("no child any longer", waitid(kByDescriptor, (id_t)fd, &info, WEXITED));
  say("opened anew", open_pid(pid, 0));
  close(fd);
}

static void errors(void) {
  printf("-- errors\n");
  fflush(stdout);
  say("no process", open_pid(0x7fffffff, 0));
  say("number 0", open_pid(0, 0));
  say("negative", open_pid(-1, 0));
  say("flags", open_pid(getpid(), 1));
  say("no descriptor", send_to(-1, 0, NULL, 0));
  say("a descriptor of something else", send_to(1, 0, NULL, 0));
  const int own = open_pid(getpid(), 0);
  say("own", own >= 0);
  say("signal's number", send_to(own, 65, NULL, 0));
  say("flags of a signal", send_to(own, 0, NULL, 128));
  siginfo_t info = {.si_signo = SIGUSR1, .si_code = SI_QUEUE};
  say("another number", send_to(own, SIGUSR2, &info, 0));
  say("own address", send_to(own, SIGUSR1, (siginfo_t*)8, 0));
  say("not a child", waitid(kByDescriptor, (id_t)own, &info, WEXITED));
  say("not of a process", waitid(kByDescriptor, 1, &info, WEXITED));
  say("none", waitid(kByDescriptor, 700, &info, WEXITED));
  say("memory of nothing", syscall(kProcessMrelease, -1, 0));
  say("memory with flags", syscall(kProcessMrelease, own, 1));
  say("descriptor -1", waitid(kByDescriptor, (id_t)-1, &info, WEXITED));
  close(own);
}

static volatile int value;
static void on_signal(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  value = info->si_value.sival_int;
}

static void with_value(void) {
  printf("-- with a value\n");
  fflush(stdout);
  const pid_t parent = getpid();
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
  sigaction(SIGUSR1, &action, NULL);
  const int own = open_pid(parent, 0);
  const pid_t pid = fork();
  if (pid == 0) {
    siginfo_t info = {.si_signo = SIGUSR1, .si_code = SI_QUEUE};
    info.si_value.sival_int = 77;
    _exit(send_to(own, SIGUSR1, &info, 0) == 0 ? 3 : 4);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
  }
  say("sent", WEXITSTATUS(status));
  say("came with", value);
  close(own);
}

static void nonblocking(void) {
  printf("-- nonblocking\n");
  fflush(stdout);
  const pid_t pid = waiting_child();
  const int fd = open_pid(pid, kNonBlock);
  say("flags", fcntl(fd, F_GETFL) & O_NONBLOCK);
  siginfo_t info;
  say("does not wait", waitid(kByDescriptor, (id_t)fd, &info, WEXITED));
  say("asked not to", waitid(kByDescriptor, (id_t)fd, &info, WEXITED | WNOHANG));
  const int set = epoll_create1(0);
  struct epoll_event event = {EPOLLIN | EPOLLET, {.fd = fd}};
  say("in a set", epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
  say("not ready", epoll_wait(set, &event, 1, 0));
  kill(pid, SIGTERM);
  say("ready", epoll_wait(set, &event, 1, -1));
  say("once", epoll_wait(set, &event, 1, 0));
  say("waits no longer", waitid(kByDescriptor, (id_t)fd, &info, WEXITED));
  close(set), close(fd);
}

static void from_clone(void) {
  printf("-- from clone3\n");
  fflush(stdout);
  int fd = -1, pipes[2];
  pipe(pipes);
  struct clone_args arguments = {
      .flags = CLONE_PIDFD, .pidfd = (uint64_t)(uintptr_t)&fd, .exit_signal = SIGCHLD};
  const long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) {
    close(pipes[1]);
    char byte;
    read(pipes[0], &byte, 1);
    _exit(11);
  }
  say("gives", fd >= 0 && pid > 0);
  const int got = (int)syscall(SYS_pidfd_getfd, fd, pipes[0], 0);
  say("a descriptor of it", got >= 0 && got != pipes[0]);
  say("no such", syscall(SYS_pidfd_getfd, fd, 900, 0));
  say("flags", syscall(SYS_pidfd_getfd, fd, pipes[0], 1));
  write(pipes[1], "x", 1);
  siginfo_t info;
  say("ends", waitid(kByDescriptor, (id_t)fd, &info, WEXITED));
  say("with", info.si_status);
  say("gone", syscall(SYS_pidfd_getfd, fd, pipes[0], 0));
  arguments.flags = CLONE_PIDFD | CLONE_PARENT_SETTID;
  int number = 0;
  arguments.parent_tid = (uint64_t)(uintptr_t)&number;
  const long second = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (second == 0) _exit(5);
  say("with its number", number == second);
  say("ends", waitid(kByDescriptor, (id_t)fd, &info, WEXITED));
  say("with", info.si_status);
  say("one place for two", syscall(SYS_clone, CLONE_PIDFD | CLONE_PARENT_SETTID | SIGCHLD, 0, &fd, 0, 0));
}

int main(void) {
  opened();
  errors();
  with_value();
  nonblocking();
  from_clone();
  return 0;
}
