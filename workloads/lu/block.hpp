// Five unknowns of a point, and matrices of five rows between them.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>

namespace rubato::workloads::lu {

constexpr unsigned kUnknowns = 5;
using Vector = std::array<double, kUnknowns>;
using Block = std::array<Vector, kUnknowns>;  // rows

// The loops are unrolled also where the compiler would not, so that vectors stay in registers.

inline void add_product(Vector& to, const Block& a, const Vector& b) {
#pragma GCC unroll 5
  for (unsigned r = 0; r < kUnknowns; ++r) {
    double sum = to[r];
#pragma GCC unroll 5
    for (unsigned c = 0; c < kUnknowns; ++c) sum += a[r][c] * b[c];
    to[r] = sum;
  }
}

/// L and U in the place of the block, without pivots: it must be diagonally dominant. The diagonal of L is 1,
/// that of U is stored inverted.
inline void factor(Block& a) {
#pragma GCC unroll 5
  for (unsigned k = 0; k < kUnknowns; ++k) {
    a[k][k] = 1 / a[k][k];
#pragma GCC unroll 5
    for (unsigned r = k + 1; r < kUnknowns; ++r) {
      a[r][k] *= a[k][k];
#pragma GCC unroll 5
      for (unsigned c = k + 1; c < kUnknowns; ++c) a[r][c] -= a[r][k] * a[k][c];
    }
  }
}

/// The solution of a block that factor() has left.
inline Vector solve(const Block& a, Vector b) {
#pragma GCC unroll 5
  for (unsigned r = 1; r < kUnknowns; ++r)
#pragma GCC unroll 5
    for (unsigned c = 0; c < r; ++c) b[r] -= a[r][c] * b[c];
#pragma GCC unroll 5
  for (unsigned r = kUnknowns; r-- > 0;) {
#pragma GCC unroll 5
    for (unsigned c = r + 1; c < kUnknowns; ++c) b[r] -= a[r][c] * b[c];
    b[r] *= a[r][r];
  }
  return b;
}

}  // namespace rubato::workloads::lu
