// SPDX-License-Identifier: MIT
#include "workloads/hmm/profile.hpp"

#include <algorithm>
#include <cmath>

namespace rubato::workloads::hmm {

namespace {

constexpr double kExpectedFlank = 100;  // residues in N, J and C, each time
constexpr unsigned kLongestPart = 60;   // of the profile, in a drawn sequence
constexpr unsigned kErrorPercent = 25;  // of its residues that are others
constexpr unsigned kSkipPercent = 4;    // of its positions that are deleted, and as many inserted

Score score(double ratio) { return static_cast<Score>(std::lround(1000 * std::log2(ratio))); }

// Scores of each residue's probability against the background's, which is the same for all. The smaller
// `evenness`, the more one residue stands out.
std::array<Score, kResidues> draw_emissions(double evenness, Rng& rng) {
  std::array<double, kResidues> weights;
  double sum = 0;
  for (double& weight : weights) sum += weight = evenness + std::pow(rng.uniform(), 8.0);
  std::array<Score, kResidues> scores;
  for (unsigned r = 0; r < kResidues; ++r) scores[r] = score(weights[r] / sum * kResidues);
  return scores;
}

}  // namespace

Profile::Profile(unsigned positions_, std::uint64_t seed)
    : positions(positions_),
      loop(score(kExpectedFlank / (kExpectedFlank + 1))),
      leave(score(1 / (kExpectedFlank + 1))),
      end_join(score(0.5)) {
  Rng rng(seed);
  for (unsigned r = 0; r < kResidues; ++r) {
    match[r].resize(positions);
    insert[r].resize(positions);
  }
  for (unsigned k = 0; k < positions; ++k) {
    const auto m = draw_emissions(0.02, rng), i = draw_emissions(2.0, rng);
    for (unsigned r = 0; r < kResidues; ++r) {
      match[r][k] = m[r];
      insert[r][k] = i[r];
    }
    const double gap = 0.005 + 0.03 * rng.uniform(), longer = 0.3 + 0.3 * rng.uniform();
    next.push_back({.match_match = score(1 - 2 * gap),
                    .match_insert = score(gap),
                    .match_delete = score(gap),
                    .insert_match = score(1 - longer),
                    .insert_insert = score(longer),
                    .delete_match = score(1 - longer),
                    .delete_delete = score(longer),
                    .begin = score(1.0 / positions)});
  }
}

Sequence draw_sequence(const Profile& profile, unsigned length, Rng& rng) {
  const auto any = [&] { return static_cast<std::uint8_t>(rng.below(kResidues)); };
  const auto likeliest = [&](unsigned k) {
    unsigned best = 0;
    for (unsigned r = 1; r < kResidues; ++r)
      if (profile.match[r][k] > profile.match[best][k]) best = r;
    return static_cast<std::uint8_t>(best);
  };
  Sequence sequence;
  while (sequence.size() < length) {
    for (std::uint64_t flank = rng.below(2 * kLongestPart); flank > 0; --flank) sequence.push_back(any());
    auto k = static_cast<unsigned>(rng.below(profile.positions));
    for (std::uint64_t left = rng.below(kLongestPart); left > 0 && k < profile.positions; --left, ++k) {
      if (rng.below(100) < kSkipPercent) continue;
      if (rng.below(100) < kSkipPercent) sequence.push_back(any());
      sequence.push_back(rng.below(100) < kErrorPercent ? any() : likeliest(k));
    }
  }
  sequence.resize(length);
  return sequence;
}

}  // namespace rubato::workloads::hmm
