// SPDX-License-Identifier: MIT
#include "apps/savina/reference/reference.hpp"

#include <algorithm>
#include <cmath>

#include "apps/savina/fixed_point.hpp"

namespace rubato::apps::savina::reference {

std::uint64_t fibonacci(std::uint64_t n) {
  std::uint64_t a = 0, b = 1;
  for (std::uint64_t i = 0; i < n; ++i) {
    a += b;
    std::swap(a, b);
  }
  return a;
}

std::uint64_t primes_below(std::uint64_t limit) {
  std::vector<bool> is_composite(limit, false);
  std::uint64_t primes = 0;
  for (std::uint64_t n = 2; n < limit; ++n) {
    if (is_composite[n]) continue;
    ++primes;
    for (std::uint64_t multiple = n * n; multiple < limit; multiple += n) is_composite[multiple] = true;
  }
  return primes;
}

namespace {

/// Columns and diagonals that are attacked are bits.
void place_queens(std::vector<std::uint64_t>& counts, unsigned row, std::uint32_t columns, std::uint32_t left,
                  std::uint32_t right) {
  ++counts[row];
  if (row + 1 == counts.size()) return;
  const std::uint32_t all = (1u << (counts.size() - 1)) - 1;
  for (std::uint32_t free = all & ~(columns | left | right); free != 0; free &= free - 1) {
    const std::uint32_t queen = free & -free;
    place_queens(counts, row + 1, columns | queen, (left | queen) << 1, (right | queen) >> 1);
  }
}

}  // namespace

std::vector<std::uint64_t> queen_placements(unsigned size) {
  std::vector<std::uint64_t> counts(size + 1, 0);
  place_queens(counts, 0, 0, 0, 0);
  return counts;
}

double trapezoids(double left, double width, std::uint64_t pieces) {
  const auto f = [](double x) {
    return std::sin(x * x * x - 1) / (x + 1) * std::sqrt(1 + std::exp(std::sqrt(2 * x)));
  };
  double sum = 0;
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const double x = left + static_cast<double>(i) * width;
    sum += 0.5 * (f(x) + f(x + width)) * width;
  }
  return sum;
}

std::vector<std::uint64_t> shortest_paths(std::vector<std::uint64_t> lengths, std::size_t vertices) {
  for (std::size_t k = 0; k < vertices; ++k) {
    for (std::size_t i = 0; i < vertices; ++i) {
      for (std::size_t j = 0; j < vertices; ++j) {
        std::uint64_t& length = lengths[i * vertices + j];
        length = std::min(length, lengths[i * vertices + k] + lengths[k * vertices + j]);
      }
    }
  }
  return lengths;
}

double over_relaxation(std::vector<double> grid, std::size_t size, unsigned iterations, double omega) {
  // The actors of one colour begin by sending their values: they change once less.
  const auto relax = [&](std::size_t color) {
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = (i + color) % 2; j < size; j += 2) {
        double sum = 0;
        if (i > 0) sum += grid[(i - 1) * size + j];
        if (i + 1 < size) sum += grid[(i + 1) * size + j];
        if (j > 0) sum += grid[i * size + j - 1];
        if (j + 1 < size) sum += grid[i * size + j + 1];
        grid[i * size + j] = 0.25 * omega * sum + (1 - omega) * grid[i * size + j];
      }
    }
  };
  for (unsigned i = 0; i < iterations; ++i) {
    relax(1);
    if (i + 1 < iterations) relax(0);
  }
  double total = 0;
  for (const double value : grid) total += value;
  return total;
}

namespace {

/// The arc tangent of 1 / n, by its series.
FixedPoint arc_tangent_of_inverse(std::uint32_t n, std::size_t places) {
  FixedPoint power(1, places);
  power /= n;
  FixedPoint sum = power;
  for (std::uint32_t k = 1; !power.is_zero(); ++k) {
    power /= n * n;
    FixedPoint term = power;
    term /= 2 * k + 1;
    if (k % 2 == 1) {
      sum -= term;
    } else {
      sum += term;
    }
  }
  return sum;
}

}  // namespace

std::string pi_digits(std::size_t digits) {
  const std::size_t places = FixedPoint::places_for(digits);
  FixedPoint pi = arc_tangent_of_inverse(5, places);
  pi *= 4;
  pi -= arc_tangent_of_inverse(239, places);
  pi *= 4;
  return pi.digits(digits - 1);
}

}  // namespace rubato::apps::savina::reference
