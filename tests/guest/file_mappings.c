// Mapped files: a shared mapping and the calls that read and write the file see each other, pages behind the
// end of the file, private copies, what MADV_DONTNEED brings back, mappings that are moved, grown and cut.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kPage = 4096 };

static const char kName[] = "mapped.tmp";
static sigjmp_buf back;
static volatile int code;

static void on_fault(int signal, siginfo_t* info, void* context) {
  (void)context;
  code = info->si_code;
  siglongjmp(back, signal);
}

static void said(const char* what, int result) {
  printf("%s: %d %s\n", what, result, result < 0 ? strerror(errno) : "");
}

static const char* fault_at(volatile char* a, int writes) {
  static char texts[4][32];
  static int next;
  char* text = texts[next++ % 4];
  int signal = sigsetjmp(back, 1);
  if (signal == 0) {
    if (writes) *a = 'w';
    snprintf(text, sizeof texts[0], "'%c'", *a == 0 ? '0' : *a);
  } else {
    snprintf(text, sizeof texts[0], "%s %d", signal == SIGBUS ? "SIGBUS" : "SIGSEGV", code);
  }
  return text;
}

static int new_file(off_t bytes) {
  int fd = open(kName, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || ftruncate(fd, bytes) != 0) abort();
  return fd;
}

static char* map(size_t bytes, int rights, int kind, int fd, off_t offset) {
  char* p = mmap(NULL, bytes, rights, kind, fd, offset);
  if (p == MAP_FAILED) {
    printf("mmap: %s\n", strerror(errno));
    exit(1);
  }
  return p;
}

static const char* in_file(int fd, off_t offset) {
  static char texts[4][16];
  static int next;
  char* text = texts[next++ % 4];
  memset(text, 0, sizeof texts[0]);
  if (pread(fd, text, sizeof texts[0] - 1, offset) < 0) return strerror(errno);
  return text;
}

static void shared_with_calls(void) {
  int fd = new_file(4 * kPage);
  char* p = map(4 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const char* r = map(2 * kPage, PROT_READ, MAP_SHARED, fd, kPage);
  pwrite(fd, "pwrite", 7, kPage);
  printf("mappings see %s %s\n", p + kPage, r);
  strcpy(p + kPage, "store");
  printf("calls see %s, the other mapping %s\n", in_file(fd, kPage), r);
  lseek(fd, 2 * kPage, SEEK_SET);
  struct iovec parts[2] = {{(void*)"wri", 3}, {(void*)"tev", 4}};
  writev(fd, parts, 2);
  printf("writev %s %s\n", p + 2 * kPage, r + kPage);

  int other = open("other.tmp", O_RDWR | O_CREAT | O_TRUNC, 0600);
  off_t from = kPage;
  printf("sendfile %zd", sendfile(other, fd, &from, 6));
  printf(" %s\n", in_file(other, 0));
  off_t source = 0, target = 3 * kPage;
  pwrite(other, "copied", 7, 0);
  printf("copy_file_range %zd", copy_file_range(other, &source, fd, &target, 7, 0));
  printf(" %s\n", p + 3 * kPage);
  source = 3 * kPage, target = 2 * kPage;
  printf("within the file %zd", copy_file_range(fd, &source, fd, &target, 7, 0));
  printf(" %s", p + 2 * kPage);
  source = 0, target = 4 * kPage;
  printf(", to its end %zd", copy_file_range(fd, &source, fd, &target, 100 * kPage, 0));
  ftruncate(fd, 4 * kPage);
  source = 0, target = 3;
  printf(", overlapping %d", copy_file_range(fd, &source, fd, &target, 7, 0) < 0 ? errno : 0);
  int appends = open("other.tmp", O_WRONLY | O_APPEND);
  printf(", appending %d\n", copy_file_range(fd, &source, appends, &target, 7, 0) < 0 ? errno : 0);
  close(appends);
  // A buffer of a call may lie in the mapping of the file that it is about.
  pread(fd, p, 6, kPage);
  printf("onto itself %s\n", p);
  munmap(p, 4 * kPage);
  printf("kept %s %s\n", in_file(fd, kPage), in_file(fd, 3 * kPage));
  close(other);
  unlink("other.tmp");
  close(fd);  // r stays
  int again = open(kName, O_RDWR | O_APPEND);
  write(again, "tail", 5);
  pwrite(again, "again", 6, kPage);
  printf("after close %s\n", r);
  close(again);
}

static void rings(void) {
  int fd = memfd_create("ring", 0);
  ftruncate(fd, kPage);
  char* ring = map(2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 2; ++i)
    if (mmap(ring + i * kPage, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
      puts("no ring");
  strcpy(ring + kPage - 2, "wraps around");
  printf("ring %s %s\n", ring, ring + kPage - 2);
  munmap(ring, 2 * kPage);
  close(fd);
}

static void ends(void) {
  int fd = new_file(kPage + 10);
  volatile char* p = map(4 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  p[kPage + 9] = 'l', p[kPage + 10] = 'b';
  printf("last %s", fault_at(p + kPage + 9, 0));
  printf(", behind %s", fault_at(p + 2 * kPage, 0));
  printf(", written %s\n", fault_at(p + 3 * kPage, 1));
  printf("a call %zd", read(fd, (void*)(p + 2 * kPage), 1));
  printf(" %s\n", strerror(errno));
  pwrite(fd, "grown", 6, 2 * kPage);
  printf("grown %s", fault_at(p + 2 * kPage, 0));
  printf(" still %s\n", fault_at(p + 3 * kPage, 0));
  ftruncate(fd, 4 * kPage);
  printf("all of it %s\n", fault_at(p + 3 * kPage, 1));
  mprotect((void*)p, 4 * kPage, PROT_READ);
  ftruncate(fd, 10);
  printf("cut %s", fault_at(p + 9, 0));
  printf(" %s", fault_at(p + kPage, 0));
  truncate(kName, 2 * kPage);
  printf(", zeros %s", fault_at(p + kPage, 0));
  printf(", no right %s\n", fault_at(p + kPage, 1));
  mprotect((void*)p, 4 * kPage, PROT_READ | PROT_WRITE);
  printf("rights %s", fault_at(p + kPage, 1));
  printf(" %s\n", fault_at(p + 2 * kPage, 1));
  int again = open(kName, O_RDWR | O_TRUNC);
  printf("emptied %s\n", fault_at(p, 0));
  posix_fallocate(again, 0, kPage);
  printf("allocated %s\n", fault_at(p, 1));
  fallocate(again, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPage);
  printf("a hole %s\n", fault_at(p, 0));
  close(again);
  munmap((void*)p, 4 * kPage);
  close(fd);
}

static void rights(void) {
  int fd = new_file(kPage), reader = open(kName, O_RDONLY), writer = open(kName, O_WRONLY);
  char* p = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, reader, 0);
  printf("written through a reader: %d %s\n", p == MAP_FAILED, strerror(errno));
  p = mmap(NULL, kPage, PROT_READ, MAP_SHARED, writer, 0);
  printf("read through a writer: %d %s\n", p == MAP_FAILED, strerror(errno));
  p = map(kPage, PROT_READ, MAP_SHARED, reader, 0);
  said("mprotect", mprotect(p, kPage, PROT_READ | PROT_WRITE));
  char* private = map(kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, reader, 0);
  strcpy(private, "own");
  pwrite(fd, "file", 5, 0);
  printf("private %s shared %s file %s\n", private, p, in_file(fd, 0));
  said("not a page", (int)(long)mmap(NULL, kPage, PROT_READ, MAP_SHARED, fd, 12));
  munmap(private, kPage);
  munmap(p, kPage);
  close(fd), close(reader), close(writer);
}

static void advice(void) {
  int fd = new_file(2 * kPage);
  pwrite(fd, "filedata", 9, 0);
  char* p = map(kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  p[0] = 'X';
  printf("private %d", madvise(p, kPage, MADV_DONTNEED));
  printf(" %s\n", p);
  char* q = map(2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  strcpy(q + kPage, "shared");
  printf("shared %d", madvise(q, 2 * kPage, MADV_DONTNEED));
  printf(" %s %s\n", q, q + kPage);
  char* anonymous = map(2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  strcpy(anonymous + kPage, "anonymous");
  madvise(anonymous, 2 * kPage, MADV_DONTNEED);
  printf("shared memory %s\n", anonymous + kPage);
  char* grown = mremap(anonymous, 2 * kPage, 3 * kPage, MREMAP_MAYMOVE);
  madvise(grown, 2 * kPage, MADV_DONTNEED);
  printf("moved %s\n", grown + kPage);
  char* own = map(kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  strcpy(own, "own");
  madvise(own, kPage, MADV_DONTNEED);
  printf("own '%s'\n", own);
  munmap(p, kPage), munmap(q, 2 * kPage), munmap(grown, 3 * kPage), munmap(own, kPage);
  close(fd);
}

// qemu-user tells the host of MADV_DONTNEED alone. Each line is that of Linux 6.1.
static void more_advice(void) {
  int fd = new_file(2 * kPage);
  char* own = map(kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* p = map(kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  char* q = map(2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  char* anonymous = map(kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  strcpy(q, "first"), strcpy(q + kPage, "second"), strcpy(anonymous, "anonymous");
  said("free own", madvise(own, kPage, MADV_FREE));
  said("free private", madvise(p, kPage, MADV_FREE));
  said("free shared", madvise(q, kPage, MADV_FREE));
  said("remove own", madvise(own, kPage, MADV_REMOVE));
  said("remove private", madvise(p, kPage, MADV_REMOVE));
  said("remove shared", madvise(q + kPage, kPage, MADV_REMOVE));
  printf("'%s' '%s' '%s'\n", q, q + kPage, in_file(fd, kPage));
  said("remove anonymous", madvise(anonymous, kPage, MADV_REMOVE));
  printf("'%s'\n", anonymous);
  said("no advice", madvise(own, kPage, 77));
  close(fd);
}

static void changes_of_mappings(void) {
  int fd = new_file(6 * kPage);
  for (int i = 0; i < 6; ++i) {
    char text[8];
    snprintf(text, sizeof text, "page%d", i);
    pwrite(fd, text, 6, i * kPage);
  }
  char* p = map(4 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, kPage);
  munmap(p + kPage, kPage);
  printf("cut %s %s", p, fault_at(p + kPage, 0));
  printf(" %s\n", p + 2 * kPage);
  mmap(p, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  strcpy(p, "over");
  printf("over %s file %s\n", p, in_file(fd, kPage));
  munmap(p, 4 * kPage);

  // Room for it to move to, and none to grow in place.
  char* place = map(8 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  p = mmap(place, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, kPage);
  char* q = mremap(p, 2 * kPage, 5 * kPage, MREMAP_MAYMOVE);
  strcpy(q + kPage, "moved");
  printf("moved %d %s %s %s", q != p, q, in_file(fd, 2 * kPage), q + 4 * kPage);
  printf(" %s\n", fault_at(p, 0));
  munmap(q, 5 * kPage);
  p = mmap(place, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 4 * kPage);
  strcpy(p, "copy");
  q = mremap(p, 3 * kPage, 3 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, place + 4 * kPage);
  printf("private %s %s file %s", q, q + kPage, in_file(fd, 4 * kPage));
  printf(" behind %s\n", fault_at(q + 2 * kPage, 0));
  madvise(q, kPage, MADV_DONTNEED);
  printf("dropped %s\n", q);
  pwrite(fd, "late", 5, 6 * kPage);
  printf("grown %s\n", q + 2 * kPage);
  printf("msync %d %d", msync(q, kPage, MS_SYNC), msync(q, kPage, MS_ASYNC));
  said(" both", msync(q, kPage, MS_SYNC | MS_ASYNC));
  munmap(place, 8 * kPage);
  close(fd);
}

static int moved(char* from, size_t bytes, char* to) {
  return mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to ? 0 : -1;
}

// Linux moves and extends memory of one kind of rights only. Each line is that of Linux 6.1.
static void moves(void) {
  char* p = map(4 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* place = map(4 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 4; ++i) p[i * kPage] = (char)('a' + i);
  mprotect(p + kPage, kPage, PROT_READ);
  said("two kinds", moved(p, 2 * kPage, place));
  said("extended", mremap(p, 2 * kPage, 8 * kPage, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0);
  printf("as before: %s %s\n", fault_at(p, 1), fault_at(p + kPage, 1));
  said("read only", moved(p + kPage, kPage, place));
  printf("there: %s %s\n", fault_at(place, 0), fault_at(place, 1));
  said("writable", moved(p + 2 * kPage, 2 * kPage, place));
  printf("there: %s %s\n", fault_at(place, 0), fault_at(place + kPage, 1));
  mprotect(place, kPage, PROT_READ);
  said("cut", mremap(place, 2 * kPage, kPage, 0) == place ? 0 : -1);
  printf("left: %s %s\n", fault_at(place, 0), fault_at(place + kPage, 0));
}

int main(int argc, char** argv) {
  const char* part = argc > 1 ? argv[1] : "";
  if (strcmp(part, "advice") == 0) {
    more_advice();
    return unlink(kName);
  }
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGBUS, &action, NULL);
  sigaction(SIGSEGV, &action, NULL);
  if (strcmp(part, "moves") == 0) {
    moves();
    return 0;
  }
  shared_with_calls();
  rings();
  ends();
  rights();
  advice();
  changes_of_mappings();
  unlink(kName);
}
