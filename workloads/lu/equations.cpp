// SPDX-License-Identifier: MIT
#include "workloads/lu/equations.hpp"

#include <cmath>

#include "base/rng.hpp"

namespace rubato::workloads::lu {

namespace {

// Each row's absolute values have the sum `norm`.
Block draw_block(double norm, Rng& rng) {
  Block block;
  for (Vector& row : block) {
    double sum = 0;
    for (double& value : row) sum += std::abs(value = 2 * rng.uniform() - 1);
    for (double& value : row) value *= norm / sum;
  }
  return block;
}

}  // namespace

Equations::Equations(unsigned size_, std::uint64_t seed_) : seed(seed_), size(size_) {
  Rng rng(seed);
  for (Block& block : to_neighbour) block = draw_block(kNeighbourNorm, rng);
  coupling = draw_block(1, rng);
  const std::size_t points = std::size_t{size} * size * size;
  solution.resize(points);
  weights.resize(points);
  right_side.resize(points);
}

void Equations::draw_rows(unsigned first, unsigned end) {
  for (unsigned z = 0; z < size; ++z)
    for (unsigned y = first; y < end; ++y) {
      Rng rng(mix64(seed) + at(z, y, 0));
      for (std::size_t p = at(z, y, 0); p < at(z, y, size); ++p) {
        weights[p] = rng.uniform();
        for (double& value : solution[p]) value = 2 * rng.uniform() - 1;
        right_side[p] = Vector{};
      }
    }
}

void Equations::find_right_side(unsigned first, unsigned end) {
  for (unsigned z = 0; z < size; ++z)
    for (unsigned y = first; y < end; ++y)
      for (unsigned x = 0; x < size; ++x) {
        Vector& b = right_side[at(z, y, x)];  // still zero, so that what is left is -A u
        b = plain_residual(*this, solution, z, y, x);
        for (double& value : b) value = -value;
      }
}

// (1 + w) times the unit block, and w times `coupling`: each row's diagonal exceeds the others' sum by 1 at
// least.
Block Equations::diagonal(std::size_t point) const {
  Block d;
  for (unsigned r = 0; r < kUnknowns; ++r)
    for (unsigned c = 0; c < kUnknowns; ++c)
      d[r][c] = weights[point] * coupling[r][c] + (r == c ? 1 + weights[point] : 0);
  return d;
}

Vector plain_residual(const Equations& e, const Field& u, unsigned z, unsigned y, unsigned x) {
  const int steps[kDirections][3] = {{0, 0, -1}, {0, -1, 0}, {-1, 0, 0}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}};
  const std::size_t p = e.at(z, y, x);
  Vector product{};
  add_product(product, e.diagonal(p), u[p]);
  for (unsigned d = 0; d < kDirections; ++d) {
    const unsigned to[3] = {z + steps[d][0], y + steps[d][1],
                            x + steps[d][2]};  // -1 becomes the largest number
    if (to[0] >= e.size || to[1] >= e.size || to[2] >= e.size) continue;
    const Vector& neighbour = u[e.at(to[0], to[1], to[2])];
    for (unsigned r = 0; r < kUnknowns; ++r)
      for (unsigned c = 0; c < kUnknowns; ++c) product[r] -= e.to_neighbour[d][r][c] * neighbour[c];
  }
  Vector residual;
  for (unsigned i = 0; i < kUnknowns; ++i) residual[i] = e.right_side[p][i] - product[i];
  return residual;
}

}  // namespace rubato::workloads::lu
