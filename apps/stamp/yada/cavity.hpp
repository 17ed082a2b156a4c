// Notes of a thread while it puts one point into the mesh: the triangles that have to go, and the edges
// around them, with the triangles that are made there. They are the thread's own: transactions call the
// functions as pure ones, and each attempt starts them anew.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "apps/stamp/yada/geometry.hpp"

namespace rubato::apps::stamp::yada {

struct Triangle;

/// An edge of the cavity from a to b, seen counter-clockwise from inside.
struct Rim {
  const Point* a;
  const Point* b;
  Triangle* outside;  ///< null at the boundary of the domain
  Triangle* gone;     ///< which was there inside
  Triangle* made;     ///< null if the new point is on the edge
};

class Cavity {
 public:
  [[gnu::transaction_pure, gnu::noinline]] void start(Triangle* first) {
    triangles_.assign(1, first);
    rims_.clear();
    fresh_.clear();
  }
  [[gnu::transaction_pure, gnu::noinline]] void add(Triangle* triangle) { triangles_.push_back(triangle); }
  [[gnu::transaction_pure, gnu::noinline]] bool contains(const Triangle* triangle) const {
    for (const Triangle* t : triangles_) {
      if (t == triangle) return true;
    }
    return false;
  }
  [[gnu::transaction_pure, gnu::noinline]] std::uint64_t size() const { return triangles_.size(); }
  [[gnu::transaction_pure, gnu::noinline]] Triangle* at(std::uint64_t i) const { return triangles_[i]; }

  [[gnu::transaction_pure, gnu::noinline]] void add_rim(const Point* a, const Point* b, Triangle* outside,
                                                        Triangle* gone) {
    rims_.push_back({a, b, outside, gone, nullptr});
  }
  [[gnu::transaction_pure, gnu::noinline]] std::uint64_t rims() const { return rims_.size(); }
  [[gnu::transaction_pure, gnu::noinline]] const Point* rim_a(std::uint64_t i) const { return rims_[i].a; }
  [[gnu::transaction_pure, gnu::noinline]] const Point* rim_b(std::uint64_t i) const { return rims_[i].b; }
  [[gnu::transaction_pure, gnu::noinline]] Triangle* rim_outside(std::uint64_t i) const {
    return rims_[i].outside;
  }
  [[gnu::transaction_pure, gnu::noinline]] Triangle* rim_gone(std::uint64_t i) const { return rims_[i].gone; }
  [[gnu::transaction_pure, gnu::noinline]] Triangle* rim_made(std::uint64_t i) const { return rims_[i].made; }
  [[gnu::transaction_pure, gnu::noinline]] void set_made(std::uint64_t i, Triangle* made) {
    rims_[i].made = made;
  }
  /// The triangle made on the edge that begins, or ends, at a point; null if there is none.
  [[gnu::transaction_pure, gnu::noinline]] Triangle* made_from(const Point* a) const {
    for (const Rim& rim : rims_) {
      if (rim.a == a) return rim.made;
    }
    return nullptr;
  }
  [[gnu::transaction_pure, gnu::noinline]] Triangle* made_to(const Point* b) const {
    for (const Rim& rim : rims_) {
      if (rim.b == b) return rim.made;
    }
    return nullptr;
  }

  /// Triangles that have to be refined next.
  [[gnu::transaction_pure, gnu::noinline]] void add_fresh(Triangle* triangle) { fresh_.push_back(triangle); }
  const std::vector<Triangle*>& fresh() const { return fresh_; }

 private:
  std::vector<Triangle*> triangles_;
  std::vector<Rim> rims_;
  std::vector<Triangle*> fresh_;
};

}  // namespace rubato::apps::stamp::yada
