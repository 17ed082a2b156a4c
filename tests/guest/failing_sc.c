// A store-conditional without a reservation fails, whatever the rights of its page: none, reading alone, no
// page at all. With one it needs the right to write.
// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

static sigjmp_buf back;
static void on_fault(int number) { siglongjmp(back, number); }

static long store_conditional(int* p) {
  long failed = 7;
  __asm__ volatile("sc.w %0, x0, (%1)" : "=r"(failed) : "r"(p) : "memory");
  return failed;
}

int main(void) {
  int* none = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int* readable = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int* unmapped = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(unmapped, 4096);
  printf("%ld %ld %ld\n", store_conditional(none), store_conditional(readable), store_conditional(unmapped));
  signal(SIGSEGV, on_fault);
  const int number = sigsetjmp(back, 1);
  if (number == 0) {
    long failed = 7, old;
    __asm__ volatile("lr.w %1, (%2)\n\tsc.w %0, x0, (%2)"
                     : "=&r"(failed), "=&r"(old)
                     : "r"(readable)
                     : "memory");
    printf("with a reservation: %ld\n", failed);
  } else {
    printf("with a reservation: signal %d\n", number);
  }
}
