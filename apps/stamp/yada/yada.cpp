// yada: a mesh of triangles is refined until no angle is too small. A transaction takes one bad triangle,
// walks to where a point is missing, and puts triangles there in the place of those around it; new bad ones
// go to the queue. After the description of STAMP (Cao Minh et al., IISWC 2008); T68.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "apps/stamp/common/program.hpp"
#include "apps/stamp/structure/queue.hpp"
#include "apps/stamp/yada/cavity.hpp"
#include "apps/stamp/yada/geometry.hpp"
#include "apps/stamp/yada/mesh.hpp"
#include "base/rng.hpp"

namespace rubato::apps::stamp::yada {
namespace {

class Yada final : public Program {
 public:
  explicit Yada(const Settings& settings)
      : mesh_(quality(settings["angle"], static_cast<std::int64_t>(settings["finest"]))),
        cavities_(settings.threads) {
    Triangle* near = mesh_.root();
    for (const Point& point : points(settings["points"], settings.seed)) {
      near = mesh_.insert(point, near, cavities_[0]);
      given_.push_back(point);
    }
    for (Triangle* const t : all()) {
      t->is_waiting = mesh_.is_bad(*t);
      if (t->is_waiting) bad_.push(t);
    }
  }
  ~Yada() override {
    const std::vector<Triangle*> triangles = all();
    for (const Point* const corner : corners_of(triangles)) delete corner;
    for (const Triangle* const t : triangles) delete t;
  }

  void work(Worker& worker) override {
    Cavity& cavity = cavities_[worker.index()];
    for (Triangle* t = nullptr; next(t);) {
      if (!refine(t, cavity)) continue;
      for (Triangle* const bad : cavity.fresh()) push(bad);
    }
  }

  std::string check() override {
    if (bad_.size() != 0) return "bad triangles are left over";
    const std::vector<Triangle*> triangles = all();
    std::int64_t area = 0;
    for (const Triangle* const t : triangles) {
      const std::string wrong = wrong_of(*t);
      if (!wrong.empty()) return wrong;
      area += orientation(*t->corner[0], *t->corner[1], *t->corner[2]);
    }
    if (area != 2 * kSide * kSide) return "the triangles do not cover the square once";
    std::vector<Point> found;
    for (const Point* const corner : corners_of(triangles)) found.push_back(*corner);
    std::sort(found.begin(), found.end(), is_before);
    if (std::adjacent_find(found.begin(), found.end()) != found.end()) return "two points are at one place";
    for (const Point& point : given_) {
      if (!std::binary_search(found.begin(), found.end(), point, is_before))
        return "a point of the input is lost";
    }
    return refines_no_more() ? "" : "a bad triangle was forgotten";
  }

  std::uint64_t digest() override {
    std::uint64_t sum = 0;  // whatever the order
    for (const Triangle* const t : all()) {
      std::uint64_t corners = 0;
      for (const Point* const p : t->corner)
        corners += mix64(static_cast<std::uint64_t>(p->x * kSide * 2 + p->y));
      sum += mix64(corners);
    }
    return sum;
  }

 private:
  static bool is_before(const Point& a, const Point& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; }
  static Quality quality(std::uint64_t angle, std::int64_t finest) {
    const double sine = std::sin(static_cast<double>(angle) * std::numbers::pi / 180);
    return {sine * sine, finest};
  }
  /// Random ones inside of the square, column by column up and down, so that each is near the one before.
  static std::vector<Point> points(std::uint64_t count, std::uint64_t seed) {
    Rng rng(seed);
    std::vector<Point> found(count);
    for (Point& point : found) {
      point = {static_cast<std::int64_t>(1 + rng.below(kSide - 1)),
               static_cast<std::int64_t>(1 + rng.below(kSide - 1))};
    }
    const auto columns = static_cast<std::int64_t>(std::sqrt(static_cast<double>(count))) + 1;
    std::sort(found.begin(), found.end(), [columns](const Point& a, const Point& b) {
      const std::int64_t column = a.x * columns / kSide;
      if (column != b.x * columns / kSide) return column < b.x * columns / kSide;
      return column % 2 == 0 ? a.y < b.y : a.y > b.y;
    });
    return found;
  }

  bool next(Triangle*& t) {
    bool is_there = false;
    __transaction_atomic { is_there = bad_.pop(t); }
    return is_there;
  }
  void push(Triangle* t) {
    __transaction_atomic { bad_.push(t); }
  }
  /// @returns whether the mesh has been changed.
  bool refine(Triangle* t, Cavity& cavity) {
    bool is_changed = false;
    __transaction_atomic {
      is_changed = false;
      if (t->is_gone) {
        delete t;
      } else {
        t->is_waiting = false;
        is_changed = mesh_.refine(t, cavity);
      }
    }
    return is_changed;
  }

  /// The triangles that can be reached from the root.
  std::vector<Triangle*> all() {
    std::vector<Triangle*> found{mesh_.root()};
    mesh_.root()->visit = ++visits_;
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (Triangle* const neighbour : found[i]->neighbour) {
        if (neighbour == nullptr || std::exchange(neighbour->visit, visits_) == visits_) continue;
        found.push_back(neighbour);
      }
    }
    return found;
  }
  static std::vector<const Point*> corners_of(const std::vector<Triangle*>& triangles) {
    std::vector<const Point*> found;
    for (const Triangle* const t : triangles) found.insert(found.end(), t->corner, t->corner + 3);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }
  /// Fault of a triangle in a Delaunay triangulation; empty: none.
  static std::string wrong_of(const Triangle& t) {
    if (t.is_gone || t.is_waiting) return "a triangle that is gone or waits is part of the mesh";
    if (orientation(*t.corner[0], *t.corner[1], *t.corner[2]) <= 0) return "a triangle is turned over";
    for (int side = 0; side < 3; ++side) {
      const Triangle* const other = t.neighbour[side];
      const Point &a = from_of(t, side), &b = to_of(t, side);
      if (other == nullptr) {
        const bool is_boundary =
            (a.x == b.x && (a.x == 0 || a.x == kSide)) || (a.y == b.y && (a.y == 0 || a.y == kSide));
        if (!is_boundary) return "the mesh has a hole";
        continue;
      }
      int back = 0;
      while (back < 3 && other->neighbour[back] != &t) ++back;
      if (back == 3 || from_of(*other, back) != b || to_of(*other, back) != a)
        return "neighbours do not share an edge";
      if (is_in_circle(*t.corner[0], *t.corner[1], *t.corner[2], *other->corner[back]))
        return "a triangle's circle contains a point";
    }
    return "";
  }
  /// Every triangle that is bad still is so because its edge at the boundary is too short.
  bool refines_no_more() {
    const std::vector<Triangle*> triangles = all();
    return std::none_of(triangles.begin(), triangles.end(),
                        [this](Triangle* t) { return mesh_.is_bad(*t) && mesh_.refine(t, cavities_[0]); });
  }

  Mesh mesh_;
  std::vector<Cavity> cavities_;
  std::vector<Point> given_;
  std::uint32_t visits_ = 0;
  alignas(64) Queue<Triangle*> bad_;
};

const Description kDescription{
    .name = "yada",
    .summary = "STAMP's mesh refinement: bad triangles are replaced, each in one transaction.",
    .parameters = {{"points", 400'000, 2'000, 1, 4'000'000, "points of the input, which are random"},
                   {"angle", 20, 20, 1, 20, "degrees of the smallest good angle"},
                   {"finest", 64, 64, 16, 65'536,
                    "edges below this length are short enough; the square's side is 2^22"}},
    .make = [](const Settings& settings) -> std::unique_ptr<Program> {
      return std::make_unique<Yada>(settings);
    }};

}  // namespace
}  // namespace rubato::apps::stamp::yada

int main(int argc, char** argv) {
  return rubato::apps::stamp::run(rubato::apps::stamp::yada::kDescription, argc, argv);
}
