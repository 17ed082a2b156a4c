// SPDX-License-Identifier: MIT
// Road networks: a random spanning tree of the grid, random further grid edges, and one more edge at dead
// ends.
#include "apps/common/graph_generator.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "apps/common/input_error.hpp"
#include "base/rng.hpp"

namespace rubato::apps {
namespace {

// Distance of neighbouring junctions before they are moved. A whole number, as all here: the graph is the
// same on every machine, whatever its floating point does. Large against the number of junctions on a
// shortest path, so that sums of lengths rarely coincide.
constexpr std::int64_t kSpacing = 10'000;
constexpr std::int64_t kJitter = 3'500;  // below half the spacing, so that grid edges never cross
constexpr std::uint64_t kExtraRoads =
    45;  // percent of the edges outside the tree that are kept: 2.9 roads a junction
constexpr std::uint64_t kLongestDetour =
    1600;  // a road's length over the distance of its ends, in thousandths

constexpr std::uint32_t kMaxPlaced = kMaxCoordinate / static_cast<std::uint32_t>(kSpacing) - 1;

class Components {
 public:
  explicit Components(std::uint32_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0u); }
  /// False if a and b were connected before.
  bool join(std::uint32_t a, std::uint32_t b) {
    a = root(a);
    b = root(b);
    parent_[a] = b;
    return a != b;
  }

 private:
  std::uint32_t root(std::uint32_t v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }
  std::vector<std::uint32_t> parent_;
};

}  // namespace

Graph generate_road(std::uint32_t width, std::uint32_t height, std::uint64_t seed,
                    std::vector<Point>* positions) {
  Rng rng(seed);
  const std::uint32_t vertices = width * height;
  std::vector<std::pair<std::int64_t, std::int64_t>> position(vertices);
  const auto jitter = [&] { return static_cast<std::int64_t>(rng.below(2 * kJitter + 1)) - kJitter; };
  for (std::uint32_t v = 0; v < vertices; ++v) {
    const std::int64_t dx = jitter(), dy = jitter();
    position[v] = {v % width * kSpacing + dx, v / width * kSpacing + dy};
  }

  if (positions != nullptr) {
    positions->clear();
    for (const auto& [x, y] : position) {
      positions->push_back({static_cast<std::int32_t>(x), static_cast<std::int32_t>(y)});
    }
  }

  struct Candidate {
    std::uint32_t a, b;
    bool is_kept;
  };
  std::vector<Candidate> grid;
  grid.reserve(std::size_t{2} * vertices);
  for (std::uint32_t v = 0; v < vertices; ++v) {
    if (v % width + 1 < width) grid.push_back({v, v + 1, false});
    if (v / width + 1 < height) grid.push_back({v, v + width, false});
  }
  for (std::size_t i = grid.size(); i > 1; --i) std::swap(grid[i - 1], grid[rng.below(i)]);

  std::vector<std::uint8_t> degree(vertices, 0);
  const auto keep = [&](Candidate& c) {
    c.is_kept = true;
    ++degree[c.a];
    ++degree[c.b];
  };
  Components components(vertices);
  for (Candidate& c : grid) {
    if (components.join(c.a, c.b) || rng.below(100) < kExtraRoads) keep(c);
  }
  for (Candidate& c : grid) {  // dead ends: every junction of the grid has at least two edges to choose from
    if (!c.is_kept && (degree[c.a] < 2 || degree[c.b] < 2)) keep(c);
  }

  std::vector<Edge> edges;
  edges.reserve(2 * grid.size());
  for (const Candidate& c : grid) {
    if (!c.is_kept) continue;
    const std::int64_t dx = position[c.a].first - position[c.b].first;
    const std::int64_t dy = position[c.a].second - position[c.b].second;
    const auto straight = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(dx * dx + dy * dy)));
    const auto length =
        static_cast<std::uint32_t>(straight * (1000 + rng.below(kLongestDetour - 999)) / 1000);
    edges.push_back({c.a, c.b, length});
    edges.push_back({c.b, c.a, length});
  }
  return make_graph(vertices, edges, 1);
}

Graph generate_rmat(unsigned scale, std::uint32_t degree, std::uint64_t seed) {
  Rng rng(seed);
  const std::uint32_t vertices = std::uint32_t{1} << scale;
  std::vector<Edge> edges;
  edges.reserve(std::size_t{2} * degree * vertices);
  for (std::uint64_t e = 0; e < std::uint64_t{degree} * vertices; ++e) {
    std::uint32_t a = 0, b = 0;
    for (unsigned bit = 0; bit < scale; ++bit) {
      const std::uint64_t corner = rng.below(100);
      a = a << 1 | (corner >= 76 ? 1u : 0u);
      b = b << 1 | ((corner >= 57 && corner < 76) || corner >= 95 ? 1u : 0u);
    }
    const auto length = static_cast<std::uint32_t>(1 + rng.below(255));
    edges.push_back({a, b, length});
    edges.push_back({b, a, length});
  }
  return make_graph(vertices, edges, 1);
}

Graph generate_band(std::uint32_t vertices, std::uint32_t degree, std::uint32_t width, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Edge> edges;
  edges.reserve(std::size_t{degree} * vertices);
  const auto connect = [&](std::uint32_t a, std::uint32_t b) {
    const auto length = static_cast<std::uint32_t>(1 + rng.below(255));
    edges.push_back({a, b, length});
    edges.push_back({b, a, length});
  };
  for (std::uint32_t v = 0; v + 1 < vertices; ++v) {
    connect(v, v + 1);
    const std::uint32_t reach = std::min(width, vertices - 1 - v);
    // Half of a vertex's edges lead upwards; of an odd degree's last one, every second vertex has it.
    const std::uint32_t upwards = degree / 2 + (degree % 2 & v);
    for (std::uint32_t e = 1; e < upwards; ++e)
      connect(v, v + 1 + static_cast<std::uint32_t>(rng.below(reach)));
  }
  return make_graph(vertices, edges, 1);
}

Graph generate_graph(const std::string& what, std::uint64_t seed, std::vector<Point>* positions) {
  if (positions != nullptr) positions->clear();
  std::string_view rest = what;
  const auto number = [&](std::uint32_t& value) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc{}) return false;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return true;
  };
  const auto text = [&](std::string_view expected) {
    if (rest.substr(0, expected.size()) != expected) return false;
    rest.remove_prefix(expected.size());
    return true;
  };
  std::uint32_t a = 0, b = 0, c = 0;
  if (text("road:") && number(a) && text("x") && number(b) && rest.empty()) {
    if (a < 2 || b < 2)
      throw InputError("--generate " + what + ": a road network is at least 2 junctions wide and high");
    if (std::uint64_t{a} * b > kMaxArcs / 4) {
      throw InputError("--generate " + what + ": at most " + std::to_string(kMaxArcs / 4) +
                       " junctions are possible");
    }
    if (positions != nullptr && (a > kMaxPlaced || b > kMaxPlaced)) {
      throw InputError("--generate " + what + ": with coordinates, at most " + std::to_string(kMaxPlaced) +
                       " junctions wide and high are possible");
    }
    return generate_road(a, b, seed, positions);
  }
  rest = what;
  if (text("rmat:") && number(a) && text(":") && number(b) && rest.empty()) {
    if (a < 1 || a > 30 || b < 1 || (std::uint64_t{b} << a) > kMaxArcs / 2) {
      throw InputError("--generate " + what + ": scale 1 to 30, degree at least 1 and at most " +
                       std::to_string(kMaxArcs / 2) + " edges are possible");
    }
    return generate_rmat(a, b, seed);
  }
  rest = what;
  if (text("band:") && number(a) && text(":") && number(b) && text(":") && number(c) && rest.empty()) {
    if (a < 2 || b < 2 || c < 1 || c >= a || std::uint64_t{a} * (b + std::uint64_t{1}) > kMaxArcs) {
      throw InputError("--generate " + what +
                       ": at least 2 vertices, degree at least 2, width 1 to vertices - 1 and at most " +
                       std::to_string(kMaxArcs / 2) + " edges are possible");
    }
    return generate_band(a, b, c, seed);
  }
  throw InputError("--generate " + what +
                   ": road:WIDTHxHEIGHT (road:300x300), rmat:SCALE:DEGREE (rmat:16:16) or "
                   "band:VERTICES:DEGREE:WIDTH (band:100000:18:10000) was expected");
}

}  // namespace rubato::apps
