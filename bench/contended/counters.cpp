// counters WORK: 4000 tasks, a timestamp each, add to one of 128 counters, 8 to a line of memory; each does
// some work more. Attempts meet often, but many tasks commit at a time. For bench/speculation; on each
// engine.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "rubato/rubato.hpp"

namespace {
using rubato::create, rubato::mayspec;

constexpr std::uint64_t kTasks = 4000;
rubato::tracked<std::uint64_t> counters[128];

void add(std::uint64_t which, std::uint64_t work) {
  counters[which % 128] += which;
  for (std::uint64_t i = 0; i < work; ++i) asm volatile("");
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: counters WORK\n", stderr), 2;
  create<mayspec>(
      [](std::uint64_t work) {
        rubato::create_all<mayspec>(
            std::uint64_t{0}, kTasks,
            [](std::uint64_t at, std::uint64_t each) { create<mayspec>(add, {.at = at}, at, each); }, work);
      },
      {.at = 0}, std::uint64_t{std::strtoull(argv[1], nullptr, 10)});
  rubato::run();
  std::uint64_t sum = 0;
  for (const auto& counter : counters) sum += counter;
  const bool passed = sum == kTasks * (kTasks - 1) / 2;
  std::printf("check: %s\n", passed ? "passed" : "failed");
  return passed ? 0 : 1;
}
