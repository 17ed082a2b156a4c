// Modes of files with all their bits, and names with a '/' or a '.' behind them.
// An argument: set-ID bits of regular files, too, which are refused if Rubato runs as root.
// no-qemu: test_linux_calls.py compares with the host.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say.h"

static void show(const char* what, const char* path) {
  struct stat info;
  if (lstat(path, &info) != 0)
    printf("%s: %s\n", what, strerrorname_np(errno));
  else
    printf("%s: %o\n", what, info.st_mode);
}

static void modes(void) {
  umask(022);
  const int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 01666);
  show("made sticky", "file");
  say("chmod", chmod("file", 01755));
  show("sticky", "file");
  say("fchmod", fchmod(fd, 01700));
  show("sticky", "file");
  say("more bits than there are", fchmod(fd, 0200640));
  show("without", "file");
  close(fd);
  say("mkdir", mkdir("folder", 07777));
  show("a folder", "folder");
  say("a folder's set-IDs", chmod("folder", 07755));
  show("the folder", "folder");
  say("fchmodat", fchmodat(AT_FDCWD, "folder", 01777, 0));
  show("as /tmp", "folder");
  say("umask", umask(07077));
  say("what it keeps", umask(027));
  close(open("masked", O_CREAT | O_WRONLY, 0777));
  show("masked", "masked");
  say("mknod", mknod("node", S_IFREG | 01666, 0));
  show("node", "node");
  say("a kind that is none", mknod("none", 0150000, 0));
  say("a folder by mknod", mknod("none", S_IFDIR | 0700, 0));
  say("no such file", chmod("none", 0600));
  for (const char* name = "file"; name != NULL; name = name[0] == 'f'   ? "masked"
                                                       : name[0] == 'm' ? "node"
                                                                        : NULL)
    unlink(name);
  rmdir("folder");
}

static void set_ids(void) {
  umask(022);
  const int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 06755);
  show("made", "file");
  say("chmod", chmod("file", 06711));
  show("set", "file");
  say("chmod", fchmod(fd, 02771));
  show("group", "file");
  say("chmod", fchmod(fd, 04711));
  say("written", write(fd, "x", 1));
  show("lost by a write", "file");
  unlink("file");
}

static void names(void) {
  close(open("file", O_CREAT | O_WRONLY, 0600));
  mkdir("folder", 0700);
  symlink("folder", "link");
  symlink("file", "file-link");
  symlink("nowhere", "dangling");
  say("unlink a file", unlink("file/"));
  say("unlink a link to a file", unlink("file-link/"));
  say("unlink a link to a folder", unlink("link/"));
  say("rmdir a link to a folder", rmdir("link/"));
  say("rmdir itself", rmdir("folder/."));
  say("rmdir here", rmdir("."));
  say("unlink a folder", unlink("folder/"));
  say("rename a file", rename("file/", "other"));
  say("rename a link to a folder", rename("link/", "other"));
  say("rename a file to", rename("file", "other/"));
  say("rename itself", rename("folder/.", "other"));
  say("rename a folder", rename("folder/", "other/"));
  say("and back", rename("other", "folder/"));
  say("link a file", link("file/", "other"));
  say("link a file to", link("file", "other/"));
  say("symlink", symlink("folder", "other/"));
  say("mkdir behind a dangling link", mkdir("dangling/", 0700));
  say("mkdir", mkdir("other/", 0700));
  say("mkdir again", mkdir("other/", 0700));
  say("mkdir itself", mkdir("third/.", 0700));
  say("rmdir", rmdir("other//"));
  say("mknod", mknod("other/", S_IFREG | 0600, 0));
  say("mkfifo", mkfifo("other/", 0600));
  say("chmod", chmod("file/", 0600));
  say("chown", chown("file/", -1, -1));
  say("times", utimensat(AT_FDCWD, "file/", NULL, 0));
  say("truncate", truncate("file/", 0));
  say("open", open("file/", O_RDONLY));
  say("make", open("new/", O_CREAT | O_WRONLY, 0600));
  char text[16];
  say("readlink of a link", readlink("link/", text, sizeof text));
  say("readlink of a file", readlink("file/", text, sizeof text));
  say("access", access("file/", F_OK));
  say("folder by a link", access("link/", F_OK));
  show("the file is there", "file");
  show("the folder is there", "folder");
  show("the link is there", "link");
  unlink("file");
  unlink("file-link");
  unlink("dangling");
  unlink("link");
  say("gone", rmdir("folder/"));
}

int main(int count, char** arguments) {
  if (count > 1) {
    set_ids();
  } else {
    modes();
    names();
  }
  return 0;
}
