// A Delaunay triangulation of a square, and how a point is put into it (Bowyer, Watson, 1981): the triangles
// whose circles contain the point go, and the hole is filled with triangles from the point to its rim.
// Ruppert's refinement (1995) chooses the points. Plain code: in a transaction the compiler's clones of it
// run.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "apps/stamp/yada/cavity.hpp"
#include "apps/stamp/yada/geometry.hpp"

namespace rubato::apps::stamp::yada {

/// Corners are counter-clockwise; neighbour[i] is across the edge opposite of corner[i], null at the domain's
/// boundary.
struct Triangle {
  const Point* corner[3];
  Triangle* neighbour[3];
  bool is_waiting;  ///< in the queue, or taken from it and not yet looked at: the thread that looks frees it
                    ///< if it is gone
  bool is_gone;
  std::uint32_t visit = 0;  ///< the last walk over the whole mesh that came here; transactions do not use it
};

inline const Point& from_of(const Triangle& t, int side) { return *t.corner[(side + 1) % 3]; }
inline const Point& to_of(const Triangle& t, int side) { return *t.corner[(side + 2) % 3]; }

class Mesh {
 public:
  explicit Mesh(const Quality& quality) : quality_(quality) {
    const auto* const a = new Point{0, 0};
    const auto* const b = new Point{kSide, 0};
    const auto* const c = new Point{kSide, kSide};
    const auto* const d = new Point{0, kSide};
    root_ = new Triangle{{a, b, c}, {nullptr, nullptr, nullptr}, false, false};
    root_->neighbour[1] = new Triangle{{a, c, d}, {nullptr, nullptr, root_}, false, false};
  }
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  Triangle* root() { return root_; }
  bool is_bad(const Triangle& t) const { return quality_.is_bad(*t.corner[0], *t.corner[1], *t.corner[2]); }

  /// Puts a point strictly inside of the domain into the mesh, if none is there yet; the way to it begins at
  /// `near`.
  /// @returns a triangle at the point.
  Triangle* insert(const Point& point, Triangle* near, Cavity& cavity) {
    int side = 0;
    Triangle* const start = walk(near, point, side);
    for (const Point* corner : start->corner) {
      if (*corner == point) return start;
    }
    grow(start, point, cavity);
    fill(new Point(point), cavity);
    return first_made(cavity);
  }

  /// Replaces `bad`, one step towards a good triangle: puts in its circumcentre. If that is near a boundary
  /// edge or behind it, puts in the middle of that edge instead. cavity.fresh() are the bad triangles that
  /// result.
  /// @returns false, and changes nothing, if the edge is too short to be divided.
  bool refine(Triangle* bad, Cavity& cavity) {
    Point point = circumcentre(*bad->corner[0], *bad->corner[1], *bad->corner[2]);
    int side = 0;
    Triangle* start = walk(bad, point, side);
    if (side >= 0) {  // behind an edge
      if (!is_divisible(*start, side)) return false;
    } else {
      grow(start, point, cavity);
      Triangle* const crowded = crowded_edge(point, cavity, side);
      if (crowded != nullptr) start = crowded;
    }
    if (side >= 0) {
      const Point &from = from_of(*start, side), &to = to_of(*start, side);
      point = Point{(from.x + to.x) / 2, (from.y + to.y) / 2};
      grow(start, point, cavity);
    }
    const bool stays = !cavity.contains(bad);
    fill(new Point(point), cavity);
    if (stays) wait_for_refinement(bad, cavity);
    return true;
  }

 private:
  /// From `t` to the triangle that has `point` in it or on its edge: then `side` is -1. Or to one at whose
  /// edge `side` the domain ends before the point is reached.
  Triangle* walk(Triangle* t, const Point& point, int& side) const {
    for (;;) {
      side = -1;
      for (int i = 0; i < 3; ++i) {
        if (orientation(from_of(*t, i), to_of(*t, i), point) < 0) side = i;
      }
      if (side < 0 || t->neighbour[side] == nullptr) return t;
      t = t->neighbour[side];
    }
  }
  static bool circle_contains(const Triangle& t, const Point& point) {
    return is_in_circle(*t.corner[0], *t.corner[1], *t.corner[2], point);
  }
  /// Collects the triangles whose circles contain `point`, which is in or on `start`, and their rim.
  static void grow(Triangle* start, const Point& point, Cavity& cavity) {
    cavity.start(start);
    for (std::uint64_t i = 0; i < cavity.size(); ++i) {
      Triangle* const t = cavity.at(i);
      for (int side = 0; side < 3; ++side) {
        Triangle* const next = t->neighbour[side];
        if (next != nullptr) {
          if (cavity.contains(next)) continue;
          if (circle_contains(*next, point)) {
            cavity.add(next);
            continue;
          }
        }
        cavity.add_rim(t->corner[(side + 1) % 3], t->corner[(side + 2) % 3], next, t);
      }
    }
  }
  bool is_divisible(const Triangle& t, int side) const {
    return squared_distance(from_of(t, side), to_of(t, side)) >= 4 * quality_.finest * quality_.finest;
  }
  /// A triangle of the cavity whose `side` is a boundary edge that `point` comes too close to; null if there
  /// is none.
  Triangle* crowded_edge(const Point& point, const Cavity& cavity, int& side) const {
    const std::uint64_t size = cavity.size();
    for (std::uint64_t i = 0; i < size; ++i) {
      Triangle* const t = cavity.at(i);
      for (side = 0; side < 3; ++side) {
        if (t->neighbour[side] == nullptr && is_divisible(*t, side) &&
            is_in_diametral_circle(from_of(*t, side), to_of(*t, side), point))
          return t;
      }
    }
    side = -1;
    return nullptr;
  }
  void wait_for_refinement(Triangle* t, Cavity& cavity) const {
    t->is_waiting = true;
    cavity.add_fresh(t);
  }
  /// Fills the cavity with triangles at `point`, which becomes the mesh's.
  void fill(const Point* point, Cavity& cavity) {
    const std::uint64_t rims = cavity.rims();
    for (std::uint64_t i = 0; i < rims; ++i) {
      const Point *const a = cavity.rim_a(i), *const b = cavity.rim_b(i);
      if (orientation(*point, *a, *b) == 0) continue;  // in the middle of a boundary edge
      cavity.set_made(i,
                      new Triangle{{point, a, b}, {cavity.rim_outside(i), nullptr, nullptr}, false, false});
    }
    for (std::uint64_t i = 0; i < rims; ++i) {
      Triangle* const made = cavity.rim_made(i);
      if (made == nullptr) continue;
      made->neighbour[1] = cavity.made_from(cavity.rim_b(i));
      made->neighbour[2] = cavity.made_to(cavity.rim_a(i));
      if (Triangle* const outside = cavity.rim_outside(i)) {
        for (Triangle*& neighbour : outside->neighbour) {
          if (neighbour == cavity.rim_gone(i)) neighbour = made;
        }
      }
      if (is_bad(*made)) wait_for_refinement(made, cavity);
    }
    if (cavity.contains(root_)) root_ = first_made(cavity);
    remove_gone(cavity);
  }
  static Triangle* first_made(const Cavity& cavity) {
    const std::uint64_t rims = cavity.rims();
    for (std::uint64_t i = 0; i < rims; ++i) {
      if (Triangle* const made = cavity.rim_made(i)) return made;
    }
    return nullptr;
  }
  static void remove_gone(const Cavity& cavity) {
    const std::uint64_t size = cavity.size();
    for (std::uint64_t i = 0; i < size; ++i) {
      Triangle* const t = cavity.at(i);
      if (t->is_waiting) {
        t->is_gone = true;
      } else {
        delete t;
      }
    }
  }

  Quality quality_;
  alignas(64) Triangle* root_;  // one that is there: through which all others are found
};

}  // namespace rubato::apps::stamp::yada
