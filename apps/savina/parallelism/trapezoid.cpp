// Trapezoidal rule: an integral in pieces, one for each worker.
// SPDX-License-Identifier: MIT
#include "apps/savina/reference/reference.hpp"
#include "apps/savina/suite.hpp"

namespace rubato::apps::savina::trapezoid {
namespace {

constexpr double kLeft = 1, kRight = 5;

struct Work {
  double left, width;
  std::uint64_t pieces;
};
struct Area {
  double area;
};

struct Worker : behavior<Work> {
  explicit Worker(actor<Area> master) : master_(master) {}
  void on(Work work) {
    master_.send(Area{reference::trapezoids(work.left, work.width, work.pieces)});
    stop();
  }
  actor<Area> master_;
};

struct Begin {};
struct Master : behavior<Begin, Area> {
  Master(double& result, const Iteration& it) : result_(result), pieces_(it["n"]), left_(it["w"]) {
    for (std::uint64_t i = 0; i < left_; ++i) workers_.push_back(spawn<Worker>(self()));
  }
  void on(Begin) {
    const double width = (kRight - kLeft) / static_cast<double>(pieces_);
    for (std::uint64_t i = 0; i < workers_.size(); ++i) {
      const std::uint64_t first = pieces_ * i / workers_.size(), last = pieces_ * (i + 1) / workers_.size();
      workers_[i].send(Work{kLeft + static_cast<double>(first) * width, width, last - first});
    }
  }
  void on(Area area) {
    sum_ += area.area;
    if (--left_ != 0) return;
    result_ = sum_;
    stop();
  }
  double& result_;
  std::uint64_t pieces_, left_;
  double sum_ = 0;
  std::vector<actor<Work>> workers_;
};

void iterate(Iteration& it) {
  double area = 0;
  it.measure([&] { spawn<Master>(area, it).send(Begin{}); });
  it.verify([&] {
    const double width = (kRight - kLeft) / static_cast<double>(it["n"]);
    it.expect_near("area", area, reference::trapezoids(kLeft, width, it["n"]), 1e-9);
    it.expect_actors(it["w"] + 1);
    it.expect_messages(2 * it["w"] + 1);
  });
}

constexpr Parameter kParameters[] = {{"n", 10'000'000, 10'000}, {"w", 100, 10, 1, 100'000}};

}  // namespace

extern const Benchmark benchmark;
const Benchmark benchmark{"trapezoid", "parallelism", "an integral in pieces, one for each worker",
                          kParameters, iterate};

}  // namespace rubato::apps::savina::trapezoid
