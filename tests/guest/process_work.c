// N processes (the argument, the first included) that each do the same work.
// no-qemu: it is measured, and compared with nothing
// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned work(void) {
  static unsigned words[4096];
  unsigned sum = 1;
  for (int i = 0; i < 100000; ++i) sum = sum * 1664525u + words[sum % 4096]++;
  return sum;
}

int main(int count, char** arguments) {
  int left = count > 1 ? atoi(arguments[1]) : 1;
  while (--left > 0) {
    pid_t pid = fork();
    if (pid < 0) return 2;
    if (pid == 0) _exit(work() == 0);
  }
  int status = (int)(work() == 0), ended = 0;
  while (wait(&ended) > 0) status |= ended;
  return status;
}
