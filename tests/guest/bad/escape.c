// Tries to write, and with --sandbox to read, outside of its directory: prints one line an attempt that
// worked.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
// Arguments: a path outside for writing; "read" if reading outside is to fail too.
int main(int argc, char** argv) {
  const char* outside = argv[1];
  int escapes = 0;
  char path[4096];
#define TRY(what)                     \
  do {                                \
    if ((what) >= 0) {                \
      printf("escaped: %s\n", #what); \
      ++escapes;                      \
    }                                 \
  } while (0)
  TRY(open(outside, O_WRONLY | O_CREAT, 0644));
  TRY(mkdir(outside, 0755));
  symlink(outside, "escape_link");
  TRY(open("escape_link", O_WRONLY | O_CREAT, 0644));
  TRY(truncate("escape_link", 0));
  TRY(chmod("escape_link", 0600));
  unlink("escape_link");
  symlink("../../../../../../../../../..", "escape_up");
  snprintf(path, sizeof path, "escape_up%s", outside);
  TRY(open(path, O_WRONLY | O_CREAT, 0644));
  TRY(rename("escape_up", outside));
  snprintf(path, sizeof path, "../../../../../../../../../..%s", outside);
  TRY(open(path, O_WRONLY | O_CREAT, 0644));
  TRY(unlink(path));
  int root = open("/", O_RDONLY | O_DIRECTORY);
  if (root >= 0) TRY(openat(root, outside + 1, O_WRONLY | O_CREAT, 0644));
  TRY(link("/etc/passwd", "escape_hard"));
  int passwd = open("/etc/passwd", O_RDONLY);
  if (passwd >= 0) TRY(fchmod(passwd, 0666));
  TRY(open("/proc/self/mem", O_RDWR));
  TRY(open("/proc/self/fd/9", O_RDWR));
  if (argc > 2) {
    TRY(open("/etc/passwd", O_RDONLY));
    TRY(open("escape_up/etc/passwd", O_RDONLY));
    TRY(access("/etc/passwd", F_OK));
    TRY(chdir("/"));
    TRY(chdir("escape_up"));
    struct stat info;
    TRY(stat("/etc", &info));
  }
  unlink("escape_up");
  printf("%d escapes\n", escapes);
  return escapes != 0;
}
