// Symmetric successive over-relaxation: an iteration finds the residual r = b - A u, sweeps forwards through
// the points, then backwards, and corrects u.
//
//   forwards   y(p) = D^-1 (r(p) + w (B y) of the neighbours before p)
//   backwards  c(p) = w (2 - w) y(p) + w D^-1 (B c) of the neighbours after p
//
// That is (D - w L) D^-1 (D - w U) c = w (2 - w) r. A thread has rows y of each plane z. It may sweep a plane
// forwards when the thread before it has, and backwards when the thread after it has: a flag of each thread
// says how many planes it has done.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "workloads/common/waiting.hpp"
#include "workloads/lu/equations.hpp"

namespace rubato::workloads::lu {

constexpr double kRelaxation = 1.2;  // w

class Ssor {
 public:
  Ssor(Equations& equations, unsigned threads);
  /// All threads call these: the equations' numbers and the first state, then one iteration after another.
  void begin(unsigned thread);
  void iterate(unsigned thread);
  const Field& solution() const { return u_; }

 private:
  struct Rows {
    unsigned first, end;
  };
  /// Planes that a thread has swept, ever: a line of its own.
  struct alignas(64) Flag {
    std::atomic<std::uint64_t> planes{0};
  };
  Rows rows_of(unsigned thread) const;
  void find_residual(unsigned thread);
  void sweep_forwards(unsigned thread);
  void sweep_backwards(unsigned thread);

  Equations& equations_;
  unsigned threads_;
  Barrier all_;
  std::vector<Flag> forwards_, backwards_;
  LineVector<Block> factors_;  ///< of each point's diagonal block
  Field u_;
  Field r_;  ///< the residual, then y, then the correction
};

}  // namespace rubato::workloads::lu
