// Sockets within a program: pairs, names, TCP and UDP over loopback; what calls answer in each state.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "loopback.h"

static volatile sig_atomic_t broken;
static void on_pipe(int signal) { broken += signal == SIGPIPE; }

static void show_ready(const char* what, int fd, int events) {
  struct pollfd p = {.fd = fd, .events = (short)events};
  poll(&p, 1, 0);
  printf("%s:%s%s%s%s%s\n", what, p.revents & POLLIN ? " in" : "", p.revents & POLLOUT ? " out" : "",
         p.revents & POLLERR ? " error" : "", p.revents & POLLHUP ? " hang-up" : "",
         p.revents & POLLRDHUP ? " half" : "");
}
enum { kAny = POLLIN | POLLOUT | POLLRDHUP };

static int error_of(int fd) {
  int error = -1;
  socklen_t n = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n);
  return error;
}

// --- pairs
static void pairs(void) {
  printf("-- pairs\n");
  int s[2];
  char b[16] = {0};
  say("pair", socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s));
  printf("closes on exec %d\n", fcntl(s[0], F_GETFD));
  struct stat info;
  fstat(s[0], &info);
  printf("is a socket %d\n", S_ISSOCK(info.st_mode));
  say("seek", lseek(s[0], 0, SEEK_CUR));
  show_ready("new", s[0], kAny);
  say("write", write(s[0], "abcdef", 6));
  int waiting = 0;
  ioctl(s[1], FIONREAD, &waiting);
  printf("waiting %d\n", waiting);
  say("peek", recv(s[1], b, 3, MSG_PEEK));
  say("read", read(s[1], b, sizeof b));
  printf("%s\n", b);
  say("no more", recv(s[1], b, sizeof b, MSG_DONTWAIT));
  say("half closed", shutdown(s[0], SHUT_WR));
  show_ready("its partner", s[1], kAny);
  say("end", read(s[1], b, sizeof b));
  say("write to the closed half", send(s[0], "x", 1, MSG_NOSIGNAL));
  say("the other way", write(s[1], "back", 4));
  say("arrives", read(s[0], b, sizeof b));
  write(s[0], "unread", 6);
  close(s[1]);
  show_ready("partner gone", s[0], kAny);
  say("end", read(s[0], b, sizeof b));
  say("write", write(s[0], "x", 1));
  printf("signals %d\n", broken);
  say("write without one", send(s[0], "x", 1, MSG_NOSIGNAL));
  printf("signals %d\n", broken);
  close(s[0]);

  say("unread bytes", socketpair(AF_UNIX, SOCK_STREAM, 0, s));
  write(s[0], "unread", 6);
  close(s[1]);
  say("reset", read(s[0], b, sizeof b));
  say("then the end", read(s[0], b, sizeof b));
  close(s[0]);

  say("packets", socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s));
  write(s[0], "first", 5);
  write(s[0], "second", 6);
  say("one", read(s[1], b, sizeof b));
  say("cut", read(s[1], b, 2));
  say("nothing", recv(s[1], b, sizeof b, MSG_DONTWAIT));
  close(s[0]);
  say("end", read(s[1], b, sizeof b));
  close(s[1]);

  say("datagrams", socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, s));
  write(s[0], "first", 5);
  write(s[0], "second", 6);
  say("whole length", recv(s[1], b, 2, MSG_TRUNC));
  say("next", read(s[1], b, sizeof b));
  int queued = 0;
  while (write(s[0], "x", 1) == 1) ++queued;
  say("full", -1);
  printf("some fit %d\n", queued > 5);
  show_ready("full", s[0], POLLOUT);
  read(s[1], b, 1);
  close(s[1]);
  say("partner gone", write(s[0], "x", 1));
  close(s[0]);
  say("no pairs of these", socketpair(AF_INET, SOCK_STREAM, 0, s));
  say("unknown family", socket(AF_APPLETALK, SOCK_STREAM, 0));
  say("unknown protocol", socket(AF_INET, SOCK_STREAM, IPPROTO_UDP));
}

// --- TCP
static void tcp(void) {
  printf("-- tcp\n");
  const int l = listener(4);
  char b[16] = {0};
  show_ready("listening", l, kAny);
  fcntl(l, F_SETFL, O_NONBLOCK);
  say("nothing to accept", accept(l, NULL, NULL));
  const int c = client(l);
  show_ready("arrived", l, kAny);
  struct sockaddr_in from, own;
  socklen_t n = sizeof from, m = sizeof own;
  const int s = accept4(l, (void*)&from, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
  getsockname(c, (void*)&own, &m);
  printf("from %s %d %d, %d bytes\n", inet_ntoa(from.sin_addr), from.sin_port == own.sin_port,
         ntohs(from.sin_port) >= 1024, (int)n);
  getpeername(c, (void*)&from, &n);
  printf("to %s %d\n", inet_ntoa(from.sin_addr), ntohs(from.sin_port) == port_of(l));
  printf("flags %d %d\n", (fcntl(s, F_GETFL) & O_NONBLOCK) != 0, fcntl(s, F_GETFD));
  say("nothing yet", read(s, b, sizeof b));
  say("again", connect(c, (void*)&from, n));
  write(c, "question", 8);
  say("question", read(s, b, sizeof b));
  write(s, "answer", 6);
  say("answer", recv(c, b, 3, 0));
  say("all of the rest", recv(c, b, 3, MSG_WAITALL));
  show_ready("open", c, kAny);
  shutdown(s, SHUT_WR);
  show_ready("half closed", c, kAny);
  say("end", read(c, b, sizeof b));
  say("still", write(c, "more", 4));
  say("arrives", read(s, b, sizeof b));
  close(s);
  show_ready("closed", c, kAny);
  say("first write", write(c, "x", 1));
  say("end", read(c, b, sizeof b));
  close(c);

  const int d = client(l), e = accept(l, NULL, NULL);
  write(d, "unread", 6);
  usleep(20000);
  write(e, "left", 4);
  close(e);
  say("what came before", read(d, b, 4));
  say("reset", read(d, b, sizeof b));
  say("then the end", read(d, b, sizeof b));
  close(d);

  struct sockaddr_in a = on_loopback(port_of(l));
  close(l);
  const int f = socket(AF_INET, SOCK_STREAM, 0);
  say("not connected: read", recv(f, b, 1, MSG_DONTWAIT));
  say("not connected: write", send(f, b, 1, MSG_NOSIGNAL));
  say("no peer", getpeername(f, (void*)&from, &n));
  say("no shutdown", shutdown(f, SHUT_RD));
  say("no accept", accept(f, NULL, NULL));
  say("closed port", connect(f, (void*)&a, sizeof a));
  close(f);
  const int g = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  say("closed port, not waited for", connect(g, (void*)&a, sizeof a));
  struct pollfd p = {.fd = g, .events = POLLOUT};
  poll(&p, 1, -1);
  printf("error %s, then %d\n", strerrorname_np(error_of(g)), error_of(g));
  close(g);
  const int l2 = listener(4), h = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  a = on_loopback(port_of(l2));
  say("not waited for", connect(h, (void*)&a, sizeof a));
  p.fd = h;
  poll(&p, 1, -1);
  printf("error %d\n", error_of(h));
  say("connected", connect(h, (void*)&a, sizeof a));
  say("again", connect(h, (void*)&a, sizeof a));
  close(l2);
  usleep(20000);
  say("its listener has gone", read(h, b, 1));
  close(h);

  const int own_port = listener(1), other = socket(AF_INET, SOCK_STREAM, 0);
  a = on_loopback(port_of(own_port));
  say("address in use", bind(other, (void*)&a, sizeof a));
  a.sin_addr.s_addr = htonl(0x0a010203);
  a.sin_port = 0;
  say("address of another computer", bind(other, (void*)&a, sizeof a));
  a.sin_family = AF_APPLETALK;
  say("of another family", bind(other, (void*)&a, sizeof a));
  say("too short", bind(other, (void*)&a, 8));
  say("no socket", listen(1, 1));
  say("no descriptor", listen(99, 1));
  close(own_port);
  close(other);
}

// --- IPv6
static void version6(void) {
  printf("-- version 6\n");
  const int l = socket(AF_INET6, SOCK_STREAM, 0), c = socket(AF_INET6, SOCK_STREAM, 0);
  struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any}, from;
  socklen_t n = sizeof a;
  say("bind", bind(l, (void*)&a, sizeof a));
  say("listen", listen(l, 2));
  getsockname(l, (void*)&a, &n);
  a.sin6_addr = in6addr_loopback;
  say("connect", connect(c, (void*)&a, sizeof a));
  char text[64];
  n = sizeof from;
  const int s = accept(l, (void*)&from, &n);
  printf("from %s, %d bytes\n", inet_ntop(AF_INET6, &from.sin6_addr, text, sizeof text), (int)n);
  write(s, "six", 3);
  char b[4] = {0};
  say("read", read(c, b, 3));
  close(c);
  close(s);
  const int four = client(l);
  n = sizeof from;
  const int t = accept(l, (void*)&from, &n);
  printf("from %s\n", inet_ntop(AF_INET6, &from.sin6_addr, text, sizeof text));
  close(t);
  close(four);
  close(l);
  const int only = socket(AF_INET6, SOCK_STREAM, 0);
  int on = 1;
  say("only version 6", setsockopt(only, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on));
  a.sin6_port = 0;
  a.sin6_addr = in6addr_any;
  bind(only, (void*)&a, sizeof a);
  listen(only, 1);
  struct sockaddr_in to = on_loopback(port_of(only));
  const int refused = socket(AF_INET, SOCK_STREAM, 0);
  say("not by version 4", connect(refused, (void*)&to, sizeof to));
  close(refused);
  close(only);
  // The own address towards several partners by one socket: getaddrinfo() sorts them so.
  const int asking = socket(AF_INET6, SOCK_DGRAM, 0);
  a.sin6_port = htons(9);
  a.sin6_addr = in6addr_loopback;
  const struct sockaddr none = {.sa_family = AF_UNSPEC};
  for (int turn = 0; turn < 2; ++turn) {
    to = on_loopback(9);
    say("partner", turn == 0 ? connect(asking, (void*)&a, sizeof a) : connect(asking, (void*)&to, sizeof to));
    n = sizeof from;
    getsockname(asking, (void*)&from, &n);
    printf("own address %s\n", inet_ntop(AF_INET6, &from.sin6_addr, text, sizeof text));
    say("forgotten", connect(asking, &none, sizeof none));
    getsockname(asking, (void*)&from, &n);
    printf("own address %s\n", inet_ntop(AF_INET6, &from.sin6_addr, text, sizeof text));
  }
  close(asking);
}

// --- UDP
static void udp(void) {
  printf("-- udp\n");
  const int s = socket(AF_INET, SOCK_DGRAM, 0), c = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  struct sockaddr_in a = on_loopback(0), from;
  socklen_t n = sizeof from;
  char b[16] = {0};
  say("bind", bind(s, (void*)&a, sizeof a));
  say("nothing", recv(s, b, 1, MSG_DONTWAIT));
  say("no destination", send(c, "x", 1, 0));
  a = on_loopback(port_of(s));
  say("send", sendto(c, "datagram", 8, 0, (void*)&a, sizeof a));
  say("empty", sendto(c, "", 0, 0, (void*)&a, sizeof a));
  say("next", sendto(c, "next", 4, 0, (void*)&a, sizeof a));
  int waiting = 0;
  ioctl(s, FIONREAD, &waiting);
  printf("waiting %d\n", waiting);
  say("cut", recvfrom(s, b, 4, MSG_TRUNC, (void*)&from, &n));
  printf("from %s %d\n", inet_ntoa(from.sin_addr), ntohs(from.sin_port) == port_of(c));
  say("empty", recv(s, b, sizeof b, 0));
  say("next", recv(s, b, sizeof b, 0));
  say("connect", connect(c, (void*)&a, sizeof a));
  say("reply", sendto(s, "reply", 5, 0, (void*)&from, n));
  say("reply", read(c, b, sizeof b));
  const int other = socket(AF_INET, SOCK_DGRAM, 0);
  sendto(other, "stranger", 8, 0, (void*)&from, n);
  say("only of the partner", read(c, b, sizeof b));
  say("too long", send(c, calloc(1, 70000), 70000, 0));
  close(s);
  say("to a closed port", write(c, "x", 1));
  usleep(20000);
  say("its answer", write(c, "x", 1));
  struct sockaddr none = {.sa_family = AF_UNSPEC};
  say("disconnect", connect(c, &none, sizeof none));
  say("no partner", getpeername(c, (void*)&from, &n));
  close(other);
  close(c);
}

// --- names
static void names(void) {
  printf("-- names\n");
  struct sockaddr_un path = {.sun_family = AF_UNIX, .sun_path = "sockets.name"}, found;
  socklen_t n = sizeof found;
  unlink(path.sun_path);
  const int l = socket(AF_UNIX, SOCK_STREAM, 0), c = socket(AF_UNIX, SOCK_STREAM, 0);
  say("nothing there", connect(c, (void*)&path, sizeof path));
  say("bind", bind(l, (void*)&path, sizeof path));
  struct stat info;
  stat(path.sun_path, &info);
  printf("a file that is a socket %d\n", S_ISSOCK(info.st_mode));
  say("cannot be opened", open(path.sun_path, O_RDWR));
  say("nothing listens", connect(c, (void*)&path, sizeof path));
  say("listen", listen(l, 1));
  say("connect", connect(c, (void*)&path, sizeof path));
  memset(&found, 0, sizeof found);
  getpeername(c, (void*)&found, &n);
  printf("partner %s %d\n", found.sun_path, (int)n);
  n = sizeof found;
  const int s = accept(l, (void*)&found, &n);
  printf("from one without a name, %d bytes\n", (int)n);
  n = sizeof found;
  getsockname(s, (void*)&found, &n);
  printf("own name %s\n", found.sun_path);
  struct ucred who = {0};
  n = sizeof who;
  getsockopt(c, SOL_SOCKET, SO_PEERCRED, &who, &n);
  printf("partner is this process %d\n", who.pid == getpid() && who.uid == getuid());
  const int second = socket(AF_UNIX, SOCK_STREAM, 0);
  say("taken", bind(second, (void*)&path, sizeof path));
  unlink(path.sun_path);
  say("gone", connect(second, (void*)&path, sizeof path));
  close(l);
  close(c);
  close(s);
  close(second);

  struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0rubato-sockets"};
  const socklen_t length = offsetof(struct sockaddr_un, sun_path) + 15;
  const int d = socket(AF_UNIX, SOCK_DGRAM, 0), e = socket(AF_UNIX, SOCK_DGRAM, 0);
  say("abstract", bind(d, (void*)&name, length));
  say("taken", bind(e, (void*)&name, length));
  struct sockaddr_un unnamed = {.sun_family = AF_UNIX};
  say("chosen", bind(e, (void*)&unnamed, sizeof(sa_family_t)));
  say("send", sendto(e, "to a name", 9, 0, (void*)&name, length));
  char b[16];
  n = sizeof found;
  say("receive", recvfrom(d, b, sizeof b, 0, (void*)&found, &n));
  printf("abstract %d, %d bytes\n", found.sun_path[0] == 0, (int)n);
  say("back", sendto(d, "back", 4, 0, (void*)&found, n));
  say("receive", recv(e, b, sizeof b, 0));
  close(d);
  say("gone", sendto(e, "x", 1, 0, (void*)&name, length));
  close(e);
}

// --- options
static void option(const char* what, int fd, int level, int name, int value) {
  int got = -1;
  socklen_t n = sizeof got;
  if (setsockopt(fd, level, name, &value, sizeof value) != 0) printf("set: %s ", strerrorname_np(errno));
  if (getsockopt(fd, level, name, &got, &n) != 0) printf("get: %s ", strerrorname_np(errno));
  printf("%s %d, %d bytes\n", what, got, (int)n);
}

static void options(void) {
  printf("-- options\n");
  const int t = socket(AF_INET, SOCK_STREAM, 0), u = socket(AF_INET, SOCK_DGRAM, 0);
  option("reuse of addresses", t, SOL_SOCKET, SO_REUSEADDR, 1);
  option("reuse of ports", t, SOL_SOCKET, SO_REUSEPORT, 5);
  option("keep alive", t, SOL_SOCKET, SO_KEEPALIVE, 1);
  option("no delay", t, IPPROTO_TCP, TCP_NODELAY, 1);
  option("idle", t, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  option("interval", t, IPPROTO_TCP, TCP_KEEPINTVL, 0);
  option("bytes to send", t, SOL_SOCKET, SO_SNDBUF, 10000);
  option("bytes to receive", t, SOL_SOCKET, SO_RCVBUF, 20000);
  option("broadcast", u, SOL_SOCKET, SO_BROADCAST, 1);
  option("time to live", u, IPPROTO_IP, IP_TTL, 7);
  option("of another protocol", u, IPPROTO_TCP, TCP_NODELAY, 1);
  option("type", t, SOL_SOCKET, SO_TYPE, 1);
  option("domain", t, SOL_SOCKET, SO_DOMAIN, 1);
  option("protocol", u, SOL_SOCKET, SO_PROTOCOL, 1);
  option("listens", t, SOL_SOCKET, SO_ACCEPTCONN, 1);
  struct linger linger = {1, 5};
  socklen_t n = sizeof linger;
  setsockopt(t, SOL_SOCKET, SO_LINGER, &linger, n);
  linger = (struct linger){0, 0};
  getsockopt(t, SOL_SOCKET, SO_LINGER, &linger, &n);
  printf("linger %d %d\n", linger.l_onoff, linger.l_linger);
  struct timeval time = {0, 20000};
  setsockopt(u, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  char b;
  say("in time", recv(u, &b, 1, 0));
  close(t);
  close(u);
}

int main(void) {
  struct sigaction action = {.sa_handler = on_pipe};
  sigaction(SIGPIPE, &action, NULL);
  pairs();
  tcp();
  version6();
  udp();
  names();
  options();
  return 0;
}
