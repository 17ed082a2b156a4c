// futex_waitv(): a wait for any of several words. Prints the same on every Linux that has it.
// no-qemu: it has no futex_waitv
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "say.h"

enum { kWaitv = 449, kWords = 3 };

static struct {
  uint64_t value, word;
  uint32_t flags, reserved;
} waiters[kWords + 1];
static uint32_t* words;

static void prepare(uint32_t flags) {
  for (int i = 0; i <= kWords; ++i) {
    waiters[i].value = words[i];
    waiters[i].word = (uint64_t)(words + i);
    waiters[i].flags = 2 | flags;
    waiters[i].reserved = 0;
  }
}

static long wait_for(unsigned count, const struct timespec* until, int clock) {
  return syscall(kWaitv, waiters, count, 0, until, clock);
}

static void* wakes(void* word) {
  usleep(3000);
  *(volatile uint32_t*)word += 1;
  syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
  return NULL;
}

int main(void) {
  words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < kWords; ++i) {
    prepare(0);
    pthread_t thread;
    pthread_create(&thread, NULL, wakes, words + i);
    say("woken by", wait_for(kWords, NULL, CLOCK_MONOTONIC));
    pthread_join(thread, NULL);
  }
  prepare(0);
  const pid_t child = fork();
  if (child == 0) {
    wakes(words + 2);
    _exit(0);
  }
  say("woken by a process", wait_for(kWords, NULL, CLOCK_MONOTONIC));
  wait(NULL);
  prepare(0);
  waiters[1].word = waiters[0].word;  // twice the same
  pthread_t thread;
  pthread_create(&thread, NULL, wakes, words);
  say("the first of two", wait_for(2, NULL, CLOCK_MONOTONIC));
  pthread_join(thread, NULL);
  prepare(0);
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += until.tv_nsec > 990000000;
  until.tv_nsec = (until.tv_nsec + 10000000) % 1000000000;
  say("in time", wait_for(kWords, &until, CLOCK_REALTIME));
  say("no clock", wait_for(kWords, &until, CLOCK_BOOTTIME));
  waiters[2].value += 1;
  say("changed", wait_for(kWords, NULL, CLOCK_MONOTONIC));
  prepare(0);
  say("none", wait_for(0, NULL, CLOCK_MONOTONIC));
  say("too many", wait_for(129, NULL, CLOCK_MONOTONIC));
  waiters[1].flags = 1;
  say("a short word", wait_for(kWords, NULL, CLOCK_MONOTONIC));
  prepare(0);
  waiters[1].word += 1;
  say("odd", wait_for(kWords, NULL, CLOCK_MONOTONIC));
  waiters[1].word = 8;
  say("not there", wait_for(kWords, NULL, CLOCK_MONOTONIC));
  say("of no words", syscall(kWaitv, NULL, 1, 0, NULL, 0));
  prepare(128);
  say("flags", syscall(kWaitv, waiters, kWords, 1, NULL, 0));
  return 0;
}
