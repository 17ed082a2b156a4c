// Settings that a program gets back: limits, names, priorities, sizes of pipes, times that are left. And a
// few answers that a library or a shell relies on. no-qemu: test_linux_calls.py compares with the host.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "say.h"

static void limits(void) {
  static const int kinds[] = {RLIMIT_CPU,     RLIMIT_FSIZE, RLIMIT_DATA,    RLIMIT_STACK,
                              RLIMIT_CORE,    RLIMIT_RSS,   RLIMIT_NPROC,   RLIMIT_AS,
                              RLIMIT_MEMLOCK, RLIMIT_LOCKS, RLIMIT_MSGQUEUE};
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    struct rlimit limit;
    getrlimit(kinds[i], &limit);
    const rlim_t hard = limit.rlim_max;
    limit.rlim_cur = hard < 1000000000 ? hard : 1000000000;
    say("set", setrlimit(kinds[i], &limit));
    memset(&limit, 0, sizeof limit);
    getrlimit(kinds[i], &limit);
    say("kept", limit.rlim_max == hard && limit.rlim_cur == (hard < 1000000000 ? hard : 1000000000));
    limit.rlim_cur = 2000000000;
    limit.rlim_max = 1000000000;
    say("soft above hard", setrlimit(kinds[i], &limit));
  }
  if (fork() == 0) {
    struct rlimit limit = {1, 1};
    getrlimit(RLIMIT_FSIZE, &limit);
    say("of a child", (long)limit.rlim_cur);
    limit.rlim_cur = limit.rlim_max = 5000000;
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(0);
  }
  wait(NULL);
  struct rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  say("not of its parent", (long)limit.rlim_cur);
}

static void* name_of_thread(void* unused) {
  char name[16] = "";
  prctl(PR_GET_NAME, name);
  printf("its thread %s\n", name);
  return unused;
}

static void names(void) {
  char name[16] = "", text[32] = "";
  prctl(PR_GET_NAME, name);
  printf("named %s\n", name);
  prctl(PR_SET_NAME, "a-name-that-is-too-long");
  prctl(PR_GET_NAME, name);
  printf("named %s\n", name);
  const int fd = open("/proc/self/comm", O_RDONLY);
  read(fd, text, sizeof text - 1);
  close(fd);
  printf("in /proc %s", text);
  pthread_t thread;
  pthread_create(&thread, NULL, name_of_thread, NULL);
  pthread_join(thread, NULL);
}

static void priorities(void) {
  errno = 0;
  say("nice", nice(3));
  say("is", getpriority(PRIO_PROCESS, 0));
  say("set", setpriority(PRIO_PROCESS, getpid(), 40));
  say("at most", getpriority(PRIO_PROCESS, getpid()));
  if (fork() == 0) _exit(getpriority(PRIO_PROCESS, 0));
  int status = 0;
  wait(&status);
  say("of a child", WEXITSTATUS(status));
  say("of no process", setpriority(PRIO_PROCESS, 999999, 5));
  say("of what", getpriority(9, 0));
}

static void pipes(void) {
  int ends[2];
  char* const text = calloc(1, 1 << 20);
  pipe2(ends, O_NONBLOCK);
  say("usual", fcntl(ends[0], F_GETPIPE_SZ));
  say("larger", fcntl(ends[1], F_SETPIPE_SZ, 200000));
  say("kept", fcntl(ends[0], F_GETPIPE_SZ));
  say("holds", write(ends[1], text, 1 << 20));
  say("full of", fcntl(ends[1], F_SETPIPE_SZ, 4096));
  say("taken", read(ends[0], text, 1 << 20));
  say("small", fcntl(ends[1], F_SETPIPE_SZ, 1));
  say("holds", write(ends[1], text, 1 << 20));
  say("of no pipe", fcntl(0, F_GETFD) < 0 ? 0 : fcntl(open("/dev/null", O_RDONLY), F_GETPIPE_SZ));
  free(text);
  struct pollfd p = {.fd = ends[0], .events = POLLRDNORM};
  say("ready in other words", poll(&p, 1, 1000));
  say("namely", p.revents);
  read(ends[0], &p, 1);
  p = (struct pollfd){.fd = ends[1], .events = POLLWRNORM | POLLOUT};
  say("not to write", poll(&p, 1, 0));
  close(ends[0]);
  close(ends[1]);
  pipe(ends);
  p = (struct pollfd){.fd = ends[1], .events = POLLWRNORM | POLLOUT};
  say("to write", poll(&p, 1, 0) * 1000 + p.revents);
  char link[64] = "", path[64], seen[64];
  struct stat info;
  fstat(ends[0], &info);
  snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
  snprintf(link, sizeof link, "pipe:[%lu]", (unsigned long)info.st_ino);
  const long n = readlink(path, seen, sizeof seen - 1);
  seen[n < 0 ? 0 : n] = '\0';
  say("named by its inode", strcmp(link, seen) == 0);
  say("advice", posix_fadvise(ends[0], 0, 0, POSIX_FADV_NORMAL));
  say("room for a pipe", fallocate(ends[1], 0, 0, 10));
  const int file = open("kept_settings.txt", O_RDWR | O_CREAT, 0600);
  say("no such advice", posix_fadvise(file, 0, 0, 77));
  unlink("kept_settings.txt");
}

static void nothing(int signal) { (void)signal; }

static void waits(void) {
  int ends[2];
  pipe(ends);
  struct timeval left = {5, 0};
  fd_set set;
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  write(ends[1], "x", 1);
  say("ready", select(ends[0] + 1, &set, NULL, NULL, &left));
  say("most is left", left.tv_sec >= 4 && left.tv_sec <= 5);
  read(ends[0], &set, 1);
  left = (struct timeval){0, 3000};
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  say("nothing", select(ends[0] + 1, &set, NULL, NULL, &left));
  say("none left", left.tv_sec == 0 && left.tv_usec == 0);
  const struct sigaction action = {.sa_handler = nothing};
  sigaction(SIGALRM, &action, NULL);
  ualarm(2000, 0);
  left = (struct timeval){100, 0};
  FD_SET(ends[0], &set);
  say("a signal", select(ends[0] + 1, &set, NULL, NULL, &left));
  say("much is left", left.tv_sec == 99);
  sigset_t all;
  sigfillset(&all);
  const pid_t child = fork();
  if (child == 0) {
    ppoll(NULL, 0, NULL, &all);
    _exit(0);
  }
  usleep(2000);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  say("killed in a poll", WTERMSIG(status));
  stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536}, old = {0};
  sigaltstack(&stack, NULL);
  stack = (stack_t){.ss_sp = (void*)16, .ss_flags = SS_DISABLE, .ss_size = 32};
  sigaltstack(&stack, NULL);
  sigaltstack(NULL, &old);
  say("no stack of signals", old.ss_sp == NULL && old.ss_flags == SS_DISABLE && old.ss_size == 0);
}

static pthread_mutex_t mutex;
static sem_t is_locked;

static void* dies_with_it(void* unused) {
  pthread_mutex_lock(&mutex);
  sem_post(&is_locked);
  usleep(50000);
  return unused;
}

static void* waits_for_it(void* unused) {
  (void)unused;
  const long result = pthread_mutex_lock(&mutex);
  pthread_mutex_consistent(&mutex);
  pthread_mutex_unlock(&mutex);
  return (void*)result;
}

static void locks(int protocol) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutexattr_setprotocol(&attributes, protocol);
  pthread_mutex_init(&mutex, &attributes);
  pthread_t owner, first, second;
  void *result, *next;
  sem_init(&is_locked, 0, 0);
  pthread_create(&owner, NULL, dies_with_it, NULL);
  sem_wait(&is_locked);
  pthread_create(&first, NULL, waits_for_it, NULL);
  pthread_create(&second, NULL, waits_for_it, NULL);
  pthread_join(owner, NULL);
  pthread_join(first, &result);
  pthread_join(second, &next);
  say("one hears that the owner has died", ((long)result == EOWNERDEAD) + ((long)next == EOWNERDEAD));
  say("the other locks", ((long)result == 0) + ((long)next == 0));
}

static void sockets(void) {
  int pair[2];
  struct ucred who;
  socklen_t bytes = sizeof who;
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  const pid_t parent = getpid();
  if (fork() == 0) {
    getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &who, &bytes);
    say("made by the parent", who.pid == parent);
    _exit(0);
  }
  wait(NULL);
  enum { much = 1 << 20 };
  const int file = open("kept_settings.txt", O_RDWR | O_CREAT | O_TRUNC, 0600);
  ftruncate(file, much);
  if (fork() == 0) {
    static char text[5000];
    long sum = 0, got;
    close(pair[0]);
    while ((got = read(pair[1], text, sizeof text)) > 0) sum += got;
    say("received", sum);
    _exit(0);
  }
  close(pair[1]);
  say("sent", sendfile(pair[0], file, NULL, much));
  say("position", lseek(file, 0, SEEK_CUR));
  close(pair[0]);
  wait(NULL);
  unlink("kept_settings.txt");
}

static void* sleeps(void* ends) {
  char byte;
  read(((int*)ends)[0], &byte, 1);
  return NULL;
}

static void others(void) {
  int ends[2];
  char name[16] = "";
  pthread_t thread;
  pipe(ends);
  pthread_create(&thread, NULL, sleeps, ends);
  say("names another thread", pthread_setname_np(thread, "other"));
  pthread_getname_np(thread, name, sizeof name);
  printf("named %s\n", name);
  write(ends[1], "x", 1);
  pthread_join(thread, NULL);
  const int memory = memfd_create("sealed", MFD_ALLOW_SEALING);
  ftruncate(memory, 100);
  say("sealed", fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK));
  say("seals", fcntl(memory, F_GET_SEALS));
  say("cut", ftruncate(memory, 10));
  say("of no seals", fcntl(memfd_create("unsealed", 0), F_ADD_SEALS, F_SEAL_SHRINK));
  struct stat info;
  static char room[256];
  say("unknown flags", syscall(SYS_newfstatat, AT_FDCWD, ".", &info, 0x8000));
  say("unknown bits", syscall(SYS_statx, AT_FDCWD, ".", 0, 0x80000000, room));
  say("known ones", syscall(SYS_statx, AT_FDCWD, ".", AT_STATX_FORCE_SYNC, 0x7ff, room));
  say("attribute of no file", getxattr("nothing", "user.a", room, sizeof room));
  say("attributes of no file", listxattr("nothing", room, sizeof room));
  say("attribute of no descriptor", fgetxattr(99, "user.a", room, sizeof room));
  const int place = open(".", O_PATH);
  say("cut what is not open", ftruncate(place, 0));
  say("map what is not open", (long)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, place, 0));
  const int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (fork() == 0) {
    char* arguments[] = {"itself", "again", NULL};
    fexecve(program, arguments, environ);
    _exit(1);
  }
  int status = 0;
  wait(&status);
  say("executed by its descriptor", WEXITSTATUS(status));
}

int main(int count, char** arguments) {
  (void)arguments;
  if (count > 1) return 42;
  limits();
  names();
  priorities();
  pipes();
  waits();
  locks(PTHREAD_PRIO_NONE);
  locks(PTHREAD_PRIO_INHERIT);
  sockets();
  others();
  return 0;
}
