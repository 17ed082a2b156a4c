// Tasks of each type that lr/sc a word of their own, the words 1 MiB apart: see one_set.c. Then tasks that
// allocate: the locks of glibc's arenas lie 64 MiB apart.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "rubato/rubato.hpp"

namespace {
constexpr std::uint64_t kTasks = 16, kRounds = 50, kApart = 1 << 20;
char* base = nullptr;

void add(std::uint64_t which) {
  auto* const word = reinterpret_cast<std::uint64_t*>(base + which * kApart);
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    std::uint64_t value, failed;
    asm volatile(
        "1: lr.d %0, (%2)\n"
        "addi %0, %0, 1\n"
        "sc.d %1, %0, (%2)\n"
        "bnez %1, 1b"
        : "=&r"(value), "=&r"(failed)
        : "r"(word)
        : "memory");
  }
}
void allocate(std::uint64_t bytes) {
  void* blocks[8];
  for (void*& block : blocks) block = std::malloc(bytes);
  for (void* block : blocks) std::free(block);
}

template <rubato::TaskType type>
void round() {
  for (std::uint64_t i = 0; i < kTasks; ++i) rubato::create<type>(add, {.at = 0, .on = i}, i);
  for (std::uint64_t i = 0; i < kTasks; ++i) rubato::create<type>(allocate, {.at = 1, .on = i}, 24 + i * 16);
  rubato::run();
}
}  // namespace

int main() {
  base = static_cast<char*>(std::calloc(kTasks, kApart));
  round<rubato::TaskType::nonspec>();
  round<rubato::TaskType::mayspec>();
  round<rubato::TaskType::spec>();
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < kTasks; ++i) sum += *reinterpret_cast<std::uint64_t*>(base + i * kApart);
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
}
