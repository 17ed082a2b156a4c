// Successive over-relaxation: an actor a grid point, which computes with its neighbours' values; two actors
// own a half each.
// SPDX-License-Identifier: MIT
#include <memory>

#include "apps/savina/random.hpp"
#include "apps/savina/reference/reference.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::relaxation {
namespace {

constexpr double kOmega = 1.25;
constexpr std::uint64_t kSeed = 10'101'010;

struct Value {
  double value;
};
struct Start;
using Point = actor<Value, Start>;
struct Start {
  std::vector<actor<Value>> neighbors;
};
struct Result {
  double value;
  std::uint64_t put_aside;
};
struct Boot {};

struct PointActor : behavior<Value, Start> {
  PointActor(actor<Result> owner, double value, bool is_first, std::uint64_t iterations)
      : owner_(owner), value_(value), is_first_(is_first), left_(iterations) {}
  void on(Start start) {
    neighbors_ = std::move(start.neighbors);
    unstash_all();
    if (is_first_) send();
    end_if_done();
  }
  void on(Value value) {
    if (neighbors_.empty()) {
      ++put_aside_;
      return stash(value);
    }
    sum_ += value.value;
    if (++received_ != neighbors_.size()) return;
    value_ = 0.25 * kOmega * sum_ + (1 - kOmega) * value_;
    sum_ = 0;
    received_ = 0;
    send();
    end_if_done();
  }
  void send() {
    --left_;
    for (const actor<Value> neighbor : neighbors_) neighbor.send(Value{value_});
  }
  void end_if_done() {
    if (left_ != 0) return;
    owner_.send(Result{value_, put_aside_});
    stop();
  }
  actor<Result> owner_;
  double value_, sum_ = 0;
  bool is_first_;
  std::uint64_t left_, put_aside_ = 0;
  std::size_t received_ = 0;
  std::vector<actor<Value>> neighbors_;
};

struct Border {
  std::vector<Point> points;
};
struct Half {
  double total;
  std::uint64_t put_aside;
};

struct Outcome {
  double total = 0;
  std::uint64_t put_aside = 0;
};

/// The columns [first, last) of the grid.
struct Part {
  std::size_t size, first, last;
  std::uint64_t iterations;
  std::size_t width() const { return last - first; }
  std::vector<Point> make(actor<Result> owner, const std::vector<double>& grid) const {
    std::vector<Point> points;
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = first; j < last; ++j)
        points.push_back(spawn<PointActor>(owner, grid[i * size + j], (i + j) % 2 == 0, iterations));
    }
    return points;
  }
  Point at(const std::vector<Point>& points, std::size_t i, std::size_t j) const {
    return points[i * width() + j - first];
  }
  std::vector<Point> column(const std::vector<Point>& points, std::size_t j) const {
    std::vector<Point> found;
    for (std::size_t i = 0; i < size; ++i) found.push_back(at(points, i, j));
    return found;
  }
  /// `border`: the column of the other part that touches this one.
  void start(const std::vector<Point>& points, const std::vector<Point>& border) const {
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = first; j < last; ++j) {
        std::vector<actor<Value>> neighbors;
        if (i > 0) neighbors.push_back(at(points, i - 1, j));
        if (i + 1 < size) neighbors.push_back(at(points, i + 1, j));
        if (j > 0) neighbors.push_back(j == first ? border[i] : at(points, i, j - 1));
        if (j + 1 < size) neighbors.push_back(j + 1 == last ? border[i] : at(points, i, j + 1));
        at(points, i, j).send(Start{std::move(neighbors)});
      }
    }
  }
};

struct Peer : behavior<Border, Result> {
  Peer(actor<Border, Half> runner, const std::vector<double>& grid, Part part)
      : runner_(runner), grid_(grid), part_(part), left_(part.size * part.width()) {}
  void on(Border border) {
    const std::vector<Point> points = part_.make(self(), grid_);
    runner_.send(Border{part_.column(points, part_.first)});
    part_.start(points, border.points);
  }
  void on(Result result) {
    total_ += result.value;
    put_aside_ += result.put_aside;
    if (--left_ != 0) return;
    runner_.send(Half{total_, put_aside_});
    stop();
  }
  actor<Border, Half> runner_;
  const std::vector<double>& grid_;
  Part part_;
  std::size_t left_;
  double total_ = 0;
  std::uint64_t put_aside_ = 0;
};

struct Runner : behavior<Boot, Border, Result, Half> {
  Runner(Outcome& outcome, const std::vector<double>& grid, std::size_t size, std::uint64_t iterations)
      : outcome_(outcome),
        grid_(grid),
        part_{size, 0, size / 2, iterations},
        other_{size, size / 2, size, iterations},
        left_(size * (size / 2) + 1) {}
  void on(Boot) {
    points_ = part_.make(self(), grid_);
    spawn<Peer>(self(), grid_, other_).send(Border{part_.column(points_, part_.last - 1)});
  }
  void on(Border border) { part_.start(points_, border.points); }
  void on(Result result) { add(result.value, result.put_aside); }
  void on(Half half) { add(half.total, half.put_aside); }
  void add(double value, std::uint64_t put_aside) {
    sum_.total += value;
    sum_.put_aside += put_aside;
    if (--left_ != 0) return;
    outcome_ = sum_;
    stop();
  }
  Outcome& outcome_;
  const std::vector<double>& grid_;
  Part part_, other_;
  std::size_t left_;
  std::vector<Point> points_;
  Outcome sum_;
};

template <class Random>
std::vector<double> make_grid(std::size_t size, Random random) {
  std::vector<double> grid(size * size);
  for (double& value : grid) value = random.fraction() * 1e-6;
  return grid;
}

void iterate(Iteration& it) {
  const std::size_t size = it["n"];
  const std::uint64_t iterations = it["i"];
  const std::vector<double> grid = it["jr"] == 0 ? make_grid(size, SuiteRandom(kSeed + it.seed()))
                                                 : make_grid(size, JavaRandom(kSeed + it.seed()));
  Outcome outcome;
  it.measure([&] { spawn<Runner>(outcome, grid, size, iterations).send(Boot{}); });
  it.verify([&] {
    const std::uint64_t points = size * size, edges = 2 * size * (size - 1);
    it.expect_near("sum", outcome.total,
                   reference::over_relaxation(grid, size, static_cast<unsigned>(iterations), kOmega), 1e-9);
    it.expect_actors(points + 2);
    // The last values to the points of the first colour come too late, one an edge.
    it.expect_messages(2 * edges * iterations - edges + outcome.put_aside + 2 * points + 4, edges);
  });
}

constexpr Parameter kParameters[] = {{"n", 20, 6, 2, 1'000}, {"i", 100, 10}, {"jr", 0, 0, 0, 1}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"sor", "parallelism", "over-relaxation of a grid, an actor a point", kParameters,
                          iterate};

}  // namespace rubato::apps::savina::relaxation
