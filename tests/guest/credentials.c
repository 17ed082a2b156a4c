// SCM_CREDENTIALS: which process has sent what a local socket receives. Prints nothing that depends on
// numbers of processes. no-qemu: it compares numbers of processes
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

enum { kChildren = 2 };
static pid_t pids[kChildren];

static void receive(int fd, int flags) {
  char bytes[16] = {0}, control[256];
  struct iovec range = {bytes, sizeof bytes - 1};
  struct msghdr message = {
      .msg_iov = &range, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  const long got = recvmsg(fd, &message, flags | MSG_DONTWAIT);
  const struct cmsghdr* const header = got >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
  if (got < 0) {
    say("receive", got);
  } else if (header == NULL) {
    printf("'%s' from somebody\n", bytes);
  } else {
    struct ucred who;
    memcpy(&who, CMSG_DATA(header), sizeof who);
    const char* name = who.pid == 0 ? "untold" : who.pid == getpid() ? "itself" : "a stranger";
    if (who.pid == pids[0]) name = "the first child";
    if (who.pid == pids[1]) name = "the second child";
    printf("'%s' from %s, user %s\n", bytes, name,
           who.uid == getuid() && who.gid == getgid() ? "this"
           : who.uid == 65534                         ? "none"
                                                      : "another");
  }
  fflush(stdout);
}

static void receive_all(int fd, int on) {
  setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  for (int i = 0; i < 4; ++i) receive(fd, 0);
}

static void send_from_children(int fd, const char* text) {
  for (int i = 0; i < kChildren; ++i) {
    pids[i] = fork();
    if (pids[i] == 0) {
      const char mine[3] = {text[i], text[i], 0};
      _exit(write(fd, mine, 2) == 2 ? 0 : 1);
    }
    int status = 0;
    waitpid(pids[i], &status, 0);
    if (status != 0) printf("a child could not send\n");
  }
}

static void name_itself(int fd) {
  char control[CMSG_SPACE(sizeof(struct ucred))] = {0};
  struct iovec range = {"own", 3};
  struct msghdr message = {
      .msg_iov = &range, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr* const header = CMSG_FIRSTHDR(&message);
  *header = (struct cmsghdr){CMSG_LEN(sizeof(struct ucred)), SOL_SOCKET, SCM_CREDENTIALS};
  const struct ucred who = {getpid(), getuid(), getgid()};
  memcpy(CMSG_DATA(header), &who, sizeof who);
  say("names itself", sendmsg(fd, &message, 0));
  message.msg_controllen = header->cmsg_len = CMSG_LEN(4);
  say("too short", sendmsg(fd, &message, 0));
}

static void pairs(int type, const char* name) {
  printf("-- %s\n", name);
  fflush(stdout);
  int pair[2], on = 1;
  socketpair(AF_UNIX, type, 0, pair);
  send_from_children(pair[0], "ab");
  receive_all(pair[1], 1);
  setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  send_from_children(pair[0], "cd");
  receive(pair[1], MSG_PEEK);
  receive_all(pair[1], 1);
  send_from_children(pair[0], "ef");
  receive_all(pair[1], 0);
  name_itself(pair[0]);
  receive_all(pair[1], 1);
  setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &(int){0}, sizeof on);
  setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);  // the sender asks
  send_from_children(pair[0], "gh");
  receive_all(pair[1], 1);
  char byte[3];
  send_from_children(pair[0], "ij");
  say("read of two senders", read(pair[1], byte, 3));
  close(pair[0]), close(pair[1]);
}

int main(void) {
  pairs(SOCK_STREAM, "stream");
  pairs(SOCK_DGRAM, "datagrams");
  pairs(SOCK_SEQPACKET, "packets");
  return 0;
}
