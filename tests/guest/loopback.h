// Sockets on loopback: shared by the programs about sockets.
// SPDX-License-Identifier: MIT
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "say.h"

static inline struct sockaddr_in on_loopback(int port) {
  return (struct sockaddr_in){
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static inline int port_of(int fd) {
  struct sockaddr_in a;
  socklen_t n = sizeof a;
  getsockname(fd, (void*)&a, &n);
  return ntohs(a.sin_port);
}

static inline int listener(int backlog) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in a = on_loopback(0);
  if (bind(fd, (void*)&a, sizeof a) != 0 || listen(fd, backlog) != 0) say("listen", -1);
  return fd;
}

static inline int client(int of) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in a = on_loopback(port_of(of));
  if (connect(fd, (void*)&a, sizeof a) != 0) say("connect", -1);
  return fd;
}
