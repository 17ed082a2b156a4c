// SPDX-License-Identifier: MIT
#include "chip/speculation/abort_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace rubato::chip {
namespace {

constexpr std::string_view kCauseDescriptions[] = {
    "an access of an earlier or non-speculative task met their read or write set",
    "their parent was aborted",
    "they had used data of a task that was aborted",
    "an earlier task needed their locale",
    "an earlier task needed their core",
    "an earlier finished task needed their commit-queue entry",
    "an earlier task needed their task-queue entry",
    "they met a line that an earlier task had written and not committed",
    "they stopped at what only a non-speculative task may do",
    "a system call changed the mapping of pages they had accessed",
};
static_assert(std::size(kCauseDescriptions) == kAbortCauses);

/// Highest cost first; ties are broken by `rest`, so that the order is total.
template <class Row, class Rest>
void sort_by_cost(std::vector<Row>& rows, Rest rest) {
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    const auto cost = [](const Row& r) { return std::tie(r.count.lost_cycles, r.count.aborts); };
    return cost(a) != cost(b) ? cost(a) > cost(b) : rest(a) < rest(b);
  });
}

std::uint64_t mixed(std::uint64_t v) {  // the finalizer of MurmurHash3
  v = (v ^ v >> 33) * 0xff51afd7ed558ccdU;
  v = (v ^ v >> 33) * 0xc4ceb9fe1a85ec53U;
  return v ^ v >> 33;
}

}  // namespace

std::size_t AbortProfile::PlaceHash::operator()(const Place& place) const {
  const std::uint64_t functions = mixed(place.victim) + 3 * mixed(place.by);
  return mixed(place.line.value ^ functions ^ static_cast<std::uint64_t>(place.cause) << 56);
}

void AbortProfile::add(AbortCause cause, Addr victim, Addr by, LineAddr line, std::uint64_t lost_cycles) {
  const Count one{1, lost_cycles};
  causes_[static_cast<unsigned>(cause)] += one;
  places_[{line, victim, by, cause}] += one;
}

std::vector<AbortProfile::Line> AbortProfile::lines(std::size_t most) const {
  // For every line, its most expensive pair of functions.
  std::map<std::tuple<LineAddr, Addr, Addr>, Count> met;
  for (const auto& [place, count] : places_) {
    if (place.line != LineAddr{}) met[{place.line, place.victim, place.by}] += count;
  }
  std::vector<Line> rows;
  Count best;
  for (const auto& [where, count] : met) {
    const auto& [line, victim, by] = where;
    if (rows.empty() || rows.back().line != line) {
      rows.push_back({line, victim, by, {}});
      best = count;
    } else if (std::tie(count.lost_cycles, count.aborts) > std::tie(best.lost_cycles, best.aborts)) {
      rows.back().victim = victim;
      rows.back().by = by;
      best = count;
    }
    rows.back().count += count;
  }
  sort_by_cost(rows, [](const Line& r) { return r.line; });
  if (rows.size() > most) rows.resize(most);
  return rows;
}

std::size_t AbortProfile::line_count() const {
  std::vector<LineAddr> seen;
  seen.reserve(places_.size());
  for (const auto& [place, count] : places_) {
    if (place.line != LineAddr{}) seen.push_back(place.line);
  }
  std::sort(seen.begin(), seen.end());
  return static_cast<std::size_t>(std::unique(seen.begin(), seen.end()) - seen.begin());
}

std::vector<AbortProfile::Functions> AbortProfile::functions() const {
  std::map<std::tuple<Addr, Addr, AbortCause>, Count> pairs;
  for (const auto& [place, count] : places_) pairs[{place.victim, place.by, place.cause}] += count;
  std::vector<Functions> rows;
  for (const auto& [pair, count] : pairs) {
    rows.push_back({std::get<0>(pair), std::get<1>(pair), std::get<2>(pair), count});
  }
  sort_by_cost(rows, [](const Functions& r) { return std::tuple{r.victim, r.by, r.cause}; });
  return rows;
}

void AbortProfile::register_stats(StatRegistry& registry) const {
  for (unsigned c = 0; c < kAbortCauses; ++c) {
    const std::string name = fmt::format("chip.aborts.{}", name_of(static_cast<AbortCause>(c)));
    registry.counter(name, "attempts", fmt::format("attempts aborted because {}", kCauseDescriptions[c]),
                     &causes_[c].aborts);
    registry.counter(name + ".cycles", "cycles",
                     fmt::format("core cycles of attempts aborted because {}", kCauseDescriptions[c]),
                     &causes_[c].lost_cycles);
  }
}

}  // namespace rubato::chip
