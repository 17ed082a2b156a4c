// SPDX-License-Identifier: MIT
#include "workloads/path/search.hpp"

#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace rubato::workloads::path {

// Steps in rows and columns, each of which costs 1 or more. It never falls by more than a step costs, so a
// field that is closed is never reached by a shorter way.
std::uint32_t Search::at_least(std::size_t from, std::size_t to) const {
  const unsigned side = map_.side();
  const auto apart = [](std::size_t a, std::size_t b) {
    return static_cast<std::uint32_t>(a > b ? a - b : b - a);
  };
  return apart(from / side, to / side) + apart(from % side, to % side);
}

void Search::reach(std::size_t field, std::uint32_t distance, std::size_t from, const Journey& journey) {
  Field& f = map_[field];
  if (f.search == search_ && f.distance <= distance) return;
  f.search = search_;
  f.distance = distance;
  f.from = static_cast<std::uint32_t>(from);
  f.is_closed = false;
  buckets_[(distance + at_least(field, journey.goal)) % kBuckets].push_back(
      static_cast<std::uint32_t>(field));
  ++open_;
}

std::optional<std::uint32_t> Search::length(const Journey& journey) {
  for (auto& bucket : buckets_) bucket.clear();
  open_ = 0;
  ++search_;
  reach(journey.start, 0, journey.start, journey);
  const std::size_t side = map_.side();
  for (std::size_t estimate = at_least(journey.start, journey.goal); open_ > 0;) {
    auto& bucket = buckets_[estimate % kBuckets];
    if (bucket.empty()) {
      ++estimate;
      continue;
    }
    const std::size_t at = bucket.back();
    bucket.pop_back();
    --open_;
    Field& f = map_[at];
    if (f.is_closed) continue;
    if (at == journey.goal) return f.distance;
    f.is_closed = true;
    for (const std::size_t next : {at - side, at - 1, at + 1, at + side})
      if (const unsigned cost = map_[next].cost; cost != 0) reach(next, f.distance + cost, at, journey);
  }
  return std::nullopt;
}

std::vector<std::size_t> Search::path(const Journey& journey) const {
  std::vector<std::size_t> fields{journey.goal};
  while (fields.back() != journey.start) {
    fields.push_back(map_[fields.back()].from);
    if (fields.size() > map_.fields()) break;  // a circle: its length will be wrong
  }
  return fields;
}

std::optional<std::uint32_t> plain_length(const Map& map, const Journey& journey) {
  constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> distance(map.fields(), kFar);
  using Reached = std::pair<std::uint32_t, std::size_t>;
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> queue;
  distance[journey.start] = 0;
  queue.emplace(0, journey.start);
  while (!queue.empty()) {
    const auto [so_far, at] = queue.top();
    queue.pop();
    if (so_far != distance[at]) continue;
    if (at == journey.goal) return so_far;
    for (const std::size_t next : {at - 1, at + 1, at - map.side(), at + map.side()}) {
      if (map[next].cost == 0 || so_far + map[next].cost >= distance[next]) continue;
      distance[next] = so_far + map[next].cost;
      queue.emplace(distance[next], next);
    }
  }
  return std::nullopt;
}

}  // namespace rubato::workloads::path
