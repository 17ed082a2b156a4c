// no-qemu: another process has its turns, through standard input and output
// Maps the file argv[1], of two pages, shared. For each line of its input: "show" prints the first bytes of
// both pages; "touch" reads the second page; "write" stores to the first; "call" makes a system call.
// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t faults, code;
static void on_fault(int signal, siginfo_t* info, void* context) {
  (void)signal, (void)context;
  code = info->si_code;
  ++faults;
}

int main(int argc, char** argv) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGBUS, &action, NULL);
  int fd = open(argc > 1 ? argv[1] : "", O_RDWR);
  volatile char* p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) return 2;
  char line[32];
  while (fgets(line, sizeof line, stdin)) {
    int value = 0;
    if (strcmp(line, "show\n") == 0) printf("%.5s %.5s\n", (const char*)p, (const char*)p + 4096);
    if (strcmp(line, "write\n") == 0) strcpy((char*)p, "guest"), puts("written");
    if (strcmp(line, "touch\n") == 0) {
      value = p[4096];
      getppid();
      printf("read %d, faults %d, code %d\n", value, (int)faults, (int)code);
    }
    fflush(stdout);
  }
}
