// Processes: fork, vfork, posix_spawn, execve, wait4, waitid, pipes between them, signals at their end, and
// what a child inherits. Prints nothing that depends on numbers of processes, so it prints the same on
// every Linux. no-qemu: it executes itself, which qemu-riscv64 can do only where the host knows RISC-V
// programs
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static char self[4096];
extern char** environ;
static int shared_value = 1, *volatile nowhere;
static volatile sig_atomic_t children_ended;

static void on_child(int signal) {
  (void)signal;
  ++children_ended;
}

static const char* name_of_error(int error) { return error == 0 ? "0" : strerrorname_np(error); }

static void say(const char* what, long value) {
  printf("%s: %ld\n", what, value);
  fflush(stdout);
}

static int ended(pid_t pid) {
  int status = 0;
  pid_t got;
  do got = waitpid(pid, &status, 0);
  while (got < 0 && errno == EINTR);
  if (got != pid) return -errno;
  return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

static pid_t spawn(char** arguments, posix_spawn_file_actions_t* actions) {
  pid_t pid = 0;
  int error = posix_spawn(&pid, self, actions, NULL, arguments, environ);
  return error == 0 ? pid : -error;
}

static void waits(void) {
  say("no child", wait(NULL) < 0 ? -errno : 0);
  pid_t pid = fork();
  if (pid == 0) {
    shared_value = 7;
    _exit(getppid() > 1 ? 5 : 6);
  }
  say("fork ends with", ended(pid));
  say("its memory is its own", shared_value);
  say("waited for already", ended(pid));
  pid = vfork();
  if (pid == 0) {
    shared_value = 9;
    _exit(3);
  }
  say("vfork shares memory", shared_value);
  say("and ends with", ended(pid));
  int to[2];
  pipe(to);
  pid = fork();
  if (pid == 0) {
    char byte;
    read(to[0], &byte, 1);
    _exit(8);
  }
  say("still running", waitpid(pid, NULL, WNOHANG));
  siginfo_t info;
  memset(&info, 1, sizeof info);
  say("waitid finds none", waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG));
  say("si_pid", info.si_pid);
  write(to[1], "x", 1);
  close(to[0]), close(to[1]);
  say("waitid", waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
  printf("%d %d %d %d\n", info.si_signo, info.si_code == CLD_EXITED, info.si_status, info.si_pid == pid);
  say("still there", ended(pid));
  pid = fork();
  if (pid == 0) {
    for (;;) pause();
  }
  say("kill", kill(pid, SIGTERM));
  say("killed by", ended(pid));
  pid = fork();
  if (pid == 0) *nowhere = 1;
  say("faulted", ended(pid));
  say("no such process", kill(pid, 0) < 0 ? -errno : 0);
  struct rusage usage;
  say("children's time", getrusage(RUSAGE_CHILDREN, &usage));
}

static void signals(void) {
  struct sigaction action = {.sa_handler = on_child};
  sigaction(SIGCHLD, &action, NULL);
  for (int i = 0; i < 3; ++i) {
    pid_t pid = fork();
    if (pid == 0) _exit(i);
    say("child", ended(pid));
  }
  say("SIGCHLD came", children_ended);
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigprocmask(SIG_BLOCK, &set, &old);
  pid_t pid = fork();
  if (pid == 0) _exit(4);
  siginfo_t info;
  say("sigwaitinfo", sigwaitinfo(&set, &info));
  printf("%d %d\n", info.si_status, info.si_pid == pid);
  say("its child", ended(pid));
  sigprocmask(SIG_SETMASK, &old, NULL);
  signal(SIGCHLD, SIG_IGN);
  pid = fork();
  if (pid == 0) _exit(4);
  say("ignored, so not left", ended(pid));
  signal(SIGCHLD, SIG_DFL);
}

static void pipes(void) {
  // A process writes numbers, a second one adds them, the third one is the reader.
  int first[2], second[2];
  pipe(first);
  pipe(second);
  pid_t writer = fork();
  if (writer == 0) {
    close(first[0]), close(second[0]), close(second[1]);
    for (int i = 1; i <= 20000; ++i) write(first[1], &i, sizeof i);
    _exit(0);
  }
  pid_t adder = fork();
  if (adder == 0) {
    close(first[1]), close(second[0]);
    long sum = 0;
    for (int i; read(first[0], &i, sizeof i) == sizeof i;) sum += i;
    write(second[1], &sum, sizeof sum);
    _exit(0);
  }
  close(first[0]), close(first[1]), close(second[1]);
  long sum = 0;
  say("sum read", (long)read(second[0], &sum, sizeof sum));
  say("sum", sum);
  say("end of the pipe", (long)read(second[0], &sum, 1));
  close(second[0]);
  say("writer", ended(writer));
  say("adder", ended(adder));
  // Nothing reads: the writer gets SIGPIPE.
  pipe(first);
  pid_t pid = fork();
  if (pid == 0) {
    close(first[0]);
    for (;;) write(first[1], "y\n", 2);
  }
  close(first[0]);
  close(first[1]);
  say("broken pipe", ended(pid));
}

static void executes(void) {
  char* plain[] = {self, "child", "a b", "", NULL};
  say("spawn", ended(spawn(plain, NULL)));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  int from[2];
  pipe2(from, O_CLOEXEC);
  posix_spawn_file_actions_adddup2(&actions, from[1], 1);
  pid_t pid = spawn(plain, &actions);
  close(from[1]);
  char text[256];
  ssize_t got = 0, more;
  while ((more = read(from[0], text + got, sizeof text - 1 - (size_t)got)) > 0) got += more;
  text[got] = '\0';
  close(from[0]);
  say("redirected", ended(pid));
  printf("<%s>\n", text);
  char* missing[] = {"./nothing", NULL};
  pid = 0;
  printf("missing: %s\n", name_of_error(posix_spawn(&pid, "./nothing", NULL, NULL, missing, environ)));
  int fd = open("text", O_CREAT | O_WRONLY | O_TRUNC, 0644);
  write(fd, "no program\n", 11);
  close(fd);
  printf("no right: %s\n", execv("./text", missing) < 0 ? name_of_error(errno) : "");
  chmod("text", 0755);
  printf("no program: %s\n", execv("./text", missing) < 0 ? name_of_error(errno) : "");
  printf("a folder: %s\n", execv("/", missing) < 0 ? name_of_error(errno) : "");
  printf("not a folder: %s\n", execv("./text/x", missing) < 0 ? name_of_error(errno) : "");
  char* huge = malloc(1 << 20);
  memset(huge, 'h', (1 << 20) - 1);
  huge[(1 << 20) - 1] = '\0';
  char* long_list[] = {self, huge, NULL};
  printf("too long: %s\n", execv(self, long_list) < 0 ? name_of_error(errno) : "");
  free(huge);
  fd = open("script", O_CREAT | O_WRONLY | O_TRUNC, 0755);
  dprintf(fd, "#! %s  script with blanks \nrest\n", self);
  close(fd);
  char* script[] = {"name of the script", "first", NULL};
  pid = fork();
  if (pid == 0) {
    execv("./script", script);
    _exit(99);
  }
  say("script", ended(pid));
  unlink("script"), unlink("text");
  fflush(stdout);
}

static void* executing(void* nothing) {
  char* plain[] = {self, "number", NULL};
  execv(self, plain);
  return nothing;
}

static void* endless(void* nothing) {
  for (volatile long i = 0;; ++i)
    ;
  return nothing;
}

static void threads(void) {
  // A thread executes a program: the other threads end, and the process keeps its number.
  int from[2];
  pipe(from);
  pid_t pid = fork();
  if (pid == 0) {
    dup2(from[1], 1);
    pthread_t thread;
    pthread_create(&thread, NULL, endless, NULL);
    pthread_create(&thread, NULL, executing, NULL);
    endless(NULL);
  }
  close(from[1]);
  FILE* in = fdopen(from[0], "r");
  int number = 0;
  fscanf(in, "%d", &number);
  fclose(in);
  say("the number stays", number == pid);
  say("and it ends with", ended(pid));
  pid = fork();
  if (pid == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, endless, NULL);
    exit(11);
  }
  say("with a thread that runs", ended(pid));
}

static void shared(void) {
  struct Shared {
    pthread_mutex_t mutex;
    long count;
  }* shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&shared->mutex, &attributes);
  pid_t pids[3];
  for (int i = 0; i < 3; ++i) {
    pids[i] = fork();
    if (pids[i] == 0) {
      for (int j = 0; j < 500; ++j) {
        pthread_mutex_lock(&shared->mutex);
        ++shared->count;
        pthread_mutex_unlock(&shared->mutex);
      }
      _exit(0);
    }
  }
  for (int i = 0; i < 3; ++i) ended(pids[i]);
  say("counted together", shared->count);
}

// A robust mutex in shared memory whose owner ends: by itself, by a signal, by executing. Another process
// waits.
static void owners_of_locks(void) {
  pthread_mutex_t* lock = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(lock, &attributes);
  for (int way = 0; way < 3; ++way) {
    int ends[2];
    char byte = 0;
    if (pipe(ends) != 0) exit(1);
    const pid_t pid = fork();
    if (pid == 0) {
      pthread_mutex_lock(lock);
      if (write(ends[1], &byte, 1) != 1) _exit(1);
      if (way == 1) pause();
      for (volatile int i = 0; i < 20000; ++i) continue;
      if (way == 2) execl(self, self, "ends", NULL);
      _exit(7);
    }
    if (read(ends[0], &byte, 1) != 1) exit(1);
    if (way == 1) kill(pid, SIGKILL);
    say("the owner is dead", pthread_mutex_lock(lock) == EOWNERDEAD);
    say("consistent", pthread_mutex_consistent(lock));
    say("unlocked", pthread_mutex_unlock(lock));
    say("ended", ended(pid));
    close(ends[0]);
    close(ends[1]);
  }
}

static void limits(void) {
  struct rlimit limit = {7, 100}, seen;
  say("setrlimit", setrlimit(RLIMIT_NOFILE, &limit));
  pid_t pid = fork();
  if (pid == 0) _exit(getrlimit(RLIMIT_NOFILE, &seen) == 0 && seen.rlim_cur == 7 ? 1 : 2);
  say("a child has it", ended(pid));
}

int main(int count, char** arguments) {
  setlinebuf(stdout);
  self[readlink("/proc/self/exe", self, sizeof self - 1)] = '\0';
  if (count > 1 && strcmp(arguments[1], "number") == 0) {
    printf("%d\n", getpid());
    return 12;
  }
  if (count > 1 && strcmp(arguments[1], "ends") == 0) return 8;
  if (count > 1) {  // executed
    for (int i = 1; i < count; ++i) printf("[%s]", arguments[i]);
    printf(" %d\n", fcntl(3, F_GETFD));
    return 20 + count;
  }
  waits();
  signals();
  pipes();
  executes();
  threads();
  shared();
  owners_of_locks();
  limits();
  return 0;
}
