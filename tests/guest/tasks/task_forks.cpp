// Processes in a program with tasks: outside of run() and in a task every call is refused.
// SPDX-License-Identifier: MIT
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "rubato/rubato.hpp"

extern char** environ;

static void try_all(const char* where) {
  errno = 0;
  const pid_t forked = fork();
  if (forked == 0) _exit(1);
  const int of_fork = errno;
  char name[] = "/task_forks";
  char* arguments[] = {name, nullptr};
  execve(name, arguments, environ);
  const int of_exec = errno;
  pid_t spawned = 0;
  const int of_spawn = posix_spawn(&spawned, name, nullptr, nullptr, arguments, environ);
  std::printf("%s: %d %d, %d, %d, %d\n", where, static_cast<int>(forked), of_fork == ENOSYS,
              of_exec == ENOSYS, of_spawn == ENOSYS, wait(nullptr) < 0 && errno == ECHILD);
}

int main() {
  try_all("before");
  rubato::create<rubato::nonspec>([] { try_all("in a task"); }, {.at = 0});
  rubato::run();
  try_all("behind");
}
