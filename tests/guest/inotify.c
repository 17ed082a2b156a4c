// Changes of files that the program makes itself, as inotify tells of them.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

static const struct {
  unsigned bit;
  const char* name;
} bits[] = {{IN_ACCESS, "access"},           {IN_MODIFY, "modify"},
            {IN_ATTRIB, "attrib"},           {IN_CLOSE_WRITE, "close-write"},
            {IN_CLOSE_NOWRITE, "close"},     {IN_OPEN, "open"},
            {IN_MOVED_FROM, "from"},         {IN_MOVED_TO, "to"},
            {IN_CREATE, "create"},           {IN_DELETE, "delete"},
            {IN_DELETE_SELF, "delete-self"}, {IN_MOVE_SELF, "move-self"},
            {IN_IGNORED, "ignored"},         {IN_ISDIR, "folder"}};

// The events that are there, a line each. The host counts the moves of all programs: here they have a row of
// their own.
static void show(int fd, const char* what) {
  static unsigned last_move;
  static int moves = -1;
  _Alignas(struct inotify_event) char buffer[4096];
  printf("%s\n", what);
  for (;;) {
    const ssize_t bytes = read(fd, buffer, sizeof buffer);
    if (bytes <= 0) {
      if (errno != EAGAIN) say("  read", bytes);
      return;
    }
    for (ssize_t at = 0; at < bytes;) {
      const struct inotify_event* const event = (const struct inotify_event*)(buffer + at);
      printf("  %d", event->wd);
      for (unsigned i = 0; i < sizeof bits / sizeof *bits; ++i)
        if ((event->mask & bits[i].bit) != 0) printf(" %s", bits[i].name);
      if (event->cookie != 0) {
        if (event->cookie != last_move) ++moves;
        last_move = event->cookie;
        printf(" move %d", moves);
      }
      printf("%s%s\n", event->len != 0 ? " " : "", event->len != 0 ? event->name : "");
      at += (ssize_t)(sizeof *event + event->len);
    }
  }
}

static void refused(void) {
  say("flags", inotify_init1(1));
  const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  say("closed on exec", fcntl(fd, F_GETFD));
  say("no descriptor", inotify_add_watch(99, ".", IN_CREATE));
  say("no queue", inotify_add_watch(0, ".", IN_CREATE));
  say("no queue to remove from", inotify_rm_watch(0, 1));
  say("nothing to watch for", inotify_add_watch(fd, ".", 0));
  say("no file", inotify_add_watch(fd, "absent", IN_CREATE));
  say("no folder", inotify_add_watch(fd, "watched/file", IN_CREATE | IN_ONLYDIR));
  say("no path", inotify_add_watch(fd, (const char*)8, IN_CREATE));
  say("both", inotify_add_watch(fd, ".", IN_CREATE | IN_MASK_ADD | IN_MASK_CREATE));
  say("no such watch", inotify_rm_watch(fd, 7));
  char byte;
  say("empty", read(fd, &byte, 1));
  say("written", write(fd, &byte, 1));
  say("sought", lseek(fd, 0, SEEK_SET));
  close(fd);
}

static void folder(void) {
  const int fd = inotify_init1(IN_NONBLOCK);
  say("watch", inotify_add_watch(fd, "watched", IN_ALL_EVENTS));
  int file = open("watched/file", O_RDWR | O_CREAT | O_TRUNC, 0600);
  show(fd, "made");
  write(file, "abc", 3);
  write(file, "def", 3);
  show(fd, "written twice");
  char text[8];
  pread(file, text, 6, 0);
  ftruncate(file, 2);
  show(fd, "read and cut");
  truncate("watched/file", 1);
  struct stat about;
  stat("watched/file", &about);
  access("watched/file", R_OK | W_OK);
  show(fd, "cut by its name");
  fchmod(file, 0644);
  close(file);
  show(fd, "closed");
  mkdir("watched/inner", 0700);
  rename("watched/file", "watched/moved");
  rename("watched/moved", "outside");
  rename("outside", "watched/back");
  show(fd, "moved");
  link("watched/back", "watched/linked");
  symlink("back", "watched/symbolic");
  unlink("watched/linked");
  unlink("watched/symbolic");
  rmdir("watched/inner");
  show(fd, "linked and removed");
  DIR* listed = opendir("watched");
  int entries = 0;
  while (readdir(listed) != NULL) ++entries;
  show(fd, "listed");
  rewinddir(listed);
  while (readdir(listed) != NULL) ++entries;
  closedir(listed);
  say("entries", entries);
  show(fd, "listed again");
  file = open("watched/back", O_RDONLY);
  close(file);
  int waiting = 0;
  ioctl(fd, FIONREAD, &waiting);
  say("bytes", waiting);
  struct pollfd ready = {fd, POLLIN | POLLOUT, 0};
  say("ready", poll(&ready, 1, 0));
  say("for", ready.revents);
  char small[8];
  say("too small", read(fd, small, sizeof small));
  show(fd, "read only");
  say("not ready", poll(&ready, 1, 0));
  say("removed", inotify_rm_watch(fd, 1));
  show(fd, "no longer watched");
  unlink("watched/back");
  show(fd, "nothing");
  close(fd);
}

static void one_file(void) {
  const int fd = inotify_init1(IN_NONBLOCK), other = inotify_init1(IN_NONBLOCK);
  int file = open("watched/one", O_WRONLY | O_CREAT, 0600);
  symlink("one", "watched/link");
  say("file", inotify_add_watch(fd, "watched/one", IN_MODIFY));
  say("more", inotify_add_watch(fd, "watched/one", IN_MASK_ADD | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF));
  say("anew", inotify_add_watch(fd, "watched/one", IN_MASK_CREATE | IN_MODIFY));
  say("by a link", inotify_add_watch(fd, "watched/link", IN_MASK_ADD | IN_CLOSE_WRITE));
  say("the link", inotify_add_watch(fd, "watched/link", IN_DONT_FOLLOW | IN_DELETE_SELF));
  say("once", inotify_add_watch(other, "watched/one", IN_MODIFY | IN_ONESHOT));
  write(file, "a", 1);
  write(file, "b", 1);
  show(other, "once");
  rename("watched/one", "watched/two");
  unlink("watched/link");
  close(file);
  unlink("watched/two");
  show(fd, "to its end");
  say("gone", inotify_rm_watch(fd, 1));
  close(other);
  close(fd);
}

static void edges(void) {
  const int fd = inotify_init1(IN_NONBLOCK), set = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN | EPOLLET}, found;
  epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
  inotify_add_watch(fd, "watched", IN_CREATE);
  say("no edge", epoll_wait(set, &found, 1, 0));
  close(open("watched/a", O_WRONLY | O_CREAT, 0600));
  say("an edge", epoll_wait(set, &found, 1, 0));
  say("no further", epoll_wait(set, &found, 1, 0));
  close(open("watched/b", O_WRONLY | O_CREAT, 0600));
  say("the next", epoll_wait(set, &found, 1, 0));
  show(fd, "two files");
  unlink("watched/a");
  unlink("watched/b");
  close(set);
  close(fd);
}

static void* wait_for_change(void* queue) {
  _Alignas(struct inotify_event) char buffer[4096];
  const ssize_t bytes = read(*(const int*)queue, buffer, sizeof buffer);
  printf("the thread sees %s in %zd bytes\n", ((const struct inotify_event*)buffer)->name, bytes);
  return NULL;
}

static void waiting(void) {
  int fd = inotify_init1(0);
  inotify_add_watch(fd, "watched", IN_CLOSE_WRITE);
  pthread_t thread;
  pthread_create(&thread, NULL, wait_for_change, &fd);
  usleep(1000);
  close(open("watched/late", O_WRONLY | O_CREAT, 0600));
  pthread_join(thread, NULL);
  fflush(stdout);
  if (fork() == 0) {
    usleep(1000);
    close(open("watched/late", O_WRONLY));
    _exit(0);
  }
  wait_for_change(&fd);
  wait(NULL);
  unlink("watched/late");
  close(fd);
}

int main(void) {
  mkdir("watched", 0700);
  close(open("watched/file", O_WRONLY | O_CREAT, 0600));
  refused();
  folder();
  one_file();
  edges();
  waiting();
  say("the end", rmdir("watched"));
}
