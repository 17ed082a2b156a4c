// Job control: processes that signals stop and let go on, what their parents hear of it, and groups. Prints
// nothing that depends on numbers of processes. It begins in a session of its own, without a terminal.
// no-qemu: it executes itself, which qemu-riscv64 can do only where the host knows RISC-V programs
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "say.h"

enum { kMillisecond = 1000 };

struct Shared {
  volatile long count, other;
  volatile int word, woken[2];
};
static struct Shared* shared;

static const char* in_words(int status) {
  static char text[64];
  if (WIFEXITED(status))
    sprintf(text, "exits with %d", WEXITSTATUS(status));
  else if (WIFSTOPPED(status))
    sprintf(text, "stopped by %d", WSTOPSIG(status));
  else if (WIFCONTINUED(status))
    sprintf(text, "goes on");
  else
    sprintf(text, "killed by %d", WTERMSIG(status));
  return text;
}

static int gate[2];

/// A child goes on behind this when its parent has seen what there was to see.
static void pass(void) {
  char byte;
  while (read(gate[0], &byte, 1) != 1) {
  }
}
static void let_pass(void) { write(gate[1], "g", 1); }

static void news(const char* of, pid_t pid) {
  int status = 0;
  const pid_t got = waitpid(pid, &status, WUNTRACED | WCONTINUED);
  printf("%s: %s\n", of, got == pid ? in_words(status) : strerrorname_np(errno));
  fflush(stdout);
}

static void stops(void) {
  printf("-- stops\n");
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    raise(SIGSTOP);
    pass();
    _exit(4);
  }
  news("raise", pid);
  say("told once", waitpid(pid, NULL, WUNTRACED | WCONTINUED | WNOHANG));
  say("continue", kill(pid, SIGCONT));
  news("SIGCONT", pid);
  let_pass();
  news("end", pid);

  pid = fork();
  if (pid == 0) {
    for (;;) pause();
  }
  kill(pid, SIGSTOP);
  siginfo_t info;
  for (int i = 0; i < 2; ++i) {
    memset(&info, 0, sizeof info);
    say("waitid", waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOWAIT));
    printf("%d %d %d %d\n", info.si_signo, info.si_code == CLD_STOPPED, info.si_status, info.si_pid == pid);
  }
  news("taken", pid);
  memset(&info, 0, sizeof info);
  say("nothing more", waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOHANG));
  say("of", info.si_pid);
  kill(pid, SIGSTOP);  // it is stopped already
  say("stopped again", waitpid(pid, NULL, WUNTRACED | WNOHANG));
  kill(pid, SIGTERM);
  usleep(5 * kMillisecond);
  say("SIGTERM waits", waitpid(pid, NULL, WNOHANG));
  kill(pid, SIGCONT);
  int status = 0;
  waitpid(pid, &status, 0);
  printf("%s\n", in_words(status));

  pid = fork();
  if (pid == 0) {
    sigset_t set, old;
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, &old);
    raise(SIGTERM);
    sigprocmask(SIG_SETMASK, &old, NULL);
    _exit(1);
  }
  news("unblocks a signal", pid);
  pid = fork();
  if (pid == 0) raise(SIGSTOP), _exit(1);
  news("stopped", pid);
  kill(pid, SIGKILL);
  news("SIGKILL does not wait", pid);
}

static volatile sig_atomic_t children, stopped, continued, ended, handled, continuations;

static void on_child(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  ++children;
  stopped += info->si_code == CLD_STOPPED && info->si_status == SIGTSTP;
  continued += info->si_code == CLD_CONTINUED && info->si_status == SIGCONT;
  ended += info->si_code == CLD_EXITED && info->si_status == 6;
}

static void on_signal(int signal) {
  if (signal == SIGCONT)
    ++continuations;
  else
    ++handled;
}

static void tells(int flags, const char* what) {
  struct sigaction action = {.sa_sigaction = on_child, .sa_flags = SA_SIGINFO | SA_RESTART | flags};
  sigaction(SIGCHLD, &action, NULL);
  children = stopped = continued = ended = 0;
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    raise(SIGTSTP);
    pass();
    _exit(6);
  }
  news("child", pid);
  kill(pid, SIGCONT);
  news("child", pid);
  let_pass();
  news("child", pid);
  printf("%s: %d signals, %d stopped, %d continued, %d ended\n", what, children, stopped, continued, ended);
  fflush(stdout);
  signal(SIGCHLD, SIG_DFL);
}

static void handlers(void) {
  printf("-- handlers\n");
  fflush(stdout);
  tells(0, "all");
  tells(SA_NOCLDSTOP, "without stops");
  pid_t pid = fork();
  if (pid == 0) {
    signal(SIGUSR1, on_signal);
    signal(SIGCONT, on_signal);
    signal(SIGTSTP, on_signal);
    raise(SIGTSTP);
    raise(SIGCONT);
    shared->count = handled * 10 + continuations;
    raise(SIGSTOP);
    pass();
    _exit(10 * handled + continuations);
  }
  news("handlers of stops", pid);
  say("ran", shared->count);
  kill(pid, SIGUSR1);
  usleep(2 * kMillisecond);
  kill(pid, SIGCONT);
  news("goes on", pid);
  let_pass();
  news("all ran", pid);
  pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    sigaddset(&set, SIGCONT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGTSTP);
    raise(SIGCONT);  // takes back the stop
    sigset_t pending;
    sigpending(&pending);
    const int first = sigismember(&pending, SIGTSTP) * 2 + sigismember(&pending, SIGCONT);
    raise(SIGTTOU);
    sigpending(&pending);
    pass();
    _exit(10 * first + sigismember(&pending, SIGCONT));
  }
  news("SIGTTOU stops", pid);
  kill(pid, SIGCONT);
  news("goes on", pid);
  let_pass();
  news("taken back", pid);
}

static void* count_up(void* at) {
  for (;;) ++*(volatile long*)at;
  return NULL;
}

static void running(void) {
  printf("-- running threads\n");
  fflush(stdout);
  shared->count = shared->other = 0;
  const pid_t pid = fork();
  if (pid == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, count_up, (void*)&shared->count);
    count_up((void*)&shared->other);
  }
  while (shared->count < 1000 || shared->other < 1000) usleep(kMillisecond / 10);
  kill(pid, SIGSTOP);
  news("two threads", pid);
  usleep(kMillisecond);
  const long before[2] = {shared->count, shared->other};
  usleep(kMillisecond);
  say("stand still", shared->count == before[0] && shared->other == before[1]);
  kill(pid, SIGCONT);
  news("both", pid);
  while (shared->count <= before[0] + 1000 || shared->other <= before[1] + 1000) usleep(kMillisecond / 10);
  kill(pid, SIGKILL);
  news("they ran", pid);
}

static long milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static long wait_word(int value) {
  return syscall(SYS_futex, &shared->word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static int wait_in(const char* call) {
  if (strcmp(call, "sleep") == 0) {
    const long begin = milliseconds();
    const struct timespec time = {0, 150 * 1000000};
    const int result = nanosleep(&time, NULL);
    return result != 0 ? errno : milliseconds() - begin >= 200 ? 0 : 1;
  }
  if (strcmp(call, "epoll") == 0) {
    struct epoll_event event;
    return epoll_wait(epoll_create1(0), &event, 1, -1) < 0 ? errno : 0;
  }
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, NULL);
  return sigtimedwait(&set, NULL, &(struct timespec){20, 0}) < 0 ? errno : 0;
}

static void waits(void) {
  printf("-- waits\n");
  fflush(stdout);
  int to[2], back[2];
  pipe(to), pipe(back);
  pid_t pid = fork();
  if (pid == 0) {
    char byte = 0;
    const int end = read(to[0], &byte, 1) == 1 ? byte : errno;
    pass();
    _exit(end);
  }
  usleep(3 * kMillisecond);
  kill(pid, SIGSTOP);
  news("a reader", pid);
  write(to[1], "\7", 1);
  usleep(3 * kMillisecond);
  int left = 0;
  ioctl(to[0], FIONREAD, &left);
  say("takes nothing", left);
  kill(pid, SIGCONT);
  news("it", pid);
  let_pass();
  news("reads", pid);

  shared->word = 0;
  pid_t sleepers[2];
  for (int i = 0; i < 2; ++i) {
    sleepers[i] = fork();
    if (sleepers[i] == 0) {
      while (shared->word == 0) wait_word(0);
      shared->woken[i] = 1;
      if (i == 0) pass();
      _exit(i);
    }
    usleep(50 * kMillisecond);
  }
  kill(sleepers[0], SIGSTOP);
  news("the first of two at a futex", sleepers[0]);
  shared->word = 1;
  say("one is woken", syscall(SYS_futex, &shared->word, FUTEX_WAKE, 1, NULL, NULL, 0));
  news("the other", sleepers[1]);
  say("the stopped one", shared->woken[0]);
  kill(sleepers[0], SIGCONT);
  news("it", sleepers[0]);
  let_pass();
  news("sees the word", sleepers[0]);

  const char* const calls[] = {"sleep", "epoll", "sigtimedwait"};
  for (int i = 0; i < 3; ++i) {
    pid = fork();
    if (pid == 0) {
      const int end = wait_in(calls[i]);
      pass();
      _exit(end);
    }
    usleep(50 * kMillisecond);
    kill(pid, SIGSTOP);
    news(calls[i], pid);
    usleep(200 * kMillisecond);
    kill(pid, SIGCONT);
    news(calls[i], pid);
    let_pass();
    int status = 0;
    waitpid(pid, &status, 0);
    printf("%s: %s\n", calls[i], WEXITSTATUS(status) == EINTR ? "EINTR" : in_words(status));
  }
  pid = fork();
  if (pid == 0) {
    const pid_t child = fork();
    if (child == 0) {
      usleep(30 * kMillisecond);
      _exit(9);
    }
    int status = 0;
    waitpid(child, &status, 0);
    pass();
    _exit(WEXITSTATUS(status));
  }
  usleep(3 * kMillisecond);
  kill(pid, SIGSTOP);
  news("a parent", pid);
  usleep(60 * kMillisecond);
  kill(pid, SIGCONT);
  news("it", pid);
  let_pass();
  news("finds its child", pid);
}

static void groups(char* self) {
  printf("-- groups\n");
  fflush(stdout);
  raise(SIGTSTP);
  raise(SIGTTIN);
  raise(SIGTTOU);
  printf("no stop of an orphaned group\n");
  say("group of a leader of a session", setpgid(0, 0));
  say("negative", setpgid(0, -1));
  say("of another", setpgid(getppid(), 0));
  say("of nobody's", setpgid(0x7ffffff, 0));
  say("a session of a leader", setsid());
  say("no terminal", tcgetpgrp(0));
  say("none to give", tcsetpgrp(0, getpgrp()));
  say("to open", open("/dev/tty", O_RDWR));
  int to[2];
  pipe(to);
  pid_t pid = fork();
  if (pid == 0) {
    close(to[1]);
    execl(self, self, "wait", NULL);
    _exit(1);
  }
  usleep(10 * kMillisecond);
  int status = 0;
  waitpid(pid, &status, WUNTRACED);
  printf("%s\n", in_words(status));
  say("it has executed", setpgid(pid, pid));
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);

  pid = fork();
  if (pid == 0) {
    for (;;) pause();
  }
  say("a group of its own", setpgid(pid, pid));
  say("is", getpgid(pid) == pid && getsid(pid) == getsid(0));
  const pid_t member = fork();
  if (member == 0) {
    for (;;) pause();
  }
  say("another joins", setpgid(member, pid));
  say("no such group", setpgid(member, member + 1000));
  say("the group stops", killpg(pid, SIGTSTP));
  news("one", pid);
  news("other", member);
  killpg(pid, SIGCONT);
  news("one", pid);
  news("other", member);
  killpg(pid, SIGTERM);
  news("one", pid);
  news("other", member);

  // A leader ends, and a stopped process of its group is an orphan.
  int told[2];
  pipe(told);
  pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGHUP, on_signal);
      raise(SIGSTOP);
      write(told[1], handled == 1 ? "h" : "?", 1);
      _exit(0);
    }
    news("grandchild", child);
    _exit(2);
  }
  news("leader", pid);
  char byte = 0;
  read(told[0], &byte, 1);
  printf("hung up: %c\n", byte);
}

int main(int argc, char** argv) {
  if (argc > 1) {
    raise(SIGSTOP);
    return 0;
  }
  char self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  self[length] = 0;
  shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pipe(gate);
  stops();
  handlers();
  running();
  waits();
  groups(self);
  return 0;
}
