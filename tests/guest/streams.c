// Three walks over 512 KiB: along it, down it, and by every third line. Prints sums, which no prefetcher may
// change.
// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <stdio.h>

enum { words = 65536, line = 8 };
static uint64_t values[words];

__attribute__((noinline)) static uint64_t up(void) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < words; ++i) sum += values[i] * i;
  return sum;
}

__attribute__((noinline)) static uint64_t down(void) {
  uint64_t sum = 0;
  for (unsigned i = words; i-- > 0;) sum = sum * 3 + values[i];
  return sum;
}

__attribute__((noinline)) static uint64_t by_three_lines(void) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < words; i += 3 * line) sum += values[i];
  return sum;
}

int main(void) {
  for (unsigned i = 0; i < words; ++i) values[i] = i * UINT64_C(0x9e3779b97f4a7c15);
  printf("%016llx %016llx %016llx\n", (unsigned long long)up(), (unsigned long long)down(),
         (unsigned long long)by_three_lines());
  return 0;
}
