// Transfers that come to an address that the program may not use: what has moved until then, and what is
// told. no-qemu: test_linux_calls.py compares with the host.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "say.h"

enum { page = 4096, pages = 20 };
static char *memory, *end;  // writable pages, and behind them one that is not mapped
static char* const kernels = (char*)-4096L;

static void files(void) {
  const int fd = open("bad_buffers.txt", O_RDWR | O_CREAT | O_TRUNC, 0600);
  memset(memory, 'a', (size_t)pages * page);
  say("write over the end", write(fd, end - 10, 100));
  say("write from behind it", write(fd, end, 100));
  say("write of the kernel's", write(fd, kernels, 100));
  say("nothing to write", write(fd, end, 0));
  say("many pages", pwrite(fd, memory + 100, (size_t)pages * page, 10));
  say("size", lseek(fd, 0, SEEK_END));
  struct iovec second_bad[] = {{end - 7, 7}, {end, 5}, {memory, 3}}, first_bad[] = {{end, 5}, {memory, 3}},
               cut[] = {{end - 7, 9}, {memory, 3}}, kernel_second[] = {{memory, 4}, {kernels, 4}};
  lseek(fd, 0, SEEK_SET);
  say("writev, second bad", writev(fd, second_bad, 3));
  say("writev, first bad", writev(fd, first_bad, 2));
  say("writev, cut", writev(fd, cut, 2));
  say("writev, kernel", writev(fd, kernel_second, 2));
  say("position", lseek(fd, 0, SEEK_CUR));
  say("pwritev, second bad", pwritev(fd, second_bad, 3, 3));
  lseek(fd, 0, SEEK_SET);
  say("readv, second bad", readv(fd, second_bad, 3));
  say("readv, first bad", readv(fd, first_bad, 2));
  say("readv, cut", readv(fd, cut, 2));
  say("readv, kernel", readv(fd, kernel_second, 2));
  say("position", lseek(fd, 0, SEEK_CUR));
  say("preadv, second bad", preadv(fd, second_bad, 3, 3));
  say("the list itself", readv(fd, (struct iovec*)end, 1));
  ftruncate(fd, 30);
  say("a short file", pread(fd, end - 30, 100000, 0));
  say("its end", pread(fd, end, 100, 30));
  say("one before", pread(fd, end, 100, 29));
  say("into a constant", pread(fd, (void*)(uintptr_t)say, 1, 0));
  int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_RDWR);
  say("zeros", read(zero, end - 5, 100));
  say("null", read(null, end, 100));
  say("random", read(open("/dev/urandom", O_RDONLY), end - 5, 100));
  unlink("bad_buffers.txt");
  close(fd);
}

static void pipes(void) {
  int ends[2];
  pipe(ends);
  struct iovec second_bad[] = {{memory, 7}, {end, 5}}, pages_good[] = {{end - 2 * page, 2 * page + 50}};
  say("pipe, write over the end", write(ends[1], end - 10, 100));
  say("pipe, second bad", writev(ends[1], second_bad, 2));
  say("pipe, two pages", writev(ends[1], pages_good, 1));
  say("pipe, at a place", pwritev(ends[1], second_bad, 1, 0));
  say("there", read(ends[0], memory, 10000));
  write(ends[1], "hello", 5);
  say("pipe, more room than is mapped", read(ends[0], end - 5, 1000));
  write(ends[1], "hello", 5);
  say("pipe, less", read(ends[0], end - 3, 1000));
  struct iovec two[] = {{memory, 2}, {memory + 10, 2}},
               two_of_five[] = {{memory, 2}, {memory + 2, 2}, {end, 1}};
  say("pipe, in parts", readv(ends[0], two_of_five, 2));
  say("pipe, the rest", readv(ends[0], two, 2));
  close(ends[1]);
  say("pipe, its end", read(ends[0], end, 10));
}

static void sockets(void) {
  int stream[2], messages[2];
  socketpair(AF_UNIX, SOCK_STREAM, 0, stream);
  socketpair(AF_UNIX, SOCK_DGRAM, 0, messages);
  say("socket, over the end", send(stream[0], end - 10, 100, 0));
  send(stream[0], "hello", 5, 0);
  say("socket, more room than is mapped", recv(stream[1], end - 5, 1000, 0));
  send(stream[0], "hello", 5, 0);
  say("socket, less", recv(stream[1], end - 3, 1000, 0));
  say("socket, still there", recv(stream[1], memory, 1000, MSG_DONTWAIT));
  say("message, over the end", send(messages[0], end - 10, 100, 0));
  say("message, none", recv(messages[1], memory, 100, MSG_DONTWAIT));
  send(messages[0], "hello", 5, 0);
  say("message, more room than is mapped", recv(messages[1], end - 5, 1000, 0));
  struct iovec list[] = {{end - 3, 3}, {end, 100}};
  struct msghdr header = {.msg_iov = list, .msg_iovlen = 2};
  send(messages[0], "hey", 3, 0);
  say("message, its list", recvmsg(messages[1], &header, 0));
  say("sendmsg, second bad", sendmsg(stream[0], &header, 0));
  header.msg_iovlen = 1;
  say("sendmsg, good", sendmsg(stream[0], &header, 0));
  say("recvmsg", recvmsg(stream[1], &header, 0));
}

static void others(void) {
  mkdir("bad_buffers", 0700);
  int folder = open("bad_buffers", O_RDONLY | O_DIRECTORY);
  close(openat(folder, "a-file-with-a-name", O_CREAT | O_WRONLY, 0600));
  say("entries over the end", syscall(SYS_getdents64, folder, end - 60, 1000) > 0);
  say("the rest", syscall(SYS_getdents64, folder, memory, 1000) > 0);
  say("no more", syscall(SYS_getdents64, folder, end, 1000));
  lseek(folder, 0, SEEK_SET);
  say("from behind it", syscall(SYS_getdents64, folder, end, 1000));
  unlinkat(folder, "a-file-with-a-name", 0);
  rmdir("bad_buffers");
  say("random bytes", getrandom(end - 100, 1000, 0));
  say("few random bytes", getrandom(end - 10, 20, 0));
  say("none", getrandom(end, 1000, 0));
  say("two sources", syscall(SYS_getrandom, memory, 8, 6));
  const int counter = eventfd(3, 0);
  struct epoll_event event = {.events = EPOLLIN};
  const int set = epoll_create1(0);
  epoll_ctl(set, EPOLL_CTL_ADD, counter, &event);
  say("events", syscall(SYS_epoll_pwait, set, end - sizeof event, 10, 0, NULL, 8));
  say("nowhere", syscall(SYS_epoll_pwait, set, end, 10, 0, NULL, 8));
}

int main(void) {
  memory = mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  end = memory + pages * page;
  munmap(end, page);
  files();
  pipes();
  sockets();
  others();
  return 0;
}
