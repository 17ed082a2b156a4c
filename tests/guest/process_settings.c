// prctl(): what it sets and tells, what children inherit, and who gets orphans. Prints nothing that depends
// on numbers of processes or on the user. no-qemu: qemu-riscv64 passes these to the host as it likes
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

static void told(const char* what) {
  int death = -1, reaper = -1;
  say("PR_GET_PDEATHSIG", prctl(PR_GET_PDEATHSIG, &death));
  say("PR_GET_CHILD_SUBREAPER", prctl(PR_GET_CHILD_SUBREAPER, &reaper, 0, 0, 0));
  printf("%s: %d %d, %d dumpable, %d kept, %d no new privileges, %d slack, %d pages\n", what, death, reaper,
         prctl(PR_GET_DUMPABLE), prctl(PR_GET_KEEPCAPS), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
         prctl(PR_GET_TIMERSLACK), prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
  fflush(stdout);
}

static void* of_thread(void* nothing) {
  told("thread");
  return nothing;
}

static void end_of(pid_t pid) {
  int status = 0;
  const pid_t got = waitpid(pid, &status, 0);
  if (got < 0)
    say("wait", got);
  else if (WIFSIGNALED(status))
    printf("killed by %d\n", WTERMSIG(status));
  else
    printf("ends with %d\n", WEXITSTATUS(status));
  fflush(stdout);
}

static void settings(void) {
  told("at the start");
  say("death signal", prctl(PR_SET_PDEATHSIG, SIGUSR1));
  say("no such signal", prctl(PR_SET_PDEATHSIG, 65));
  say("no address", prctl(PR_GET_PDEATHSIG, 8));
  say("dumpable", prctl(PR_SET_DUMPABLE, 0));
  say("not so", prctl(PR_SET_DUMPABLE, 3));
  say("keep", prctl(PR_SET_KEEPCAPS, 1));
  say("no more than 1", prctl(PR_SET_KEEPCAPS, 2));
  say("privileges", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  say("not back", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
  say("with more", prctl(PR_SET_NO_NEW_PRIVS, 1, 1, 0, 0));
  say("asked with more", prctl(PR_GET_NO_NEW_PRIVS, 1, 0, 0, 0));
  say("slack", prctl(PR_SET_TIMERSLACK, 777));
  say("pages", prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
  say("seccomp", prctl(PR_GET_SECCOMP));
  say("a capability", prctl(PR_CAPBSET_READ, 0));
  say("none", prctl(PR_CAPBSET_READ, 99));
  say("no such option", prctl(12345));
  told("set");
  pthread_t thread;
  pthread_create(&thread, NULL, of_thread, NULL);
  pthread_join(thread, NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    told("child");
    _exit(0);
  }
  end_of(pid);
  say("slack of old", prctl(PR_SET_TIMERSLACK, 0));
  told("at the end");
}

static volatile sig_atomic_t parent_went;
static void on_death(int signal) { parent_went = signal; }

static void deaths(void) {
  int to[2], gate[2];
  pipe(to), pipe(gate);
  say("reaper", prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
  const pid_t pid = fork();
  if (pid == 0) {
    told("child of a reaper");
    const pid_t reaper = getppid(), child = fork();
    if (child == 0) {
      signal(SIGUSR2, on_death);
      sigset_t set, old;
      sigemptyset(&set);
      sigaddset(&set, SIGUSR2);
      sigprocmask(SIG_BLOCK, &set, &old);
      prctl(PR_SET_PDEATHSIG, SIGUSR2);
      write(to[1], "r", 1);
      sigsuspend(&old);
      char byte;
      read(gate[0], &byte, 1);
      printf("signal %d, its parent is the reaper: %d\n", parent_went == SIGUSR2, getppid() == reaper);
      fflush(stdout);
      _exit(9);
    }
    char byte;
    read(to[0], &byte, 1);
    _exit(3);
  }
  end_of(pid);
  write(gate[1], "g", 1);
  end_of(-1);
  end_of(-1);
  say("no reaper", prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0));
  const pid_t other = fork();
  if (other == 0) {
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      write(to[1], "r", 1);
      for (;;) pause();
    }
    char byte;
    read(to[0], &byte, 1);
    close(to[1]);
    _exit(4);
  }
  close(to[1]);
  end_of(other);
  char byte;
  say("all writers are gone", read(to[0], &byte, 1));
}

static void policies(void) {
  const struct sched_param none = {0};
  say("policy", sched_getscheduler(0));
  say("batch", sched_setscheduler(0, SCHED_BATCH, &none));
  say("is", sched_getscheduler(getpid()));
  const pid_t pid = fork();
  if (pid == 0) {
    say("inherited", sched_getscheduler(0));
    say("its own", sched_setscheduler(0, SCHED_IDLE, &none));
    say("is", sched_getscheduler(0));
    _exit(0);
  }
  end_of(pid);
  say("still", sched_getscheduler(0));
  say("a priority", sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){1}));
  say("no such policy", sched_setscheduler(0, 77, &none));
  say("of no process", sched_getscheduler(0x7fffffff));
  say("negative", sched_getscheduler(-1));
  say("back", sched_setscheduler(0, SCHED_OTHER, &none));
  say("is", sched_getscheduler(0));
}

/// Last: root on the host has none behind it.
static void capabilities(void) {
  struct {
    unsigned version;
    int pid;
  } header = {0x20080522, 0};
  unsigned sets[6] = {0};
  say("give all up", syscall(SYS_capset, &header, sets));
  sets[0] = sets[1] = 1;
  say("take one back", syscall(SYS_capset, &header, sets));
  say("no address", syscall(SYS_capset, &header, 8));
  memset(sets, 1, sizeof sets);
  say("tell", syscall(SYS_capget, &header, sets));
  for (int i = 0; i < 6; ++i) printf("%u ", sets[i]);
  header.pid = getpid();
  memset(sets, 0, sizeof sets);
  say("by number", syscall(SYS_capset, &header, sets));
  header.version = 5;
  say("version", syscall(SYS_capset, &header, sets));
  printf("%x\n", header.version);
}

int main(void) {
  settings();
  deaths();
  policies();
  capabilities();
  return 0;
}
