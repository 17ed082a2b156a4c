// Speculative tasks call a capsule with gp and tp that lead nowhere: the capsule has the right gp (P19).
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>

#include "rubato/capsule.hpp"
#include "rubato/rubato.hpp"

extern char global_pointer[] __asm__("__global_pointer$");

namespace {

struct Seen {
  std::uint64_t calls, wrong;
};
RUBATO_UNTRACKED rubato::untracked<Seen> seen;

}  // namespace

RUBATO_CAPSULE(void, look, ()) {
  std::uint64_t gp = 0;
  asm volatile("mv %0, gp" : "=r"(gp));
  __atomic_fetch_add(&seen->calls, 1, __ATOMIC_RELAXED);
  if (gp != reinterpret_cast<std::uint64_t>(global_pointer))
    __atomic_fetch_add(&seen->wrong, 1, __ATOMIC_RELAXED);
}

namespace {

void call_wildly(std::uint64_t wild) {
  asm volatile(
      "mv s2, gp\n\t"
      "mv s3, tp\n\t"
      "mv gp, %0\n\t"
      "mv tp, %0\n\t"
      "call look\n\t"
      "mv gp, s2\n\t"
      "mv tp, s3"
      :
      : "r"(wild)
      : "s2", "s3", "ra", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "t0", "t1", "t2", "t3", "t4", "t5",
        "t6", "memory");
}

}  // namespace

int main() {
  for (std::uint64_t i = 0; i < 20; ++i) rubato::create<rubato::spec>(call_wildly, {.at = i}, i << (2 * i));
  rubato::run();
  std::printf("%lu calls, %lu with a wrong gp\n", seen->calls, seen->wrong);
  return seen->calls >= 20 && seen->wrong == 0 ? 0 : 1;
}
