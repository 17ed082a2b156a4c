// Memory of other processes, pages of files and NUMA policies, as a machine with one node has them.
// no-qemu: it has no cachestat
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

enum { kPage = 4096, kProcessMadvise = 440, kCachestat = 451 };

static void others(void) {
  char* const room = mmap(NULL, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(room + 2 * kPage, kPage, PROT_NONE);
  strcpy(room, "before");
  int go[2];
  pipe(go);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    strcpy(room, "of the child");
    write(go[1], "x", 1);
    while (*(volatile char*)(room + 100) == 0) usleep(1000);
    printf("child finds: %s\n", room + 100);
    fflush(stdout);
    _exit((int)read(-1, &byte, 1) + 1);
  }
  char text[200] = "";
  read(go[0], text, 1);
  struct iovec here[2] = {{text, 3}, {text + 10, 100}}, there[2] = {{room, 6}, {room + 6, 7}};
  say("read", process_vm_readv(child, here, 2, there, 2, 0));
  printf("'%.3s' '%s', here '%s'\n", text, text + 10, room);
  fflush(stdout);
  there[0] = (struct iovec){room + 2 * kPage - 4, 100};
  say("up to the end", process_vm_readv(child, here, 2, there, 1, 0));
  there[0] = (struct iovec){(void*)8, 8};
  say("not there", process_vm_readv(child, here, 1, there, 1, 0));
  say("flags", process_vm_readv(child, here, 1, there, 1, 1));
  say("no process", process_vm_readv(999999, here, 1, there, 1, 0));
  const int descriptor = (int)syscall(SYS_pidfd_open, child, 0);
  struct iovec advised[2] = {{room, kPage}, {room + kPage, kPage}};
  say("advice", syscall(kProcessMadvise, descriptor, advised, 2, MADV_COLD, 0));
  say("no such advice", syscall(kProcessMadvise, descriptor, advised, 2, MADV_DONTNEED, 0));
  say("no process's", syscall(kProcessMadvise, 0, advised, 2, MADV_COLD, 0));
  advised[1].iov_base = (void*)kPage;  // below what may be mapped
  say("a part", syscall(kProcessMadvise, descriptor, advised, 2, MADV_COLD, 0));
  strcpy(text, "written by the parent");
  here[0] = (struct iovec){text, strlen(text) + 1};
  there[0] = (struct iovec){room + 100, 100};
  say("write", process_vm_writev(child, here, 1, there, 1, 0));
  int status = 0;
  waitpid(child, &status, 0);
  say("child", WEXITSTATUS(status));
}

static void pages(void) {
  const int file = open("other_memory.txt", O_RDWR | O_CREAT | O_TRUNC, 0600);
  static char text[3 * kPage + 1];
  write(file, text, sizeof text);
  unsigned long range[2] = {kPage - 1, 2}, counts[5];
  say("pages", syscall(kCachestat, file, range, counts, 0));
  say("of two bytes", (long)counts[0]);
  range[0] = range[1] = 0;
  syscall(kCachestat, file, range, counts, 0);
  say("of all", (long)counts[0]);
  say("flags", syscall(kCachestat, file, range, counts, 1));
  say("no file", syscall(kCachestat, 99, range, counts, 0));
  unlink("other_memory.txt");
}

static void nodes(void) {
  int mode = -1;
  unsigned long mask = 0;
  say("policy", syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0));
  say("usual", mode);
  say("allowed", syscall(SYS_get_mempolicy, NULL, &mask, 64, NULL, 4));
  say("nodes", (long)mask);
  say("its node", syscall(SYS_get_mempolicy, &mode, NULL, 0, &mask, 3));
  say("is", mode);
  say("bind", syscall(SYS_set_mempolicy, 2, &mask, 64));
  mask = 2;
  say("no such node", syscall(SYS_set_mempolicy, 2, &mask, 64));
  say("no such policy", syscall(SYS_set_mempolicy, 77, NULL, 0));
}

int main(void) {
  others();
  pages();
  nodes();
  return 0;
}
