// The linear equations that lu solves: at each point of a cube five unknowns. A block that is different at
// each point couples them with each other; a block for each direction couples them with those of the six
// neighbours. Beyond the cube all is zero.
//
//   D(p) u(p) - sum over directions d of B(d) u(p + d) = b(p)
//
// In the maximum norm |D^-1| <= 1 and |B(d)| = 1/10, on which the sweeps' convergence rests.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/common/line_allocator.hpp"
#include "workloads/lu/block.hpp"

namespace rubato::workloads::lu {

enum Direction : unsigned { kWest, kNorth, kBelow, kEast, kSouth, kAbove, kDirections };
constexpr double kNeighbourNorm = 0.1;

using Field = LineVector<Vector>;  // of the points, by z, y and x

struct Equations {
  /// Makes the blocks of all points; values of single points are not set.
  Equations(unsigned size, std::uint64_t seed);
  /// Sets rows [first, end) of each plane: first the random values, of all rows, then the right side.
  void draw_rows(unsigned first, unsigned end);
  void find_right_side(unsigned first, unsigned end);

  std::size_t at(unsigned z, unsigned y, unsigned x) const { return (std::size_t{z} * size + y) * size + x; }
  /// D of a point, before it was factored.
  Block diagonal(std::size_t point) const;

  std::uint64_t seed;
  unsigned size;                                ///< points of a side
  std::array<Block, kDirections> to_neighbour;  ///< B
  Block coupling;                               ///< the part of D that has a weight at each point
  LineVector<double> weights;                   ///< of it, 0 to 1
  Field solution;                               ///< drawn, and b computed from it
  Field right_side;
};

/// b - A u at a point, written from the definition: the check of the sweeps.
Vector plain_residual(const Equations& equations, const Field& u, unsigned z, unsigned y, unsigned x);

}  // namespace rubato::workloads::lu
