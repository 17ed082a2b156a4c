// SPDX-License-Identifier: MIT
#include "workloads/path/search.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

namespace rubato::workloads::path {

namespace {

constexpr std::uint8_t kIsClosed = 4;  // in Field::state, beside the direction of the last step: 0 to 3
constexpr unsigned kDirections = 4;

std::ptrdiff_t step(unsigned direction, unsigned side) {
  const std::ptrdiff_t row = side;
  const std::ptrdiff_t steps[kDirections] = {1, row, -1, -row};
  return steps[direction];
}

}  // namespace

// The heap's first is the one with the least estimate; of equal ones the one that has come furthest.
bool Search::Open::operator<(const Open& other) const {
  if (estimate != other.estimate) return estimate > other.estimate;
  if (distance != other.distance) return distance < other.distance;
  return field > other.field;
}

void Search::begin() {
  open_.clear();
  if (++search_ != 0) return;
  for (std::size_t i = 0; i < map_.fields(); ++i) map_[i].search = 0;
  search_ = 1;
}

// Steps in rows and columns, each of which costs 1 or more. It never falls by more than a step costs, so a
// field that is closed is never reached by a shorter way.
std::uint32_t Search::at_least(std::size_t from, std::size_t to) const {
  const unsigned side = map_.side();
  const auto apart = [](std::size_t a, std::size_t b) {
    return static_cast<std::uint32_t>(a > b ? a - b : b - a);
  };
  return apart(from / side, to / side) + apart(from % side, to % side);
}

void Search::reach(std::size_t field, std::uint32_t distance, unsigned direction, const Journey& journey) {
  Field& f = map_[field];
  if (f.search == search_ && f.distance <= distance) return;
  f.search = search_;
  f.distance = distance;
  f.state = static_cast<std::uint8_t>(direction);
  open_.push_back({distance + at_least(field, journey.goal), distance, static_cast<std::uint32_t>(field)});
  std::push_heap(open_.begin(), open_.end());
}

std::optional<std::uint32_t> Search::length(const Journey& journey) {
  begin();
  reach(journey.start, 0, 0, journey);
  while (!open_.empty()) {
    std::pop_heap(open_.begin(), open_.end());
    const std::size_t at = open_.back().field;
    open_.pop_back();
    Field& f = map_[at];
    if (f.state & kIsClosed) continue;
    if (at == journey.goal) return f.distance;
    f.state |= kIsClosed;
    for (unsigned d = 0; d < kDirections; ++d) {
      const std::size_t next = at + static_cast<std::size_t>(step(d, map_.side()));
      if (const unsigned cost = map_[next].cost; cost != 0) reach(next, f.distance + cost, d, journey);
    }
  }
  return std::nullopt;
}

std::vector<std::size_t> Search::path(const Journey& journey) const {
  std::vector<std::size_t> fields{journey.goal};
  while (fields.back() != journey.start) {
    const std::size_t at = fields.back();
    fields.push_back(at - static_cast<std::size_t>(step(map_[at].state & (kDirections - 1), map_.side())));
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
