// Calls on paths that newer C libraries make: fchmodat2, and extended attributes by descriptor and of links.
// Folders of cores. It leaves files in its directory. no-qemu: qemu-riscv64 does not know fchmodat2
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "say.h"

enum { kFchmodat2 = 452 };

static long change(int folder, const char* path, unsigned mode, unsigned flags) {
  return syscall(kFchmodat2, folder, path, mode, flags);
}

static void show(const char* path) {
  struct stat info;
  if (say(path, lstat(path, &info)) == 0) printf("mode %o\n", info.st_mode & 07777);
  fflush(stdout);
}

int main(void) {
  umask(0);
  const int file = open("plain", O_RDWR | O_CREAT, 0644);
  symlink("plain", "link");
  mkdir("folder", 0755);
  const int folder = open("folder", O_RDONLY | O_DIRECTORY);
  say("file", change(AT_FDCWD, "plain", 0600, 0));
  show("plain");
  say("by the link", change(AT_FDCWD, "link", 0640, 0));
  show("plain");
  say("not by the link", change(AT_FDCWD, "plain", 0604, AT_SYMLINK_NOFOLLOW));
  show("plain");
  say("the link itself", change(AT_FDCWD, "link", 0600, AT_SYMLINK_NOFOLLOW));
  say("a descriptor", change(file, "", 0606, AT_EMPTY_PATH));
  show("plain");
  say("a folder", change(folder, "", 0711, AT_EMPTY_PATH));
  show("folder");
  say("no path", change(AT_FDCWD, "", 0600, 0));
  say("no file", change(AT_FDCWD, "none", 0600, 0));
  say("flags", change(AT_FDCWD, "plain", 0600, 1));
  say("no descriptor", change(-1, "plain", 0600, 0));
  say("no such descriptor", change(-1, "", 0600, AT_EMPTY_PATH));

  DIR* const cores = opendir("/sys/devices/system/cpu");
  long count = 0;
  for (struct dirent* entry; (entry = readdir(cores)) != NULL;)
    count += strncmp(entry->d_name, "cpu", 3) == 0 && isdigit(entry->d_name[3]);
  printf("a folder for each core: %d\n", count == sysconf(_SC_NPROCESSORS_CONF));
  struct stat core;
  say("of the first", stat("/sys/devices/system/cpu/cpu0", &core));
  say("is a folder", S_ISDIR(core.st_mode));
  say("none of the last", stat("/sys/devices/system/cpu/cpu99999", &core));
  say("cores that there are", access("/sys/devices/system/cpu/present", R_OK));

  char names[16];
  say("names", flistxattr(file, names, sizeof names));
  say("names of a link", llistxattr("link", names, sizeof names));
  say("no descriptor", flistxattr(-1, names, sizeof names));
  say("set, no descriptor", fsetxattr(-1, "user.a", "b", 1, 0));
  say("set, no file", lsetxattr("none", "user.a", "b", 1, 0));
  say("remove, no descriptor", fremovexattr(-1, "user.a"));
  say("remove, no file", removexattr("none", "user.a"));
  say("remove, no link", lremovexattr("none", "user.a"));
  return 0;
}
