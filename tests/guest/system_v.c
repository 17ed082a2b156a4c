// System V IPC between processes: shared memory, semaphores, queues of messages, and their errors. Prints
// the same on every Linux, for an ordinary user. no-qemu: it keeps attached segments otherwise
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "say.h"

union semun {
  int val;
  struct semid_ds* buf;
  unsigned short* array;
};

static key_t key;

static void end(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  say("child", WIFSIGNALED(status) ? -WTERMSIG(status) * 1000 : WEXITSTATUS(status));
}

static void* attach(int id, const void* where, int flags) {
  void* const at = shmat(id, where, flags);
  say("attach", at == (void*)-1 ? -1 : 0);
  return at;
}

static void about(int id) {
  struct shmid_ds status;
  if (say("status", shmctl(id, IPC_STAT, &status)) != 0) return;
  printf("%lu bytes, attached %lu times, mode %o, made here %d, key %d, now %d %d\n",
         (unsigned long)status.shm_segsz, (unsigned long)status.shm_nattch, status.shm_perm.mode,
         status.shm_cpid == getpid(), status.shm_perm.__key == key, status.shm_atime != 0,
         status.shm_dtime != 0);
  fflush(stdout);
}

static void segments(void) {
  say("none", shmget(key, 100, 0600));
  say("empty", shmget(key, 0, IPC_CREAT | 0600));
  const int id = shmget(key, 10000, IPC_CREAT | IPC_EXCL | 0640);
  say("made", id < 0 ? id : 0);
  about(id);
  say("again", shmget(key, 10000, IPC_CREAT | IPC_EXCL | 0640));
  say("found", shmget(key, 0, 0) == id);
  say("too large", shmget(key, 10001, 0));
  say("more rights", shmget(key, 10000, 0602) == id);
  char* const at = attach(id, NULL, 0);
  say("zero", at[0] + at[9999] + at[12287]);
  say("a round place", (unsigned long)at % 4096);
  about(id);
  strcpy(at, "from the parent");
  const pid_t child = fork();
  if (child == 0) {
    printf("child reads: %s\n", at);
    fflush(stdout);
    about(id);
    strcpy(at + 5000, "from the child");
    say("detached", shmdt(at));
    say("twice", shmdt(at));
    char* const second = attach(id, NULL, SHM_RDONLY);
    printf("again: %s\n", second);
    fflush(stdout);
    say("to write", mprotect(second, 4096, PROT_READ | PROT_WRITE));
    _exit(3);
  }
  end(child);
  printf("parent reads: %s\n", at + 5000);
  fflush(stdout);
  about(id);
  // Beside the first: both show the same bytes.
  char* const other = attach(id, NULL, 0);
  other[7] = 'T';
  printf("%s\n", at);
  fflush(stdout);
  say("not there", shmat(id, at, 0) == (void*)-1 ? -1 : 0);
  say("odd", shmat(id, at + 1, 0) == (void*)-1 ? -1 : 0);
  say("replaced", shmat(id, other + 100, SHM_RND | SHM_REMAP) == other ? 0 : -1);
  say("of no place", shmat(id, NULL, SHM_REMAP) == (void*)-1 ? -1 : 0);
  // A part of it is unmapped: the rest goes by shmdt().
  say("a part", munmap(other + 4096, 4096));
  about(id);
  say("the rest", shmdt(other));
  about(id);
  say("not the begin", shmdt(at + 4096));
  struct shmid_ds status;
  shmctl(id, IPC_STAT, &status);
  status.shm_perm.mode = 0400;
  say("set", shmctl(id, IPC_SET, &status));
  say("for writing", shmat(id, NULL, 0) == (void*)-1 ? -1 : 0);
  say("for reading", shmdt(attach(id, NULL, SHM_RDONLY)));
  say("removed", shmctl(id, IPC_RMID, NULL));
  about(id);
  printf("still: %s\n", at);
  fflush(stdout);
  say("by its key", shmget(key, 0, 0));
  say("gone", shmdt(at));
  say("status", shmctl(id, IPC_STAT, &status));
  say("attach", shmat(id, NULL, 0) == (void*)-1 ? -1 : 0);
  say("of no number", shmctl(-1, IPC_STAT, &status));
  say("no command", shmctl(0, 999, &status));
}

// A child that executes another program, or ends, leaves its segments.
static void leaves(char* self) {
  const int id = shmget(IPC_PRIVATE, 4096, 0600);
  attach(id, NULL, 0);
  const pid_t child = fork();
  if (child == 0) {
    char text[32];
    snprintf(text, sizeof text, "%d", id);
    char* arguments[] = {self, text, NULL};
    execv("/proc/self/exe", arguments);
    _exit(1);
  }
  end(child);
  struct shmid_ds status;
  shmctl(id, IPC_STAT, &status);
  say("left", (long)status.shm_nattch);
  say("last", status.shm_lpid == child);
  shmctl(id, IPC_RMID, NULL);
}

static long operate(int id, int index, int change, int flags) {
  struct sembuf operation = {(unsigned short)index, (short)change, (short)flags};
  return semop(id, &operation, 1);
}

static void semaphores(void) {
  say("none", semget(key, 1, 0600));
  say("empty", semget(key, 0, IPC_CREAT | 0600));
  const int id = semget(key, 3, IPC_CREAT | 0600);
  say("made", id < 0 ? id : 0);
  say("too many", semget(key, 4, 0));
  say("found", semget(key, 2, 0) == id);
  say("value", semctl(id, 0, GETVAL));
  say("set", semctl(id, 1, SETVAL, (union semun){.val = 5}));
  say("not set", semctl(id, 1, SETVAL, (union semun){.val = 40000}));
  say("no such", semctl(id, 3, GETVAL));
  say("wait not", operate(id, 0, -1, IPC_NOWAIT));
  say("zero not", operate(id, 1, 0, IPC_NOWAIT));
  say("zero", operate(id, 0, 0, IPC_NOWAIT));
  say("beyond", operate(id, 3, 1, 0));
  say("above all", operate(id, 1, 32767, 0));
  say("none at all", semop(id, NULL, 0));
  struct sembuf both[] = {{1, -2, 0}, {0, -1, IPC_NOWAIT}};
  say("all or none", semop(id, both, 2));
  say("still", semctl(id, 1, GETVAL));
  const struct timespec short_time = {0, 2000000}, wrong = {0, -1};
  struct sembuf down = {0, -1, 0};
  say("in time", semtimedop(id, &down, 1, &short_time));
  say("wrong time", semtimedop(id, &down, 1, &wrong));

  // A child waits until the parent has raised the semaphore, and another one until it is zero.
  const pid_t waits = fork();
  if (waits == 0) _exit((int)operate(id, 0, -2, 0) + 7);
  while (semctl(id, 0, GETNCNT) != 1) usleep(1000);
  const pid_t for_zero = fork();
  if (for_zero == 0) _exit((int)operate(id, 1, 0, 0) + 8);
  while (semctl(id, 1, GETZCNT) != 1) usleep(1000);
  say("one", operate(id, 0, 1, 0));
  say("wait", semctl(id, 0, GETNCNT));
  say("two", operate(id, 0, 1, 0));
  end(waits);
  say("last", semctl(id, 0, GETPID) == waits);
  say("down", operate(id, 1, -5, 0));
  end(for_zero);

  // Changes that a process has made with SEM_UNDO are taken back at its end.
  unsigned short values[3] = {4, 4, 4};
  say("set all", semctl(id, 0, SETALL, (union semun){.array = values}));
  const pid_t undoes = fork();
  if (undoes == 0) {
    operate(id, 0, -3, SEM_UNDO);
    operate(id, 1, 2, SEM_UNDO);
    operate(id, 2, -1, 0);
    operate(id, 0, 1, SEM_UNDO);
    _exit(9);
  }
  end(undoes);
  semctl(id, 0, GETALL, (union semun){.array = values});
  printf("values %d %d %d\n", values[0], values[1], values[2]);
  fflush(stdout);
  struct semid_ds status;
  say("status", semctl(id, 0, IPC_STAT, (union semun){.buf = &status}));
  printf("%lu of them, mode %o\n", (unsigned long)status.sem_nsems, status.sem_perm.mode);
  fflush(stdout);
  // The set goes while a child waits.
  const pid_t waits_on = fork();
  if (waits_on == 0) _exit(operate(id, 0, -100, 0) < 0 ? errno : 0);
  while (semctl(id, 0, GETNCNT) != 1) usleep(1000);
  say("removed", semctl(id, 0, IPC_RMID));
  int code = 0;
  waitpid(waits_on, &code, 0);
  say("of a removed set", WEXITSTATUS(code) == EIDRM);
  say("gone", semctl(id, 0, GETVAL));
}

static void nothing(int signal) { (void)signal; }

struct message {
  long type;
  char text[64];
};

static void send_text(int id, long type, const char* text) {
  struct message message = {.type = type};
  strcpy(message.text, text);
  say("send", msgsnd(id, &message, strlen(text) + 1, IPC_NOWAIT));
}

static void receive(int id, long type, size_t most, int flags) {
  struct message message = {0};
  const long got = msgrcv(id, &message, most, type, flags);
  if (say("receive", got) > 0) printf("type %ld: %.*s\n", message.type, (int)got, message.text);
  fflush(stdout);
}

static void queues(void) {
  say("none", msgget(key, 0600));
  const int id = msgget(key, IPC_CREAT | 0600);
  say("made", id < 0 ? id : 0);
  say("again", msgget(key, IPC_CREAT | IPC_EXCL | 0600));
  send_text(id, 0, "no type");
  send_text(id, 3, "three");
  send_text(id, 1, "one");
  send_text(id, 2, "two");
  send_text(id, 3, "three again");
  struct msqid_ds status;
  say("status", msgctl(id, IPC_STAT, &status));
  printf("%lu messages, most %lu, sent here %d\n", (unsigned long)status.msg_qnum,
         (unsigned long)status.msg_qbytes, status.msg_lspid == getpid());
  fflush(stdout);
  receive(id, 2, 64, 0);
  receive(id, 2, 64, IPC_NOWAIT);
  receive(id, -2, 64, 0);
  receive(id, 0, 3, 0);
  receive(id, 3, 3, MSG_NOERROR);
  receive(id, 3, 64, MSG_EXCEPT | IPC_NOWAIT);
  receive(id, 0, 64, 0);
  static struct {
    long type;
    char text[9000];
  } large = {1, ""};
  say("too large", msgsnd(id, &large, 8193, 0));
  say("large", msgsnd(id, &large, 8192, 0));
  say("and another", msgsnd(id, &large, 8192, 0));
  say("full", msgsnd(id, &large, 1, IPC_NOWAIT));
  const pid_t sends = fork();
  if (sends == 0) {
    large.type = 77;
    _exit((int)msgsnd(id, &large, 10, 0) + 5);
  }
  usleep(2000);
  say("taken", msgrcv(id, &large, 9000, 0, 0));
  end(sends);
  say("of the child", msgrcv(id, &large, 9000, 77, 0));
  // A signal ends the wait, also where the handler lets calls be restarted.
  const struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  ualarm(3000, 0);
  say("a signal", msgrcv(id, &large, 9000, 50, 0));
  msgctl(id, IPC_STAT, &status);
  status.msg_qbytes = 100000000;
  say("more", msgctl(id, IPC_SET, &status));
  status.msg_qbytes = 100;
  say("less", msgctl(id, IPC_SET, &status));
  const pid_t waits = fork();
  if (waits == 0) _exit(msgrcv(id, &large, 9000, 50, 0) < 0 ? errno : 0);
  usleep(100000);  // the child waits then
  say("removed", msgctl(id, IPC_RMID, NULL));
  int code = 0;
  waitpid(waits, &code, 0);
  say("of a removed queue", WEXITSTATUS(code) == EIDRM);
  say("gone", msgrcv(id, &large, 10, 0, 0));
}

// Many processes count in shared memory, each under a semaphore.
static void counting(void) {
  enum { kProcesses = 4, kRounds = 200 };
  const int memory = shmget(IPC_PRIVATE, 4096, 0600), lock = semget(IPC_PRIVATE, 1, 0600);
  volatile long* const count = shmat(memory, NULL, 0);
  semctl(lock, 0, SETVAL, (union semun){.val = 1});
  for (int i = 0; i < kProcesses; ++i) {
    if (fork() != 0) continue;
    for (int k = 0; k < kRounds; ++k) {
      operate(lock, 0, -1, SEM_UNDO);
      *count += 1;
      operate(lock, 0, 1, SEM_UNDO);
    }
    _exit(0);
  }
  while (wait(NULL) > 0) continue;
  say("counted", *count);
  shmctl(memory, IPC_RMID, NULL);
  semctl(lock, 0, IPC_RMID);
}

int main(int count, char** arguments) {
  if (geteuid() == 0 && (setresgid(1000, 1000, 1000) != 0 || setresuid(1000, 1000, 1000) != 0)) return 1;
  if (count > 1) {  // executed by leaves()
    struct shmid_ds status;
    shmctl(atoi(arguments[1]), IPC_STAT, &status);
    say("of the parent only", (long)status.shm_nattch);
    return 42;
  }
  key = 0x5275 << 16 | (getpid() & 0xffff);
  segments();
  leaves(arguments[0]);
  semaphores();
  queues();
  counting();
  return 0;
}
