// POSIX message queues between processes: priorities, waits, notification, attributes and errors. Prints the
// same on every Linux, for an ordinary user.
// no-qemu: its mq_notify() is not there
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "say.h"

static char name[64];

static void end(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  say("child", WEXITSTATUS(status));
}

static mqd_t open_queue(int flags, long messages, long bytes) {
  struct mq_attr attributes = {.mq_maxmsg = messages, .mq_msgsize = bytes};
  return mq_open(name, flags, 0600, &attributes);
}

static void receive(mqd_t queue) {
  char text[64] = "";
  unsigned priority = 0;
  const long got = mq_receive(queue, text, sizeof text, &priority);
  if (say("receive", got) >= 0) printf("%.*s, priority %u\n", (int)got, text, priority);
  fflush(stdout);
}

static void about(mqd_t queue) {
  struct mq_attr attributes;
  if (say("attributes", mq_getattr(queue, &attributes)) != 0) return;
  printf("flags %ld, %ld messages of %ld, at most %ld bytes\n", attributes.mq_flags, attributes.mq_curmsgs,
         attributes.mq_maxmsg, attributes.mq_msgsize);
  fflush(stdout);
}

static struct timespec in_milliseconds(long some) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_nsec += some * 1000000;
  time.tv_sec += time.tv_nsec / 1000000000;
  time.tv_nsec %= 1000000000;
  return time;
}

static void errors(void) {
  say("none", open_queue(O_RDWR, 4, 64));
  say("no slash", mq_open("name", O_RDWR));
  say("two slashes", mq_open("/a/b", O_RDWR | O_CREAT, 0600, NULL));
  say("no message", open_queue(O_RDWR | O_CREAT, 0, 64));
  say("too many", open_queue(O_RDWR | O_CREAT, 11, 64));
  say("too large", open_queue(O_RDWR | O_CREAT, 4, 8193));
  say("not removed", mq_unlink(name));
  say("no queue", mq_send(STDOUT_FILENO, "a", 1, 0));
}

static void messages(void) {
  const mqd_t queue = open_queue(O_RDWR | O_CREAT | O_EXCL, 4, 64);
  say("made", queue < 0 ? queue : 0);
  say("again", open_queue(O_RDWR | O_CREAT | O_EXCL, 4, 64));
  about(queue);
  say("send", mq_send(queue, "low", 3, 1));
  say("send", mq_send(queue, "high", 4, 9));
  say("send", mq_send(queue, "high, later", 11, 9));
  say("empty", mq_send(queue, "", 0, 0));
  about(queue);
  say("priority", mq_send(queue, "x", 1, 32768));
  char large[65] = "";
  say("long", mq_send(queue, large, 65, 0));
  say("short", mq_receive(queue, large, 63, NULL));
  struct timespec soon = in_milliseconds(5);
  say("full", mq_timedsend(queue, "x", 1, 0, &soon));
  struct pollfd ready = {.fd = queue, .events = POLLIN | POLLOUT};
  say("poll", poll(&ready, 1, 0) * 100 + ready.revents);
  for (int i = 0; i < 4; ++i) receive(queue);
  say("poll", poll(&ready, 1, 0) * 100 + ready.revents);
  soon = in_milliseconds(5);
  say("nothing", mq_timedreceive(queue, large, 64, NULL, &soon));
  soon.tv_nsec = -1;
  say("no time", mq_timedreceive(queue, large, 64, NULL, &soon));
  struct mq_attr attributes = {.mq_flags = O_NONBLOCK};
  say("nonblocking", mq_setattr(queue, &attributes, NULL));
  receive(queue);
  about(queue);
  attributes.mq_flags = 0;
  mq_setattr(queue, &attributes, NULL);
  const mqd_t reader = mq_open(name, O_RDONLY), writer = mq_open(name, O_WRONLY);
  say("reader", mq_send(reader, "x", 1, 0));
  say("writer", mq_receive(writer, large, 64, NULL));
  struct stat info;
  say("stat", fstat(queue, &info));
  printf("mode %o, %ld bytes\n", info.st_mode, (long)info.st_size);
  fflush(stdout);

  // A child waits for a message, and another for room.
  pid_t child = fork();
  if (child == 0) {
    receive(queue);
    _exit(4);
  }
  usleep(3000);
  const int sent = mq_send(queue, "hello", 5, 3);
  end(child);
  say("for the child", sent);
  for (int i = 0; i < 4; ++i) mq_send(queue, "x", 1, 0);
  child = fork();
  if (child == 0) _exit((int)mq_send(queue, "last", 4, 0) + 5);
  usleep(3000);
  for (int i = 0; i < 5; ++i) receive(queue);
  end(child);
  say("unlinked", mq_unlink(name));
  say("twice", mq_unlink(name));
  say("still open", mq_send(queue, "a", 1, 0));
  receive(queue);
  mq_close(reader);
  mq_close(writer);
  say("closed", mq_close(queue));
  say("closed twice", mq_close(queue));
}

static volatile sig_atomic_t told;

static void hears(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  told = info->si_code == SI_MESGQ ? info->si_value.sival_int : -1;
}

static void notifications(void) {
  const struct sigaction action = {.sa_sigaction = hears, .sa_flags = SA_SIGINFO | SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  const mqd_t queue = open_queue(O_RDWR | O_CREAT, 4, 64);
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  event.sigev_value.sival_int = 42;
  say("notify", mq_notify(queue, &event));
  say("one only", mq_notify(queue, &event));
  const pid_t child = fork();
  if (child == 0) {
    say("of a child", mq_notify(queue, &event));
    _exit((int)mq_send(queue, "told", 4, 0));
  }
  end(child);
  say("told", told);
  told = 0;
  mq_send(queue, "not told", 8, 0);
  say("once", told);
  receive(queue);
  receive(queue);
  say("notify", mq_notify(queue, &event));
  say("no longer", mq_notify(queue, NULL));
  mq_send(queue, "not told", 8, 0);
  say("not told", told);
  receive(queue);
  say("notify", mq_notify(queue, &event));
  const pid_t receiver = fork();
  if (receiver == 0) {
    receive(queue);
    _exit(6);
  }
  usleep(100000);  // the child waits then
  mq_send(queue, "to the receiver", 15, 0);
  end(receiver);
  say("not of a message that is received at once", told);
  mq_send(queue, "told", 4, 0);
  say("of the next", told);
  mq_close(queue);
  mq_unlink(name);
}

int main(void) {
  if (geteuid() == 0 && (setresgid(1000, 1000, 1000) != 0 || setresuid(1000, 1000, 1000) != 0)) return 1;
  snprintf(name, sizeof name, "/rubato-%d", getpid());
  errors();
  messages();
  notifications();
  return 0;
}
