// Sockets and what waits for them: messages with descriptors, select, epoll by level and by edge, threads
// that serve and ask, long writes, and pipes into which sockets are spliced.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/uio.h>
#include <unistd.h>

#include "loopback.h"

// --- messages
static void messages(void) {
  printf("-- messages\n");
  int s[2], ends[2];
  socketpair(AF_UNIX, SOCK_STREAM, 0, s);
  pipe(ends);
  struct iovec out[2] = {{"one", 3}, {"two", 3}};
  char control[64] = {0}, b[16] = {0};
  struct msghdr m = {
      .msg_iov = out, .msg_iovlen = 2, .msg_control = control, .msg_controllen = CMSG_SPACE(8)};
  struct cmsghdr* c = CMSG_FIRSTHDR(&m);
  *c = (struct cmsghdr){.cmsg_len = CMSG_LEN(8), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(c), ends, 8);
  say("send", sendmsg(s[0], &m, 0));
  write(s[0], "three", 5);
  struct iovec in[2] = {{b, 2}, {b + 2, 12}}, four = {b, 4};
  memset(control, 0, sizeof control);
  m = (struct msghdr){
      .msg_iov = in, .msg_iovlen = 2, .msg_control = control, .msg_controllen = sizeof control};
  say("receive", recvmsg(s[1], &m, MSG_CMSG_CLOEXEC));
  c = CMSG_FIRSTHDR(&m);
  int got[2] = {-1, -1};
  if (c != NULL) memcpy(got, CMSG_DATA(c), 8);
  printf("%s, control %d, flags %x\n", b, (int)m.msg_controllen, (unsigned)m.msg_flags & 0xff);
  say("by the descriptor that came", write(got[1], "through", 7));
  say("through the pipe", read(ends[0], b, sizeof b));
  printf("closes on exec %d\n", fcntl(got[0], F_GETFD));
  m = (struct msghdr){.msg_iov = in, .msg_iovlen = 2};
  say("the rest", recvmsg(s[1], &m, 0));
  close(s[0]);
  close(s[1]);

  const int u = socket(AF_INET, SOCK_DGRAM, 0), v = socket(AF_INET, SOCK_DGRAM, 0);
  struct sockaddr_in a = on_loopback(0);
  bind(u, (void*)&a, sizeof a);
  a = on_loopback(port_of(u));
  struct mmsghdr many[3] = {{{0}}};
  for (int i = 0; i < 3; ++i)
    many[i].msg_hdr = (struct msghdr){
        .msg_name = &a, .msg_namelen = sizeof a, .msg_iov = out, .msg_iovlen = 1 + (size_t)i % 2};
  say("send many", sendmmsg(v, many, 3, 0));
  struct sockaddr_in from[4];
  for (int i = 0; i < 3; ++i)
    many[i].msg_hdr =
        (struct msghdr){.msg_name = &from[i], .msg_namelen = sizeof a, .msg_iov = &four, .msg_iovlen = 1};
  say("receive many", recvmmsg(u, many, 3, MSG_WAITFORONE, NULL));
  for (int i = 0; i < 3; ++i)
    printf("%u bytes, cut %d, from %d\n", many[i].msg_len, (many[i].msg_hdr.msg_flags & MSG_TRUNC) != 0,
           ntohs(from[i].sin_port) == port_of(v));
  close(u);
  close(v);
}

// --- select, epoll
static void readiness(void) {
  printf("-- readiness\n");
  const int l = listener(8), set = epoll_create1(0);
  const int c = client(l), s = accept(l, NULL, NULL);
  fcntl(s, F_SETFL, O_NONBLOCK);
  fd_set in, out;
  FD_ZERO(&in);
  FD_ZERO(&out);
  FD_SET(c, &in);
  FD_SET(c, &out);
  struct timeval none = {0, 0};
  say("select", select(c + 1, &in, &out, NULL, &none));
  printf("reads %d, writes %d\n", FD_ISSET(c, &in) != 0, FD_ISSET(c, &out) != 0);

  struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.fd = s}, got[4];
  epoll_ctl(set, EPOLL_CTL_ADD, s, &e);
  say("new", epoll_wait(set, got, 4, 0));
  printf("%x\n", got[0].events);
  say("no edge", epoll_wait(set, got, 4, 0));
  write(c, "ab", 2);
  say("bytes", epoll_wait(set, got, 4, 1000));
  printf("%x\n", got[0].events);
  say("no edge", epoll_wait(set, got, 4, 0));
  write(c, "cd", 2);
  say("more bytes", epoll_wait(set, got, 4, 1000));
  char b[16];
  say("read", read(s, b, 1));
  say("bytes are left, no edge", epoll_wait(set, got, 4, 0));
  epoll_ctl(set, EPOLL_CTL_MOD, s, &e);
  say("armed anew", epoll_wait(set, got, 4, 0));
  printf("%x\n", got[0].events);
  // Fill it: then an edge says that there is room.
  static char block[65536];
  long sent = 0, n;
  while ((n = write(s, block, sizeof block)) > 0) sent += n;
  say("full", n);
  say("no edge", epoll_wait(set, got, 4, 0));
  long taken = 0;
  while (taken < sent) taken += read(c, block, sizeof block);
  say("room", epoll_wait(set, got, 4, 1000));
  printf("%x\n", got[0].events & EPOLLOUT);
  close(c);
  say("closed", epoll_wait(set, got, 4, 1000));
  printf("%x\n", got[0].events & (EPOLLIN | EPOLLRDHUP));
  close(s);
  say("nothing watched", epoll_wait(set, got, 4, 0));

  // Level-triggered, one shot, more descriptors than room for reports.
  int pair[3][2];
  for (int i = 0; i < 3; ++i) {
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i]);
    e = (struct epoll_event){.events = EPOLLIN | (i == 2 ? EPOLLONESHOT : 0), .data.fd = i};
    epoll_ctl(set, EPOLL_CTL_ADD, pair[i][0], &e);
    write(pair[i][1], "x", 1);
  }
  int seen = 0;
  for (int i = 0; i < 3; ++i)
    if (epoll_wait(set, got, 1, 0) == 1) seen |= 1 << got[0].data.fd;
  printf("one at a time, each gets its turn: %d\n", seen);
  say("without the one shot", epoll_wait(set, got, 4, 0));
  close(l);
}

static void* add_later(void* numbers) {
  const int* const fds = numbers;
  usleep(3000);
  struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data.fd = 7};
  epoll_ctl(fds[0], EPOLL_CTL_ADD, fds[1], &e);
  return NULL;
}

/// A thread waits for a set to which another one adds a descriptor that is ready.
static void added_meanwhile(void) {
  int ends[2];
  pipe(ends);
  write(ends[1], "x", 1);
  int fds[2] = {epoll_create1(0), ends[0]};
  pthread_t other;
  pthread_create(&other, NULL, add_later, fds);
  struct epoll_event got = {0};
  say("added meanwhile", epoll_wait(fds[0], &got, 1, 10000));
  printf("%d\n", got.data.fd);
  pthread_join(other, NULL);
  say("one edge of a pipe", epoll_wait(fds[0], &got, 1, 0));
  write(ends[1], "y", 1);
  say("and another", epoll_wait(fds[0], &got, 1, 0));
}

// --- splice
static void splices(void) {
  printf("-- splices\n");
  int s[2], first[2], second[2];
  socketpair(AF_UNIX, SOCK_STREAM, 0, s);
  pipe(first);
  pipe2(second, O_NONBLOCK);
  char b[16] = {0};
  write(s[0], "through pipes", 13);
  say("from a socket", splice(s[1], NULL, first[1], NULL, 100, 0));
  say("both ways", tee(first[0], second[1], 7, 0));
  say("the copy", read(second[0], b, sizeof b));
  printf("%s\n", b);
  say("to a socket", splice(first[0], NULL, s[1], NULL, 100, 0));
  say("back", read(s[0], b, sizeof b));
  printf("%s\n", b);
  say("nothing", splice(second[0], NULL, s[1], NULL, 100, 0));
  say("nothing at all", splice(first[0], NULL, s[1], NULL, 100, SPLICE_F_NONBLOCK));
  say("no pipe", splice(s[0], NULL, s[1], NULL, 100, 0));
  const int file = open("splices.txt", O_RDWR | O_CREAT | O_TRUNC, 0600);
  write(file, "0123456789", 10);
  off_t at = 2;
  say("from a file", splice(file, &at, first[1], NULL, 4, 0));
  printf("now at %d, and the file at %d\n", (int)at, (int)lseek(file, 0, SEEK_CUR));
  at = 8;
  say("to a file", splice(first[0], NULL, file, &at, 4, 0));
  say("its length", lseek(file, 0, SEEK_END));
  pread(file, b, 12, 0);
  printf("%.12s\n", b);
  say("an offset of a pipe", splice(first[0], &at, file, NULL, 4, 0));
  struct iovec ranges[2] = {{"of mem", 6}, {"ory", 3}};
  say("of memory", vmsplice(first[1], ranges, 2, 0));
  say("read", read(first[0], b, sizeof b));
  close(first[1]);
  say("the end", splice(first[0], NULL, s[1], NULL, 100, 0));
  unlink("splices.txt");
}

// --- threads: an echo server and its clients, one epoll loop
enum { kClients = 4, kRounds = 8, kBytes = 3000 };
static int echo_port;

static void* talk(void* number) {
  struct sockaddr_in a = on_loopback(echo_port);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  long sum = 0;
  if (connect(fd, (void*)&a, sizeof a) != 0) return (void*)-1L;
  for (int round = 0; round < kRounds; ++round) {
    unsigned char out[kBytes], in[kBytes];
    for (int i = 0; i < kBytes; ++i) out[i] = (unsigned char)(i * 7 + round + (long)number);
    if (write(fd, out, kBytes) != kBytes || recv(fd, in, kBytes, MSG_WAITALL) != kBytes) return (void*)-2L;
    sum += memcmp(out, in, kBytes) == 0;
  }
  close(fd);
  return (void*)sum;
}

static void threads(void) {
  printf("-- threads\n");
  const int l = listener(1), set = epoll_create1(0);
  echo_port = port_of(l);
  struct epoll_event e = {.events = EPOLLIN, .data.fd = l}, got[8];
  epoll_ctl(set, EPOLL_CTL_ADD, l, &e);
  pthread_t clients[kClients];
  for (long i = 0; i < kClients; ++i) pthread_create(&clients[i], NULL, talk, (void*)i);
  long echoed = 0;
  for (int left = kClients; left != 0;) {
    const int count = epoll_wait(set, got, 8, -1);
    for (int i = 0; i < count; ++i) {
      const int fd = got[i].data.fd;
      if (fd == l) {
        const int s = accept4(l, NULL, NULL, SOCK_NONBLOCK);
        e = (struct epoll_event){.events = EPOLLIN | EPOLLET, .data.fd = s};
        epoll_ctl(set, EPOLL_CTL_ADD, s, &e);
        continue;
      }
      char b[1000];
      long n;
      while ((n = read(fd, b, sizeof b)) > 0) echoed += write(fd, b, (size_t)n);
      if (n == 0) {
        close(fd);
        --left;
      }
    }
  }
  long good = 0;
  for (int i = 0; i < kClients; ++i) {
    void* result;
    pthread_join(clients[i], &result);
    good += (long)result;
  }
  printf("echoed %ld bytes, %ld rounds of %d are right\n", echoed, good, kClients * kRounds);
  close(l);
}

static void* pass(void* fd) {
  static char block[1 << 20];
  memset(block, 'p', sizeof block);
  return (void*)write((int)(long)fd, block, sizeof block);
}

/// A write that waits for room again and again, and a reader that waits for bytes.
static void long_write(void) {
  int s[2];
  socketpair(AF_UNIX, SOCK_STREAM, 0, s);
  pthread_t writer;
  pthread_create(&writer, NULL, pass, (void*)(long)s[0]);
  long taken = 0, wrong = 0;
  char b[5000];
  while (taken < 1 << 20) {
    const long n = read(s[1], b, sizeof b);
    for (long i = 0; i < n; ++i) wrong += b[i] != 'p';
    taken += n;
  }
  void* written;
  pthread_join(writer, &written);
  printf("written %ld, read %ld, wrong %ld\n", (long)written, taken, wrong);
}

int main(void) {
  messages();
  readiness();
  added_meanwhile();
  splices();
  threads();
  long_write();
  return 0;
}
