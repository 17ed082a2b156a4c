// SPDX-License-Identifier: MIT
#include "workloads/lu/ssor.hpp"

namespace rubato::workloads::lu {

Ssor::Ssor(Equations& equations, unsigned threads)
    : equations_(equations),
      threads_(threads),
      all_(threads),
      forwards_(threads),
      backwards_(threads),
      factors_(equations.solution.size()),
      u_(equations.solution.size()),
      r_(equations.solution.size()) {}

// Each thread sets its own rows, so that they are near to it.
void Ssor::begin(unsigned thread) {
  Equations& e = equations_;
  const auto [first, end] = rows_of(thread);
  e.draw_rows(first, end);
  all_.wait();
  e.find_right_side(first, end);
  for (unsigned z = 0; z < e.size; ++z)
    for (std::size_t p = e.at(z, first, 0); p < e.at(z, end, 0); ++p) {
      factors_[p] = e.diagonal(p);
      factor(factors_[p]);
      u_[p] = r_[p] = Vector{};
    }
  all_.wait();
}

Ssor::Rows Ssor::rows_of(unsigned thread) const {
  return {equations_.size * thread / threads_, equations_.size * (thread + 1) / threads_};
}

void Ssor::iterate(unsigned thread) {
  find_residual(thread);
  all_.wait();
  sweep_forwards(thread);
  all_.wait();
  sweep_backwards(thread);
  all_.wait();
}

void Ssor::find_residual(unsigned thread) {
  const Equations& e = equations_;
  const unsigned n = e.size;
  const std::size_t row = n, plane = std::size_t{n} * n;
  const auto [first, end] = rows_of(thread);
  for (unsigned z = 0; z < n; ++z)
    for (unsigned y = first; y < end; ++y)
      for (unsigned x = 0; x < n; ++x) {
        const std::size_t p = e.at(z, y, x);
        Vector sum = e.right_side[p];
        Vector weighted;
        for (unsigned i = 0; i < kUnknowns; ++i) {
          weighted[i] = -e.weights[p] * u_[p][i];
          sum[i] += weighted[i] - u_[p][i];
        }
        add_product(sum, e.coupling, weighted);
        if (x > 0) add_product(sum, e.to_neighbour[kWest], u_[p - 1]);
        if (x + 1 < n) add_product(sum, e.to_neighbour[kEast], u_[p + 1]);
        if (y > 0) add_product(sum, e.to_neighbour[kNorth], u_[p - row]);
        if (y + 1 < n) add_product(sum, e.to_neighbour[kSouth], u_[p + row]);
        if (z > 0) add_product(sum, e.to_neighbour[kBelow], u_[p - plane]);
        if (z + 1 < n) add_product(sum, e.to_neighbour[kAbove], u_[p + plane]);
        r_[p] = sum;
      }
}

void Ssor::sweep_forwards(unsigned thread) {
  const Equations& e = equations_;
  const unsigned n = e.size;
  const std::size_t row = n, plane = std::size_t{n} * n;
  const auto [first, end] = rows_of(thread);
  std::atomic<std::uint64_t>& done = forwards_[thread].planes;
  for (unsigned z = 0; z < n; ++z) {
    if (thread > 0) wait_until(forwards_[thread - 1].planes, done.load(std::memory_order_relaxed) + 1);
    for (unsigned y = first; y < end; ++y)
      for (unsigned x = 0; x < n; ++x) {
        const std::size_t p = e.at(z, y, x);
        Vector before{};
        if (x > 0) add_product(before, e.to_neighbour[kWest], r_[p - 1]);
        if (y > 0) add_product(before, e.to_neighbour[kNorth], r_[p - row]);
        if (z > 0) add_product(before, e.to_neighbour[kBelow], r_[p - plane]);
        for (unsigned i = 0; i < kUnknowns; ++i) before[i] = r_[p][i] + kRelaxation * before[i];
        r_[p] = solve(factors_[p], before);
      }
    done.fetch_add(1, std::memory_order_release);
  }
}

void Ssor::sweep_backwards(unsigned thread) {
  const Equations& e = equations_;
  const unsigned n = e.size;
  const std::size_t row = n, plane = std::size_t{n} * n;
  const auto [first, end] = rows_of(thread);
  std::atomic<std::uint64_t>& done = backwards_[thread].planes;
  for (unsigned z = n; z-- > 0;) {
    if (thread + 1 < threads_)
      wait_until(backwards_[thread + 1].planes, done.load(std::memory_order_relaxed) + 1);
    for (unsigned y = end; y-- > first;)
      for (unsigned x = n; x-- > 0;) {
        const std::size_t p = e.at(z, y, x);
        Vector after{};
        if (x + 1 < n) add_product(after, e.to_neighbour[kEast], r_[p + 1]);
        if (y + 1 < n) add_product(after, e.to_neighbour[kSouth], r_[p + row]);
        if (z + 1 < n) add_product(after, e.to_neighbour[kAbove], r_[p + plane]);
        after = solve(factors_[p], after);
        for (unsigned i = 0; i < kUnknowns; ++i) {
          r_[p][i] = kRelaxation * ((2 - kRelaxation) * r_[p][i] + after[i]);
          u_[p][i] += r_[p][i];
        }
      }
    done.fetch_add(1, std::memory_order_release);
  }
}

}  // namespace rubato::workloads::lu
