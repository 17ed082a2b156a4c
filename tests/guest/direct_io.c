// Reads and writes of a file opened with O_DIRECT, with their times on the simulated disk: whole tens of
// microseconds, since calls and cold caches take some, too. `direct_io WHAT FILE`. The file has four pages at
// first, page i full of letter 'a' + i.
// no-qemu: times are those of the simulated disk.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { kPage = 4096, kPages = 4, kReaders = 8 };

static _Alignas(kPage) char buffers[kReaders][kPage * kPages];
static int file;
static volatile int alarms;

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}
static void show(const char* what, long long since, ssize_t result) {
  const int error = errno;
  printf("%s: %zd", what, result);
  if (result < 0) printf(" %s", strerror(error));
  printf(", %lld us\n", (now() - since) / 10000 * 10);
}
#define TIMED(what, call)        \
  do {                           \
    const long long at = now();  \
    const ssize_t result = call; \
    show(what, at, result);      \
  } while (0)

static void requests(const char* path) {
  char* const b = buffers[0];
  TIMED("pread", pread(file, b, kPage, kPage));
  printf("%c\n", b[0]);
  const struct iovec both[2] = {{buffers[1], kPage}, {buffers[2], kPage}};
  TIMED("preadv", preadv(file, both, 2, 0));
  printf("%c%c\n", buffers[1][0], buffers[2][kPage - 1]);
  memset(b, 'x', kPage);
  TIMED("pwrite", pwrite(file, b, kPage, 2 * kPage));
  TIMED("fsync after it", fsync(file));
  lseek(file, 2 * kPage, SEEK_SET);
  TIMED("read", read(file, b, 2 * kPage));
  printf("%c%c\n", b[0], b[kPage]);
  TIMED("read at the end", read(file, b, kPage));
  TIMED("pread of 512 bytes", pread(file, b, 512, 512));
  TIMED("pread of an odd length", pread(file, b, 100, 0));
  TIMED("pread at an odd offset", pread(file, b, 512, 100));
  TIMED("pread to an odd address", pread(file, b + 8, 512, 0));
  TIMED("pread to nowhere", pread(file, (char*)0x1000, 512, 0));
  const int plain = open(path, O_RDWR);
  TIMED("pread without O_DIRECT", pread(plain, b, 100, 2 * kPage));
  fcntl(plain, F_SETFL, O_DIRECT);
  TIMED("pread with O_DIRECT by fcntl", pread(plain, b, kPage, 0));
  printf("%d\n", (fcntl(plain, F_GETFL) & O_DIRECT) != 0);
}

static void* read_page(void* argument) {
  const long reader = (long)argument;
  if (pread(file, buffers[reader], kPage, reader % kPages * kPage) != kPage) abort();
  return NULL;
}

static void at_once(void) {
  pthread_t threads[kReaders];
  const long long at = now();
  for (long i = 0; i < kReaders; ++i) pthread_create(&threads[i], NULL, read_page, (void*)i);
  for (int i = 0; i < kReaders; ++i) pthread_join(threads[i], NULL);
  const long long took = now() - at;
  for (int i = 0; i < kReaders; ++i) putchar(buffers[i][kPage - 1]);
  printf(", %s\n", took < 2 * 70000 ? "at once" : "one after the other");
}

// A write's bytes are those of the call, and fsync waits for the writes of other threads.
static void* write_page(void* argument) {
  (void)argument;
  memset(buffers[1], 'y', kPage);
  if (pwrite(file, buffers[1], kPage, 0) != kPage) abort();
  return NULL;
}
static void sync_others(const char* path) {
  pthread_t writer;
  pthread_create(&writer, NULL, write_page, NULL);
  usleep(5);
  memset(buffers[1], 'z', kPage);
  fsync(file);
  const int plain = open(path, O_RDONLY);
  if (pread(plain, buffers[2], kPage, 0) != kPage) abort();
  pthread_join(writer, NULL);
  printf("%c\n", buffers[2][0]);
}

static void count_alarm(int signal) { alarms += signal == SIGALRM; }
static void signals(void) {
  const struct sigaction action = {.sa_handler = count_alarm};
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval soon = {.it_value = {0, 20}};
  setitimer(ITIMER_REAL, &soon, NULL);
  TIMED("pread", pread(file, buffers[0], kPage, 0));
  printf("%c, %d alarms\n", buffers[0][0], alarms);
}

// A write that is under way when the program ends is not lost.
static void leave(void) {
  pthread_t writer;
  pthread_create(&writer, NULL, write_page, NULL);
  usleep(5);
  exit(0);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int made = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0666);
  for (int i = 0; i < kPages; ++i) {
    memset(buffers[0], 'a' + i, kPage);
    if (pwrite(made, buffers[0], kPage, i * kPage) != kPage) return 3;
  }
  close(made);
  file = open(argv[2], O_RDWR | O_DIRECT);
  if (strcmp(argv[1], "requests") == 0) requests(argv[2]);
  if (strcmp(argv[1], "at_once") == 0) at_once();
  if (strcmp(argv[1], "sync_others") == 0) sync_others(argv[2]);
  if (strcmp(argv[1], "signals") == 0) signals();
  if (strcmp(argv[1], "leave") == 0) leave();
  return 0;
}
