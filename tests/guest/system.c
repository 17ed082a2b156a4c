// Signals, setjmp, pipes, mappings, time, random bytes, directories, environment.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static sigjmp_buf back;
static void on_user(int signal, siginfo_t* info, void* context) {
  (void)context;
  handled = signal * 100 + (info->si_code == SI_TKILL);
}
static void on_fault(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  printf("fault at %p code %d\n", info->si_addr, info->si_code);
  siglongjmp(back, 1);
}
static void on_alarm(int signal) { handled = signal; }
static int pipes[2];
static void* writer(void* argument) {
  char buffer[1000];
  memset(buffer, 'x', sizeof buffer);
  for (int i = 0; i < 300; ++i)
    if (write(pipes[1], buffer, sizeof buffer) != sizeof buffer) puts("short write");
  close(pipes[1]);
  return argument;
}
static int deep(int n) {
  volatile char frame[200];
  frame[0] = (char)n;
  return n == 0 ? 0 : deep(n - 1) + frame[0] * 0 + 1;
}

int main(void) {
  struct sigaction action = {0};
  action.sa_sigaction = on_user;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
  printf("%d\n", handled);
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  sigprocmask(SIG_BLOCK, &set, &old);
  handled = 0;
  raise(SIGUSR1);
  sigpending(&set);
  printf("%d %d\n", handled, sigismember(&set, SIGUSR1));
  sigprocmask(SIG_SETMASK, &old, NULL);
  printf("%d\n", handled);

  stack_t alternate = {.ss_sp = malloc(65536), .ss_size = 65536};
  sigaltstack(&alternate, NULL);
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, NULL);
  if (sigsetjmp(back, 1) == 0) *(volatile int*)16 = 1;
  char* page = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(page + 4096, 4096, PROT_READ | PROT_WRITE);
  page[4096] = 7;
  if (sigsetjmp(back, 1) == 0) {
    struct sigaction plain = {0};
    plain.sa_handler = (void (*)(int))0;
    sigaction(SIGUSR2, &plain, NULL);
  }
  printf("%d %d\n", page[0], page[4096]);
  munmap(page, 4096);

  pthread_t thread;
  if (pipe(pipes) != 0) return 1;
  pthread_create(&thread, NULL, writer, NULL);
  char buffer[4096];
  long total = 0;
  for (ssize_t n; (n = read(pipes[0], buffer, sizeof buffer)) > 0;) total += n;
  printf("%ld\n", total);
  pthread_join(thread, NULL);
  signal(SIGPIPE, SIG_IGN);
  if (pipe(pipes) != 0) return 1;
  close(pipes[0]);
  printf("%zd %d\n", write(pipes[1], "a", 1), errno == EPIPE);
  int counter = eventfd(3, 0);
  struct pollfd polled = {counter, POLLIN, 0};
  printf("%d %d\n", poll(&polled, 1, 1000), polled.revents == POLLIN);

  int fd = open("guest_system_test_file", O_RDWR | O_CREAT | O_TRUNC, 0644);
  struct iovec parts[2] = {{"hello ", 6}, {"world", 5}};
  printf("%zd\n", writev(fd, parts, 2));
  char* mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  memcpy(mapped, "HELLO", 5);
  munmap(mapped, 4096);
  printf("%zd %.11s\n", pread(fd, buffer, 100, 0), buffer);
  unlink("guest_system_test_file");
  char* grown = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  strcpy(grown, "kept");
  grown = mremap(grown, 4096, 1 << 22, MREMAP_MAYMOVE);
  grown[(1 << 22) - 1] = 1;
  printf("%s\n", grown);

  struct timespec before, after, pause = {0, 30000000};
  clock_gettime(CLOCK_MONOTONIC, &before);
  nanosleep(&pause, NULL);
  clock_gettime(CLOCK_MONOTONIC, &after);
  printf("%d\n", (after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec >= 30000000);
  signal(SIGALRM, on_alarm);
  struct itimerval timer = {{0, 0}, {0, 5000}};
  handled = 0;
  setitimer(ITIMER_REAL, &timer, NULL);
  while (!handled) {
  }
  printf("%d\n", handled);
  unsigned char random[16] = {0};
  printf("%zd\n", getrandom(random, sizeof random, 0));
  struct utsname names;
  uname(&names);
  printf("%s %s\n", names.sysname, names.machine);
  printf("%d %ld %d\n", deep(20000), sysconf(_SC_PAGESIZE), getauxval(AT_PAGESZ) == 4096);
  printf("%s\n", getenv("RUBATO_TEST_VARIABLE") ? "set" : "unset");
  return 9;
}
