// Expected results of benchmarks, computed serially and, if there is another way, in another way.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rubato::apps::savina::reference {

std::uint64_t fibonacci(std::uint64_t n);
std::uint64_t primes_below(std::uint64_t limit);

inline constexpr unsigned kMostQueens = 16;
/// How many ways there are to place 0, 1, ..., size queens in as many first rows.
std::vector<std::uint64_t> queen_placements(unsigned size);

/// Integral of the suite's function, by the trapezoidal rule.
double trapezoids(double left, double width, std::uint64_t pieces);

/// Lengths of shortest paths between all vertices, by Floyd and Warshall; row by row.
std::vector<std::uint64_t> shortest_paths(std::vector<std::uint64_t> lengths, std::size_t vertices);

/// Sum of a grid's values after red-black over-relaxation, as the suite's actors do it.
double over_relaxation(std::vector<double> grid, std::size_t size, unsigned iterations, double omega);

/// Pi's first digits without the point, by Machin's formula.
std::string pi_digits(std::size_t digits);

}  // namespace rubato::apps::savina::reference
