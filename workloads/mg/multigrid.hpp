// Multigrid for Poisson's equation -laplace(u) = f on a periodic cube, with second-order differences of seven
// points. A V-cycle does one sweep of Gauss-Seidel in red and black order before and after the coarser grid,
// restricts the residual by full weighting and corrects by trilinear interpolation. Threads have slabs of
// planes and wait for each other after each step, so the results do not depend on their number.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/common/waiting.hpp"
#include "workloads/mg/grid.hpp"

namespace rubato::workloads::mg {

class Multigrid {
 public:
  /// `size`: points of a side, a power of two, at least 4. The right side is zero but for ten points of 1 and
  /// ten of -1, which `seed` chooses.
  Multigrid(unsigned size, unsigned threads, std::uint64_t seed);

  /// All threads call these: the first state, then one V-cycle after another.
  void begin(unsigned thread);
  void cycle(unsigned thread) { descend(0, thread); }

  const Grid& solution() const { return levels_[0].u; }
  const Grid& right_side() const { return levels_[0].f; }

 private:
  struct Level {
    explicit Level(unsigned size) : u(size), f(size), r(size) {}
    Grid u, f, r;
  };
  struct Planes {
    unsigned first, end;
  };
  Planes planes_of(unsigned thread, const Grid& grid) const;
  void place_charges();
  void descend(std::size_t level, unsigned thread);
  void sweep(Level& level, unsigned thread);
  void find_residual(Level& level, unsigned thread);
  void restrict_to(Level& coarse, const Grid& residual, unsigned thread);
  void correct(Grid& fine, const Grid& coarse, unsigned thread);

  unsigned threads_;
  std::uint64_t seed_;
  Barrier all_;
  std::vector<Level> levels_;                 ///< the finest first
  std::vector<std::vector<double>> scratch_;  ///< a row of each thread
};

/// The root of the mean square of f + laplace(u), written point by point: the check of Multigrid.
double residual_norm(const Grid& u, const Grid& f);

}  // namespace rubato::workloads::mg
