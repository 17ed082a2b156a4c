// Temporary files where programs expect them: tmpfile, mkstemp, folders, links and renames in /tmp, shared
// memory and semaphores in /dev/shm.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void said(const char* what, int is_right) {
  printf("%s: %s\n", what, is_right ? "yes" : strerror(errno));
}

int main(void) {
  FILE* file = tmpfile();
  said("tmpfile", file && fputs("text", file) >= 0 && fseek(file, 0, SEEK_SET) == 0 && fgetc(file) == 't');
  char name[] = "/tmp/rubato-guest-XXXXXX";
  int fd = mkstemp(name);
  said("mkstemp", fd >= 0 && write(fd, "abc", 3) == 3);
  struct stat about;
  said("size", stat(name, &about) == 0 && about.st_size == 3);
  said("writable", access("/tmp", W_OK) == 0 && access(name, W_OK) == 0);
  char folder[] = "/tmp/rubato-guest-folder-XXXXXX", inner[64], link[64];
  said("mkdtemp", mkdtemp(folder) != NULL);
  snprintf(inner, sizeof inner, "%s/inner", folder);
  snprintf(link, sizeof link, "%s/link", folder);
  said("rename", rename(name, inner) == 0 && access(name, F_OK) != 0 && errno == ENOENT);
  said("symlink", symlink("../../tmp/./", link) == 0 && lstat(link, &about) == 0 && S_ISLNK(about.st_mode));
  int dir = open(folder, O_RDONLY | O_DIRECTORY);
  said("openat", openat(dir, "beside", O_CREAT | O_RDWR, 0600) >= 0 && unlinkat(dir, "beside", 0) == 0);
  said("chdir", chdir(folder) == 0 && access("inner", R_OK) == 0 && open("../../tmp", O_RDONLY) >= 0);
  said("clean", unlink("inner") == 0 && unlink("link") == 0 && chdir("/") == 0 && rmdir(folder) == 0);

  char memory[64];
  snprintf(memory, sizeof memory, "/rubato-guest-%d", (int)getpid());
  int shared = shm_open(memory, O_CREAT | O_RDWR, 0600);
  said("shm_open", shared >= 0 && ftruncate(shared, 4096) == 0);
  char* a = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
  char* b = mmap(NULL, 4096, PROT_READ, MAP_SHARED, shm_open(memory, O_RDONLY, 0), 0);
  if (a != MAP_FAILED) strcpy(a, "seen");
  said("shared", b != MAP_FAILED && strcmp(b, "seen") == 0 && shm_unlink(memory) == 0);
  sem_t* semaphore = sem_open(memory, O_CREAT, 0600, 1);
  said("sem_open", semaphore != SEM_FAILED && sem_trywait(semaphore) == 0 && sem_trywait(semaphore) != 0);
  said("sem_unlink", sem_unlink(memory) == 0);
}
