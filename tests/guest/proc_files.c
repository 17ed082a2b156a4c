// no-qemu: /proc is that of the process and machine that are simulated.
// Files of /proc: what they say agrees with what calls say; descriptors that are opened anew.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char text[65536];
static const char* contents(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const long n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  text[n < 0 ? 0 : n] = 0;
  if (n < 0) printf("%s: %s\n", path, strerrorname_np(errno));
  if (fd >= 0) close(fd);
  return text;
}

/// The number behind a word, in the file that was read last.
static long number(const char* word) {
  const char* at = strstr(text, word);
  return at == NULL ? -1 : strtol(at + strlen(word), NULL, 10);
}

static int entries(const char* path) {
  DIR* folder = opendir(path);
  int count = 0;
  if (folder == NULL) printf("%s: %s\n", path, strerrorname_np(errno));
  while (folder != NULL && readdir(folder) != NULL) ++count;
  if (folder != NULL) closedir(folder);
  return count;
}

static pthread_barrier_t barrier;
static int tid_of_thread;
static void* wait_there(void* nothing) {
  pthread_setname_np(pthread_self(), "a-thread");
  tid_of_thread = (int)syscall(SYS_gettid);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  return nothing;
}

int main(void) {
  contents("/proc/self/status");
  const long before = number("VmSize:");
  printf("pid %d, parent %d, threads %ld, user %d\n", number("\nPid:") == getpid(),
         number("PPid:") == getppid(), number("Threads:"), number("Uid:") == (long)getuid());
  char* const more = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(more, 1, 8 << 20);
  contents("/proc/self/status");
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("8 MiB more: %ld KiB; most: %d\n", number("VmSize:") - before, number("VmHWM:") == usage.ru_maxrss);
  const long size = number("VmSize:");
  contents("/proc/self/statm");
  printf("in pages the same: %d\n", strtol(text, NULL, 10) * 4 == size);
  contents("/proc/self/stat");
  int pid = 0;
  char name[32], state;
  printf("stat: %d, this %d %s %c\n", sscanf(text, "%d (%31[^)]) %c", &pid, name, &state), pid == getpid(),
         name, state);
  unsigned long size_in_stat = 0;
  const char* field = strchr(text, ')') + 1;
  for (int i = 3; i < 23; ++i) field = strchr(field + 1, ' ');
  sscanf(field, "%lu", &size_in_stat);
  printf("its 23rd field: %d\n", (long)(size_in_stat >> 10) == size);

  int fd = open("/proc/self/auxv", O_RDONLY);
  unsigned long pair[2], entry = 0;
  while (read(fd, pair, sizeof pair) == sizeof pair && pair[0] != AT_NULL)
    if (pair[0] == AT_ENTRY) entry = pair[1];
  close(fd);
  printf("auxv: entry %d\n", entry == getauxval(AT_ENTRY));
  contents("/proc/self/limits");
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  printf("limits: files %d\n", number("Max open files") == (long)limit.rlim_cur);
  contents("/proc/self/smaps");
  printf("smaps: %d\n", strstr(text, "[stack]") != NULL && number("Rss:") > 0);
  contents("/proc/self/environ");
  const char* files[] = {"/proc/stat",    "/proc/uptime", "/proc/loadavg",
                         "/proc/version", "/proc/mounts", "/proc/sys/kernel/osrelease"};
  for (unsigned i = 0; i < sizeof files / sizeof *files; ++i)
    if (strlen(contents(files[i])) < 2) printf("%s is empty\n", files[i]);
  printf("no such file: %d\n", open("/proc/self/nothing", O_RDONLY));
  printf("not written: %d %s\n", open("/proc/self/stat", O_WRONLY), strerrorname_np(errno));

  pthread_t thread;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&thread, NULL, wait_there, NULL);
  pthread_barrier_wait(&barrier);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", tid_of_thread);
  printf("tasks %d, named %s", entries("/proc/self/task") - 2, contents(path));
  snprintf(path, sizeof path, "/proc/self/task/%d/status", tid_of_thread);
  contents(path);
  printf("of the thread: %d\n", number("\nPid:") == tid_of_thread && number("Tgid:") == getpid());
  pthread_barrier_wait(&barrier);
  pthread_join(thread, NULL);
  printf("it has ended: %d\n", open(path, O_RDONLY));
  printf("descriptors %d\n", entries("/proc/self/fd") - 2);  // the folder's own among them

  // Opened anew: a position, access and status of its own.
  fd = open("proc_files.txt", O_RDWR | O_CREAT | O_TRUNC, 0600);
  write(fd, "abcdef", 6);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  char c = ' ';
  const int again = open(path, O_RDONLY);
  printf("reads %ld %c\n", (long)read(again, &c, 1), c);
  printf("may not write: %ld\n", (long)write(again, "x", 1));
  const int third = open(path, O_WRONLY | O_TRUNC);
  printf("truncated to %ld\n", (long)lseek(fd, 0, SEEK_END));
  printf("written %ld, seen %ld\n", (long)write(third, "xyz", 3), (long)lseek(fd, 0, SEEK_END));
  unlink("proc_files.txt");
  printf("without a name: %ld\n", (long)read(open(path, O_RDONLY), text, 8));
  struct stat there;
  printf("status of the file: %d\n", stat(path, &there) == 0 && there.st_size == 3);
  const int memory = memfd_create("memory", 0);
  write(memory, "12", 2);
  snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
  printf("memory: %ld\n", (long)read(open(path, O_RDWR), text, 8));
  int ends[2];
  pipe(ends);
  snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
  const int other = open(path, O_WRONLY);
  close(ends[1]);
  printf("the pipe's other end: %ld %ld\n", (long)write(other, "p", 1), (long)read(ends[0], &c, 1));
  close(other);
  printf("its end: %ld\n", (long)read(ends[0], &c, 1));
  int s[2];
  socketpair(AF_UNIX, SOCK_STREAM, 0, s);
  snprintf(path, sizeof path, "/proc/self/fd/%d", s[0]);
  printf("a socket: %d %s\n", open(path, O_RDWR), strerrorname_np(errno));
  printf("readlink %d\n", readlink(path, text, 8) == 8 && strncmp(text, "socket:[", 8) == 0);
  const int exe = open("/proc/self/exe", O_RDONLY);
  snprintf(path, sizeof path, "/proc/self/fd/%d", exe);
  printf("the program itself is not written: %d %s\n", open(path, O_RDWR), strerrorname_np(errno));
  printf("no folder: %d %s\n", open("/proc/self/stat", O_RDONLY | O_DIRECTORY), strerrorname_np(errno));
  return 0;
}
