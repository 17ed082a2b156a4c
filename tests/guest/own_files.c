// Rights of an ordinary user to own files, by their modes. Prints the same on every Linux, for such a user.
// no-qemu: its user may not search the folders above, where the test runs as root
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

static void ask(const char* what, const char* path) {
  printf("%s: %d %d %d %d\n", what, access(path, R_OK), access(path, W_OK), access(path, X_OK),
         access(path, F_OK));
  fflush(stdout);
}

static void close_if_open(int fd) {
  if (fd >= 0) close(fd);
}

int main(void) {
  if (geteuid() == 0) {
    // The folder is root's: an own one in it.
    if (mkdir("own", 0700) != 0 || chown("own", 1000, 1000) != 0 || chdir("own") != 0) return 1;
    if (setresgid(1000, 1000, 1000) != 0 || setresuid(1000, 1000, 1000) != 0) return 1;
  }
  static const unsigned modes[] = {0644, 0444, 0200, 0100, 0001, 0055, 0700, 0000};
  const char* const file = "own_files.sh";
  for (unsigned i = 0; i < sizeof modes / sizeof *modes; ++i) {
    const int fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600);
    write(fd, "text", 4);
    close(fd);
    chmod(file, modes[i]);
    printf("mode %o\n", modes[i]);
    fflush(stdout);
    ask("access", file);
    int opened = open(file, O_RDONLY);
    close_if_open(opened);
    say("read", opened < 0 ? -1 : 0);
    close_if_open(opened = open(file, O_WRONLY));
    say("write", opened < 0 ? -1 : 0);
    close_if_open(opened = open(file, O_RDONLY | O_TRUNC));
    say("cut", opened < 0 ? -1 : 0);
    close_if_open(opened = open(file, O_PATH));
    say("name", opened < 0 ? -1 : 0);
    say("truncate", truncate(file, 1));
    char* arguments[] = {(char*)file, NULL};
    say("execute", (execv(file, arguments), errno == EACCES ? -1 : 0));
    unlink(file);
  }
  mkdir("own_files", 0600);
  ask("folder", "own_files");
  say("enter", chdir("own_files"));
  rmdir("own_files");
  return 0;
}
