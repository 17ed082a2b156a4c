// Advisory locks between processes: fcntl's of processes and of open files, and flock. Prints the same on
// every Linux.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

static int file;

static void say(const char* what, long result) {
  printf("%s: %ld %s\n", what, result, result < 0 ? strerrorname_np(errno) : "");
  fflush(stdout);
}

static long lock_by(int fd, int command, int type, long start, long bytes) {
  struct flock lock = {.l_type = (short)type, .l_whence = SEEK_SET, .l_start = start, .l_len = bytes};
  return fcntl(fd, command, &lock);
}

static void ask(const char* what, int type, long start, long bytes, pid_t holder) {
  struct flock lock = {.l_type = (short)type, .l_whence = SEEK_SET, .l_start = start, .l_len = bytes};
  long result = fcntl(file, F_GETLK, &lock);
  if (lock.l_type == F_UNLCK) {
    printf("%s: %ld free\n", what, result);
  } else {
    printf("%s: %ld type %d at %ld, %ld bytes, its own %d\n", what, result, lock.l_type, (long)lock.l_start,
           (long)lock.l_len, lock.l_pid == holder);
  }
  fflush(stdout);
}

static void end(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  say("child", WEXITSTATUS(status));
}

static void of_processes(void) {
  say("write lock", lock_by(file, F_SETLK, F_WRLCK, 10, 10));
  say("its neighbour", lock_by(file, F_SETLK, F_WRLCK, 20, 5));
  say("read lock", lock_by(file, F_SETLK, F_RDLCK, 100, 0));
  ask("the own ones are not in the way", F_WRLCK, 0, 0, 0);
  pid_t parent = getpid(), child = fork();
  if (child == 0) {
    ask("both are one", F_RDLCK, 0, 50, parent);
    ask("behind them", F_WRLCK, 25, 75, parent);
    ask("the end", F_WRLCK, 500, 1, parent);
    ask("readers are many", F_RDLCK, 500, 1, parent);
    say("refused", lock_by(file, F_SETLK, F_WRLCK, 24, 4));
    say("beside it", lock_by(file, F_SETLK, F_WRLCK, 25, 4));
    say("shared", lock_by(file, F_SETLK, F_RDLCK, 200, 10));
    _exit(1);
  }
  end(child);
  say("cut", lock_by(file, F_SETLK, F_UNLCK, 14, 2));
  child = fork();
  if (child == 0) {
    ask("before the cut", F_WRLCK, 0, 50, parent);
    ask("the hole", F_WRLCK, 14, 2, parent);
    ask("behind the cut", F_WRLCK, 14, 50, parent);
    _exit(2);
  }
  end(child);
  // A second descriptor of the file is closed: all locks of the process go.
  close(dup(file));
  child = fork();
  if (child == 0) {
    ask("closed once", F_WRLCK, 0, 0, parent);
    _exit(3);
  }
  end(child);
}

static void that_wait(void) {
  int ready[2];
  char byte = 0;
  pipe(ready);
  for (int exits = 0; exits < 2; ++exits) {
    pid_t child = fork();
    if (child == 0) {
      lock_by(file, F_SETLK, F_WRLCK, 0, 0);
      write(ready[1], "x", 1);
      usleep(20000);
      write(file, exits ? "B" : "A", 1);
      if (!exits) lock_by(file, F_SETLK, F_UNLCK, 0, 0);
      if (!exits) usleep(20000);
      _exit(4);
    }
    read(ready[0], &byte, 1);
    say("wait", lock_by(file, F_SETLKW, F_WRLCK, 5, 1));
    pread(file, &byte, 1, exits);
    printf("found %c\n", byte);
    lock_by(file, F_SETLK, F_UNLCK, 0, 0);
    end(child);
  }
  close(ready[0]), close(ready[1]);
}

static void of_open_files(void) {
  int other = open("locked", O_RDWR);
  say("open file's", lock_by(file, F_OFD_SETLK, F_WRLCK, 0, 10));
  say("another's", lock_by(other, F_OFD_SETLK, F_WRLCK, 5, 10));
  ask("of no process", F_WRLCK, 0, 0, -1);
  pid_t child = fork();
  if (child == 0) {
    say("the same open file", lock_by(file, F_OFD_SETLK, F_WRLCK, 5, 10));
    _exit(5);
  }
  end(child);
  say("flock", flock(file, LOCK_EX));
  say("flock is none of fcntl's", lock_by(other, F_SETLK, F_WRLCK, 50, 1));
  say("another open file", flock(other, LOCK_SH | LOCK_NB));
  say("shared", flock(file, LOCK_SH | LOCK_NB));
  say("both", flock(other, LOCK_SH | LOCK_NB));
  say("not alone", flock(file, LOCK_EX | LOCK_NB));
  child = fork();
  if (child == 0) {
    close(other);
    int third = open("locked", O_RDWR);
    say("lost by the change", flock(third, LOCK_EX | LOCK_NB));
    _exit(6);
  }
  end(child);
  close(other);
  child = fork();
  if (child == 0) {
    int third = open("locked", O_RDWR);
    say("the last descriptor is closed", flock(third, LOCK_EX | LOCK_NB));
    _exit(7);
  }
  end(child);
  say("wrong", flock(file, 3));
  say("wrong", lock_by(file, F_SETLK, 7, 0, 0));
  say("wrong", lock_by(file, F_SETLK, F_RDLCK, -1, 1));
  int reader = open("locked", O_RDONLY);
  say("not for writers", lock_by(reader, F_SETLK, F_WRLCK, 0, 1));
  say("for readers", lock_by(reader, F_SETLK, F_RDLCK, 0, 1));
  close(reader);
}

int main(void) {
  file = open("locked", O_RDWR | O_CREAT | O_TRUNC, 0644);
  of_processes();
  that_wait();
  of_open_files();
  unlink("locked");
  return 0;
}
