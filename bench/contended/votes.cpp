// votes BALLOTS: ballots are counted for 64 candidates whose counters share eight lines, a task a ballot, all
// in order and without locales: the first step of docs/tuning.md. Tasks that speculate meet in nearly every
// attempt. For bench/speculation; on each engine.
// SPDX-License-Identifier: MIT
#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "rubato/rubato.hpp"

namespace {

constexpr std::uint64_t kCandidates = 64;

struct alignas(64) Counters {
  std::array<rubato::tracked<std::uint64_t>, kCandidates> votes{};
};
Counters counters;

std::uint64_t choice_of(std::uint64_t ballot) { return ballot * 0x9e3779b97f4a7c15 >> 58; }

void count(std::uint64_t ballot) {
  auto& votes = counters.votes[choice_of(ballot)];
  votes = votes + 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t ballots = argc == 2 ? std::strtoull(argv[1], nullptr, 10) : 0;
  if (ballots == 0) return std::fputs("usage: votes BALLOTS, at least 1\n", stderr), 2;
  for (std::uint64_t ballot = 0; ballot < ballots; ++ballot)
    rubato::create<rubato::mayspec>(count, {.at = ballot}, ballot);
  rubato::run();

  std::array<std::uint64_t, kCandidates> expected{};
  for (std::uint64_t ballot = 0; ballot < ballots; ++ballot) ++expected[choice_of(ballot)];
  bool passed = true;
  for (std::uint64_t c = 0; c < kCandidates; ++c) passed = passed && counters.votes[c] == expected[c];
  std::printf("votes for the first: %" PRIu64 "\ncheck: %s\n", std::uint64_t{counters.votes[0]},
              passed ? "passed" : "failed");
  return passed ? 0 : 1;
}
