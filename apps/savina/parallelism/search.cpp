// Guided search (the suite's a*): workers look for a way through a grid of three dimensions and share
// unfinished work.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <atomic>
#include <deque>

#include "apps/savina/random.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::search {
namespace {

constexpr std::uint64_t kSeed = 123'456;
constexpr std::uint32_t kNone = ~0u;
constexpr std::uint64_t kStepsANode = 100;

/// The suite shares it among its actors: the actor that sets a node's parent first owns the node.
struct Grid {
  Grid(std::uint32_t length, std::uint64_t seed)
      : size(length), neighbors(length * length * length), parents(neighbors.size()) {
    JavaRandom random(kSeed + seed);
    for (std::uint32_t node = 0; node < neighbors.size(); ++node) connect(node, random);
    for (auto& parent : parents) parent.store(kNone, std::memory_order_relaxed);
  }
  void connect(std::uint32_t node, JavaRandom& random) {
    const std::uint32_t i = node / (size * size), j = node / size % size, k = node % size;
    for (std::uint32_t corner = 1; corner < 7; ++corner) {
      const bool is_needed = corner == 6 && neighbors[node].empty();
      if (!is_needed && !random.boolean()) continue;
      const std::uint32_t other =
          number(std::min(size - 1, i + (corner >> 2 & 1)), std::min(size - 1, j + (corner >> 1 & 1)),
                 std::min(size - 1, k + (corner & 1)));
      auto& known = neighbors[node];
      if (other != node && std::find(known.begin(), known.end(), other) == known.end())
        known.push_back(other);
    }
  }
  std::uint32_t number(std::uint32_t i, std::uint32_t j, std::uint32_t k) const {
    return (i * size + j) * size + k;
  }
  std::uint32_t target() const {
    const std::uint32_t at = size * 4 / 5;
    return number(at, at, at);
  }
  bool claim(std::uint32_t node, std::uint32_t parent) {
    std::uint32_t expected = kNone;
    return parents[node].compare_exchange_strong(expected, parent, std::memory_order_relaxed);
  }
  bool has_edge(std::uint32_t from, std::uint32_t to) const {
    return std::find(neighbors[from].begin(), neighbors[from].end(), to) != neighbors[from].end();
  }
  std::uint32_t size;
  std::vector<std::vector<std::uint32_t>> neighbors;
  std::vector<std::atomic<std::uint32_t>> parents;
};

struct Work {
  std::uint32_t node;
};
struct Received {};
struct Found {};
struct Stop {};
struct Stopped {};
using Boss = actor<Work, Received, Found, Stopped>;

struct Worker : behavior<Work, Stop> {
  Worker(Grid& grid, Boss master, std::uint64_t threshold, std::uint64_t number)
      : grid_(grid), master_(master), threshold_(threshold), busy_(number) {}
  void on(Work work) {
    search(work.node);
    master_.send(Received{});
  }
  void on(Stop) {
    master_.send(Stopped{});
    stop();
  }
  void search(std::uint32_t from) {
    std::deque<std::uint32_t> open{from};
    for (std::uint64_t visited = 0; !open.empty() && visited < threshold_; ++visited) {
      kept_ += work(busy_, kStepsANode);
      const std::uint32_t node = open.front();
      open.pop_front();
      for (const std::uint32_t neighbor : grid_.neighbors[node]) {
        if (!grid_.claim(neighbor, node)) continue;
        if (neighbor == grid_.target()) return master_.send(Found{});
        open.push_back(neighbor);
      }
    }
    for (const std::uint32_t node : open) master_.send(Work{node});
  }
  Grid& grid_;
  Boss master_;
  std::uint64_t threshold_;
  SuiteRandom busy_;
  std::uint32_t kept_ = 0;
};

struct Master : behavior<Work, Received, Found, Stopped> {
  Master(Grid& grid, const Iteration& it) {
    for (std::uint64_t i = 0; i < it["w"]; ++i) workers_.push_back(spawn<Worker>(grid, self(), it["t"], i));
    on(Work{0});
  }
  void on(Work work) {
    if (!is_ending_) workers_[sent_++ % workers_.size()].send(work);
  }
  void on(Received) {
    if (++received_ == sent_) end();
  }
  void on(Found) { end(); }
  void on(Stopped) {
    if (++stopped_ == workers_.size()) stop();
  }
  void end() {
    if (is_ending_) return;
    is_ending_ = true;
    for (const auto worker : workers_) worker.send(Stop{});
  }
  std::vector<actor<Work, Stop>> workers_;
  std::uint64_t sent_ = 0, received_ = 0, stopped_ = 0;
  bool is_ending_ = false;
};

/// Parents lead from the target to the root over edges; the other way round, a target without a parent is one
/// that no way leads to.
void check(Iteration& it, const Grid& grid) {
  std::uint32_t node = grid.target();
  if (grid.parents[node].load() == kNone) {
    std::vector<bool> is_reached(grid.neighbors.size(), false);
    std::vector<std::uint32_t> open{0};
    is_reached[0] = true;
    while (!open.empty()) {
      const std::uint32_t from = open.back();
      open.pop_back();
      for (const std::uint32_t to : grid.neighbors[from]) {
        if (!is_reached[to]) open.push_back(to);
        is_reached[to] = true;
      }
    }
    return it.expect_that("the target has a way to it that was not found", !is_reached[node]);
  }
  for (std::size_t steps = 0; node != 0 && steps < grid.neighbors.size(); ++steps) {
    const std::uint32_t parent = grid.parents[node].load();
    if (parent == kNone || !grid.has_edge(parent, node)) break;
    node = parent;
  }
  it.expect("the node that the target's parents lead to", node, 0);
}

void iterate(Iteration& it) {
  Grid grid(static_cast<std::uint32_t>(it["g"]), it.seed());
  it.measure([&] { spawn<Master>(grid, it); });
  it.verify([&] {
    check(it, grid);
    it.expect_actors(it["w"] + 1);
  });
}

constexpr Parameter kParameters[] = {{"g", 30, 10, 2, 200}, {"t", 1'024, 32}, {"w", 20, 5, 1, 10'000}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"astar", "parallelism", "workers look for a way through a grid", kParameters,
                          iterate};

}  // namespace rubato::apps::savina::search
