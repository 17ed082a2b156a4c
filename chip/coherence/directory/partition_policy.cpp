// SPDX-License-Identifier: MIT
#include "chip/coherence/directory/partition_policy.hpp"

#include <algorithm>
#include <cmath>

#include "chip/coherence/filter/d_left_filter.hpp"

namespace rubato::chip {

namespace {
constexpr std::uint32_t kMostAtOnce = 2, kRest = 2;
constexpr double kFilled = 0.94;  // of the cells, before lines overflow (K52)

/// The number of `lines` that find a cell among `cells`: all until kFilled are taken, then ever fewer.
double lines_in_cells(double lines, double cells) {
  const double beyond = lines / cells - kFilled, rest = 1 - kFilled;
  return beyond <= 0 ? lines : cells * (kFilled + rest * (1 - std::exp(-beyond / rest)));
}
}  // namespace

double PartitionPolicy::reconstructions(std::uint32_t ways, const PartitionEpoch& epoch) const {
  double sum = 0;
  for (std::size_t depth = ways + 1; depth < epoch.needed_at.size(); ++depth)
    sum += static_cast<double>(epoch.needed_at[depth]);
  return sum;
}

double PartitionPolicy::false_positives(std::uint32_t ways, const PartitionEpoch& epoch) const {
  const double sub_tables = p_.ways - ways, buckets = p_.buckets;
  const double lines = static_cast<double>(epoch.lines_out);
  const double in_cells = lines_in_cells(lines, DLeftFilter::kCells * sub_tables * buckets);
  const double hashes = buckets * (1U << DLeftFilter::kRemainderBits);
  const double of_cells = 1 - std::pow(1 - 1 / hashes, in_cells);
  const double of_counter =
      1 - std::pow(1 - 1 / (DLeftFilter::kOverflowCounters * buckets), lines - in_cells);
  const double maybe = 1 - (1 - of_cells) * (1 - std::pow(of_counter, sub_tables));
  return static_cast<double>(epoch.memory_reads) * maybe;
}

std::uint32_t PartitionPolicy::next(std::uint32_t now, const PartitionEpoch& epoch) {
  std::uint32_t best = now;
  for (std::uint32_t ways = p_.least; ways <= p_.most; ++ways)
    if (cost(ways, epoch) < cost(best, epoch)) best = ways;
  const double saved = cost(now, epoch) - cost(best, epoch);
  const bool is_worth_it = saved > std::max(0.1 * cost(now, epoch), p_.buckets / 8.0);
  const int wants = !is_worth_it ? 0 : best > now ? 1 : -1;
  const bool again = wants != 0 && wants == wanted_;
  wanted_ = wants;
  if (rests_ > 0) {
    --rests_;
    return now;
  }
  if (!again) return now;
  rests_ = kRest;
  return wants > 0 ? std::min(best, now + kMostAtOnce) : std::max(best + kMostAtOnce, now) - kMostAtOnce;
}

}  // namespace rubato::chip
