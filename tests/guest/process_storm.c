// Random children, several at a time, that end in every way there is, and what their parent hears of them.
// The argument is a seed. Prints the same on every Linux. no-qemu: it executes itself, which qemu-riscv64 can
// do only where the host knows RISC-V programs
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kRounds = 10, kMost = 5, kAdds = 40, kKinds = 10 };

struct Shared {
  pthread_mutex_t mutex;
  long count;   // under the mutex
  long atomic;  // by atomic adds
};

static char self[4096];
static struct Shared* shared;
static unsigned long state;
static long of_own = 5;
static int* volatile nowhere;

static unsigned below(unsigned most) {
  state = state * 6364136223846793005ul + 1442695040888963407ul;
  return (unsigned)(state >> 33) % most;
}

static void* leave(void* code) { exit((int)(long)code); }
static void* spin(void* nothing) {
  for (volatile long i = 0;; ++i)
    ;
  return nothing;
}

static void execute(int code) {
  char text[16];
  snprintf(text, sizeof text, "%d", code);
  char* arguments[] = {self, "exit", text, NULL};
  execv(self, arguments);
  _exit(99);
}

static int status_of(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void child(unsigned kind, int code, int orphans) {
  pthread_t thread;
  pid_t pid, parent = getpid();
  of_own += code;
  switch (kind) {
    case 0:
      exit(code);
    case 1:
      raise(code % 2 ? SIGKILL : SIGTERM);
    case 2:
      *nowhere = code;
    case 3:
      execute(code);
    case 4:  // its own child outlives it
      pid = fork();
      if (pid != 0) _exit(code);
      while (getppid() == parent) usleep(100);
      write(orphans, "o", 1);
      _exit(1);
    case 5:
      pthread_create(&thread, NULL, spin, NULL);
      pthread_create(&thread, NULL, leave, (void*)(long)code);
      spin(NULL);
    case 6:
      for (;;) pause();
    case 7:
      pid = vfork();
      if (pid == 0) execute(code);
      _exit(status_of(pid));
    case 8:
      for (int i = 0; i < kAdds; ++i) {
        pthread_mutex_lock(&shared->mutex);
        long value = shared->count;
        if (i % 8 == 0) usleep(1);
        shared->count = value + 1;
        pthread_mutex_unlock(&shared->mutex);
        __atomic_fetch_add(&shared->atomic, 1, __ATOMIC_RELAXED);
        long old = __atomic_load_n(&shared->atomic, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&shared->atomic, &old, old + 1, 0, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED))
          continue;
      }
      _exit(code);
    default:
      pid = fork();
      if (pid == 0) abort();
      _exit(status_of(pid) == 1000 + SIGABRT ? code : 98);
  }
}

int main(int count, char** arguments) {
  setlinebuf(stdout);
  self[readlink("/proc/self/exe", self, sizeof self - 1)] = '\0';
  if (count > 2) return atoi(arguments[2]);
  state = count > 1 ? strtoul(arguments[1], NULL, 10) : 1;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&shared->mutex, &attributes);
  int orphans[2], expected = 0, adders = 0;
  pipe(orphans);
  for (int round = 0; round < kRounds; ++round) {
    pid_t pids[kMost];
    unsigned kinds[kMost];
    int results[kMost], children = 1 + (int)below(kMost);
    for (int i = 0; i < children; ++i) {
      int code = (int)below(90);
      kinds[i] = below(kKinds);
      expected += kinds[i] == 4;
      adders += kinds[i] == 8;
      fflush(stdout);
      pids[i] = fork();
      if (pids[i] == 0) {
        close(orphans[0]);
        child(kinds[i], code, orphans[1]);
      }
    }
    for (int i = 0; i < children; ++i)
      if (kinds[i] == 6) kill(pids[i], i % 2 ? SIGKILL : SIGUSR1);
    for (int left = children; left != 0; --left) {
      int status = 0;
      pid_t pid;
      while ((pid = waitpid(-1, &status, 0)) < 0 && errno == EINTR) continue;
      for (int i = 0; i < children; ++i)
        if (pids[i] == pid) results[i] = WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    printf("round %d:", round);
    for (int i = 0; i < children; ++i) printf(" %u>%d", kinds[i], results[i]);
    printf(", %ld and %ld, %d\n", shared->count - adders * kAdds, shared->atomic - adders * kAdds * 2,
           waitpid(-1, NULL, 0) < 0 ? -errno : 0);
  }
  close(orphans[1]);
  int heard = 0;
  for (char byte; read(orphans[0], &byte, 1) == 1;) ++heard;
  printf("orphans %d of %d, own %ld\n", heard, expected, of_own);
  return 0;
}
