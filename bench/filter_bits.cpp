// Bits of storage a tracked line at which the chip's filters err in 5 % of questions (FLASK, IV.A): of the
// d-left filter those of its cells, of the conventional one its counters, with the best number of hashes.
// Random lines are counted until so many absent ones are "maybe". Prints one JSON object.
//   build/release/bin/bench_filter_bits
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/rng.hpp"
#include "chip/coherence/filter/counting_filter.hpp"
#include "chip/coherence/filter/d_left_filter.hpp"

namespace {

using rubato::Rng;
using rubato::chip::CountingFilter;
using rubato::chip::DLeftFilter;
using rubato::chip::LineAddr;
using rubato::chip::LineFilter;

constexpr double kTarget = 0.05;
constexpr int kQuestions = 200'000;
constexpr std::uint32_t kRows = 1024;                      // a sub-table
constexpr std::uint32_t kSubTables = 4;                    // of the d-left filter, as in the publication
constexpr std::uint32_t kMostSubTables = 8;                // of the conventional one: hashes
constexpr std::uint32_t kCounterBits = 4;                  // of the conventional one
constexpr std::uint32_t kCellCounterBits = 3;              // of the d-left one
constexpr std::uint64_t kAbsent = std::uint64_t{1} << 40;  // lines from here on are never counted

double false_positives(LineFilter& filter, Rng& rng) {
  int maybe = 0;
  for (int i = 0; i < kQuestions; ++i)
    maybe += filter.may_hold(LineAddr{kAbsent + rng.below(kAbsent)}) ? 1 : 0;
  return static_cast<double>(maybe) / kQuestions;
}

/// The most lines with which the filter errs less often than that, within 1 %.
std::uint64_t most_lines(LineFilter& filter) {
  Rng rng(1);
  std::uint64_t lines = 0;
  while (false_positives(filter, rng) < kTarget)
    for (const std::uint64_t end = lines + std::max<std::uint64_t>(kRows / 8, lines / 100); lines < end;
         ++lines)
      filter.insert(LineAddr{rng.below(kAbsent)});
  return lines;
}

double bits_a_line(std::uint32_t bits, LineFilter& filter) {
  return static_cast<double>(bits) / static_cast<double>(most_lines(filter));
}

double of_d_left() {
  DLeftFilter filter(kSubTables, kRows);
  constexpr std::uint32_t kCellBits = DLeftFilter::kRemainderBits + kCellCounterBits;
  return bits_a_line(kSubTables * kRows * DLeftFilter::kCells * kCellBits, filter);
}

double of_counting() {
  double fewest = 1e9;
  for (std::uint32_t hashes = 1; hashes <= kMostSubTables; ++hashes) {
    CountingFilter filter(hashes, kRows);
    fewest =
        std::min(fewest, bits_a_line(hashes * kRows * CountingFilter::kCountersARow * kCounterBits, filter));
  }
  return fewest;
}

}  // namespace

int main() {
  std::printf("{\"dlcbf\": %.2f, \"cbf\": %.2f}\n", of_d_left(), of_counting());
  return 0;
}
