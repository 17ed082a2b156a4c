// The maze of labyrinth: cells in three dimensions, each free, an end of a path that is to be laid, or part
// of one. And a thread's own picture of it, in which Lee's algorithm looks for a way: waves of equal distance
// from the source, then back from the target. (C. Y. Lee, "An Algorithm for Path Connections and Its
// Applications", 1961.)
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

namespace rubato::apps::stamp::labyrinth {

using Cell = std::uint32_t;  // its index in the grid
using Mark = std::uint32_t;  // what is in it: kFree, or 1 + the number of the path

inline constexpr Mark kFree = 0;

struct Shape {
  std::uint32_t x, y, z;
  std::uint32_t cells() const { return x * y * z; }
};

/// f(neighbour) for the up to six neighbours of a cell, in the same order always.
template <class F>
void for_each_neighbour(const Shape& shape, Cell cell, const F& f) {
  const std::uint32_t plane = shape.x * shape.y;
  const std::uint32_t x = cell % shape.x, y = cell / shape.x % shape.y, z = cell / plane;
  if (x > 0) f(cell - 1);
  if (x + 1 < shape.x) f(cell + 1);
  if (y > 0) f(cell - shape.x);
  if (y + 1 < shape.y) f(cell + shape.x);
  if (z > 0) f(cell - plane);
  if (z + 1 < shape.z) f(cell + plane);
}

struct Route {
  Cell from, to;
  std::uint32_t number;
  Mark mark() const { return number + 1; }
};

/// Private picture of the grid, one for each thread. Transactions call its functions as pure ones: no other
/// thread sees it, and each attempt starts it anew.
class Picture {
 public:
  explicit Picture(const Shape& shape) : shape_(shape), distance_(shape.cells()) {
    wave_.reserve(shape.cells());
    next_wave_.reserve(shape.cells());
    path_.reserve(shape.cells());
  }

  /// Copies the grid without a barrier, while others may change it: the picture has to be checked.
  [[gnu::transaction_pure, gnu::noinline]] void copy(const Mark* grid) {
    for (Cell cell = 0; cell < shape_.cells(); ++cell)
      set(cell, __atomic_load_n(&grid[cell], __ATOMIC_RELAXED));
  }
  /// Sets a single cell.
  [[gnu::transaction_pure, gnu::noinline]] void set(Cell cell, Mark mark) {
    distance_[cell] = mark == kFree ? kUnreached : kBlocked;
  }
  /// A shortest way over free cells from end to end. @returns false if there is none.
  [[gnu::transaction_pure, gnu::noinline]] bool find(const Route& route) {
    distance_[route.to] = kUnreached;
    distance_[route.from] = 0;
    wave_.assign(1, route.from);
    for (std::int32_t distance = 1; distance_[route.to] == kUnreached; ++distance) {
      if (wave_.empty()) return false;
      next_wave_.clear();
      for (const Cell cell : wave_) {
        for_each_neighbour(shape_, cell, [&](Cell neighbour) {
          if (distance_[neighbour] != kUnreached) return;
          distance_[neighbour] = distance;
          next_wave_.push_back(neighbour);
        });
      }
      wave_.swap(next_wave_);
    }
    trace_back(route);
    return true;
  }
  /// Path that find() found: the cells between the ends.
  [[gnu::transaction_pure, gnu::noinline]] std::uint64_t path_size() const { return path_.size(); }
  [[gnu::transaction_pure, gnu::noinline]] Cell path_cell(std::uint64_t i) const { return path_[i]; }

 private:
  static constexpr std::int32_t kUnreached = -1, kBlocked = -2;

  void trace_back(const Route& route) {
    path_.clear();
    for (Cell cell = route.to; distance_[cell] > 1;) {
      Cell back = cell;
      for_each_neighbour(shape_, cell, [&](Cell neighbour) {
        if (back == cell && distance_[neighbour] == distance_[cell] - 1) back = neighbour;
      });
      path_.push_back(cell = back);
    }
  }

  Shape shape_;
  std::vector<std::int32_t> distance_;
  std::vector<Cell> wave_, next_wave_, path_;
};

}  // namespace rubato::apps::stamp::labyrinth
