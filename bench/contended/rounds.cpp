// List ranking: nine rounds of 16 tasks, which read what the round before has written. An attempt of a later
// round gains nothing. For bench/speculation; on each engine.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstdio>

#include "rubato/rubato.hpp"

namespace {
constexpr std::uint64_t kNodes = 512, kRounds = 9, kTasks = 16;
rubato::tracked<std::uint64_t> next[2][kNodes], rank[2][kNodes];

void jump(std::uint64_t part, std::uint64_t round) {
  const std::uint64_t from = round % 2, to = 1 - from;
  for (std::uint64_t i = part * (kNodes / kTasks); i < (part + 1) * (kNodes / kTasks); ++i) {
    const std::uint64_t successor = next[from][i];
    rank[to][i] = rank[from][i] + rank[from][successor];
    next[to][i] = next[from][successor];
  }
}
}  // namespace

int main() {
  for (std::uint64_t i = 0; i < kNodes; ++i) {
    const std::uint64_t at = i * 205 % kNodes, to = (i + 1) * 205 % kNodes;
    next[0][at] = i + 1 < kNodes ? to : at;
    rank[0][at] = i + 1 < kNodes ? 1 : 0;
  }
  for (std::uint64_t round = 0; round < kRounds; ++round)
    for (std::uint64_t part = 0; part < kTasks; ++part)
      rubato::create<rubato::mayspec>(jump, {.at = round, .on = part}, part, round);
  rubato::run();
  const bool passed = rank[kRounds % 2][0] == kNodes - 1;
  std::printf("check: %s\n", passed ? "passed" : "failed");
  return passed ? 0 : 1;
}
