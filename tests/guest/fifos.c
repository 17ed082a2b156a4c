// FIFOs: who waits for whom in an open, what the ends see of each other, what the file shows.
// no-qemu: test_linux_calls.py compares with the host.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

static void nothing(int signal) { (void)signal; }

static int ready(int fd) {
  struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT};
  poll(&p, 1, 0);
  return p.revents;
}

static void the_file(void) {
  struct stat info;
  umask(027);
  say("made", mkfifo("fifo", 0666));
  say("again", mkfifo("fifo", 0666));
  say("mode", stat("fifo", &info) == 0 ? info.st_mode : -1);
  say("size and links", info.st_size * 10 + info.st_nlink);
  say("renamed", rename("fifo", "other"));
  say("linked", link("other", "fifo"));
  say("mode changed", chmod("fifo", 01640));
  say("by the other name", stat("other", &info) == 0 ? info.st_mode : -1);
  say("removed", unlink("other"));
  DIR* const folder = opendir(".");
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;)
    if (strcmp(entry->d_name, "fifo") == 0) printf("listed as %d\n", entry->d_type);
  closedir(folder);
  say("exclusive", open("fifo", O_CREAT | O_EXCL | O_RDWR, 0600));
  say("a folder", open("fifo", O_RDONLY | O_DIRECTORY));
  say("with a slash", open("fifo/", O_RDONLY));
  say("cut", truncate("fifo", 0));
  say("a device", mknod("device", S_IFIFO | S_IFCHR | 0600, 0));
  say("a socket's", mknod("socket", S_IFSOCK | 0600, 0));
  unlink("socket");
}

static void without_waiting(void) {
  char text[100];
  struct stat by_path, by_fd;
  say("no reader", open("fifo", O_WRONLY | O_NONBLOCK));
  const int reader = open("fifo", O_RDONLY | O_NONBLOCK);
  say("end without writers", read(reader, text, sizeof text));
  say("no hang-up before the first", ready(reader));
  const int writer = open("fifo", O_WRONLY | O_NONBLOCK | O_TRUNC | O_CREAT, 0600);
  say("writable", ready(writer));
  say("nothing yet", read(reader, text, sizeof text));
  say("sought", lseek(reader, 0, SEEK_CUR));
  say("at a place", pread(reader, text, 1, 0));
  say("written", write(writer, "hello", 5));
  say("readable", ready(reader));
  say("second writer", close(open("fifo", O_WRONLY)));
  say("read", read(reader, text, sizeof text));
  fstat(reader, &by_fd);
  stat("fifo", &by_path);
  say("one file", by_fd.st_ino == by_path.st_ino && by_fd.st_mode == by_path.st_mode);
  say("mode by the descriptor", fchmod(reader, 0600));
  say("is", stat("fifo", &by_path) == 0 ? by_path.st_mode : -1);
  say("not synced", fsync(writer));
  say("closed", close(writer));
  say("hang-up", ready(reader));
  const int both = open("fifo", O_RDWR);
  say("no hang-up", ready(reader));
  say("kept", write(both, "12345678", 8));
  close(reader);
  say("by the same", read(both, text, 3));
  close(both);
  const int anew = open("fifo", O_RDONLY | O_NONBLOCK);
  say("gone with the last end", read(anew, text, sizeof text));
  say("unlinked while open", unlink("fifo"));
  say("no path", open("fifo", O_WRONLY | O_NONBLOCK));
  say("no links", fstat(anew, &by_fd) == 0 ? (long)by_fd.st_nlink : -1);
  close(anew);
  mkfifo("fifo", 0600);
}

static void broken(void) {
  signal(SIGPIPE, SIG_IGN);
  const int reader = open("fifo", O_RDONLY | O_NONBLOCK), writer = open("fifo", O_WRONLY);
  close(reader);
  say("nothing reads", write(writer, "x", 1));
  say("an error", ready(writer));
  close(writer);
  signal(SIGPIPE, SIG_DFL);
}

static void between_processes(void) {
  char text[100] = "";
  const pid_t child = fork();
  if (child == 0) {
    const int fd = open("fifo", O_WRONLY);
    for (int i = 0; i < 20000; ++i) write(fd, "0123456789", 10);
    _exit(0);
  }
  int fd = open("fifo", O_RDONLY);
  long sum = 0, got;
  while ((got = read(fd, text, sizeof text)) > 0) sum += got;
  say("all of it", sum);
  waitpid(child, NULL, 0);
  close(fd);
  // The writer has closed again before this reader has run: its open is done even so.
  if (fork() == 0) {
    fd = open("fifo", O_WRONLY);
    write(fd, "last", 4);
    close(fd);
    _exit(0);
  }
  fd = open("fifo", O_RDONLY);
  wait(NULL);
  say("left behind", read(fd, text, sizeof text));
  say("then the end", read(fd, text, sizeof text));
  close(fd);
}

static void* open_to_write(void* unused) {
  (void)unused;
  usleep(2000);
  return (void*)(long)open("fifo", O_WRONLY | O_CLOEXEC);
}

static void between_threads(void) {
  pthread_t thread;
  void* writer;
  pthread_create(&thread, NULL, open_to_write, NULL);
  const int reader = open("fifo", O_RDONLY);
  pthread_join(thread, &writer);
  say("closes on exec", fcntl((int)(long)writer, F_GETFD));
  struct epoll_event event = {.events = EPOLLIN};
  const int set = epoll_create1(0);
  say("watched", epoll_ctl(set, EPOLL_CTL_ADD, reader, &event));
  write((int)(long)writer, "x", 1);
  say("an event", epoll_wait(set, &event, 1, -1));
  close(set);
  close((int)(long)writer);
  close(reader);
}

static void interrupted(void) {
  struct sigaction action = {.sa_handler = nothing};
  sigaction(SIGALRM, &action, NULL);
  ualarm(2000, 0);
  say("a signal", open("fifo", O_RDONLY));
  say("its end is gone", open("fifo", O_WRONLY | O_NONBLOCK));
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, NULL);
  if (fork() == 0) {
    usleep(20000);
    _exit(close(open("fifo", O_WRONLY)));
  }
  ualarm(2000, 0);
  say("restarted", open("fifo", O_RDONLY) >= 0);
  wait(NULL);
}

// The argument is a FIFO of another program: prints what comes out of it.
static int of_the_host(const char* path) {
  char text[100];
  const long got = read(open(path, O_RDONLY), text, sizeof text);
  printf("%.*s", (int)got, text);
  return 0;
}

int main(int count, char** arguments) {
  if (count > 1) return of_the_host(arguments[1]);
  the_file();
  without_waiting();
  broken();
  between_processes();
  between_threads();
  interrupted();
  return 0;
}
