// lu: symmetric over-relaxation by sweeps that threads pipeline, in place of NPB's LU (docs/workloads.md).
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "workloads/common/workload.hpp"
#include "workloads/lu/ssor.hpp"

namespace rubato::workloads::lu {
namespace {

// Bound for the part of the error that a sweep leaves, in the maximum norm: at each point three neighbours
// have been swept, and three not.
constexpr double kThree = 3 * kNeighbourNorm;
constexpr double kSweepFactor = (kRelaxation - 1 + kRelaxation * kThree) / (1 - kRelaxation * kThree);
static_assert(kSweepFactor < 1);
constexpr double kRounding = 1e-13;

double residual_norm(const Equations& e, const Field& u) {
  double squares = 0;
  for (unsigned z = 0; z < e.size; ++z)
    for (unsigned y = 0; y < e.size; ++y)
      for (unsigned x = 0; x < e.size; ++x)
        for (const double r : plain_residual(e, u, z, y, x)) squares += r * r;
  return std::sqrt(squares / static_cast<double>(kUnknowns * u.size()));
}

double largest_error(const Equations& e, const Field& u) {
  double error = 0;
  for (std::size_t p = 0; p < u.size(); ++p)
    for (unsigned i = 0; i < kUnknowns; ++i) error = std::max(error, std::abs(u[p][i] - e.solution[p][i]));
  return error;
}

// An iteration as two sweeps of over-relaxation, each point from its neighbours' values at that moment.
void plain_iteration(const Equations& e, Field& u) {
  const auto relax = [&](std::size_t p) {
    const auto n = e.size;
    Block diagonal = e.diagonal(p);
    factor(diagonal);
    const Vector change =
        solve(diagonal, plain_residual(e, u, unsigned(p / n / n), unsigned(p / n % n), unsigned(p % n)));
    for (unsigned i = 0; i < kUnknowns; ++i) u[p][i] += kRelaxation * change[i];
  };
  for (std::size_t p = 0; p < u.size(); ++p) relax(p);
  for (std::size_t p = u.size(); p-- > 0;) relax(p);
}

bool are_near(const Field& a, const Field& b) {
  for (std::size_t p = 0; p < a.size(); ++p)
    for (unsigned i = 0; i < kUnknowns; ++i)
      if (!(std::abs(a[p][i] - b[p][i]) <= kRounding)) return false;
  return true;
}

// Runs the same iterations with one thread, and plainly.
void verify(const Ssor& solved, Equations& e, const WorkloadOptions& o) {
  Ssor serial(e, 1);
  serial.begin(0);
  Field plain = serial.solution();
  double error = largest_error(e, serial.solution()), residual = residual_norm(e, serial.solution());
  for (std::uint64_t i = 0; i < o.warm + o.work; ++i) {
    serial.iterate(0);
    plain_iteration(e, plain);
    if (!are_near(serial.solution(), plain))
      throw WrongResult("iteration " + std::to_string(i + 1) + " is not two sweeps of over-relaxation");
    const double error_now = largest_error(e, serial.solution());
    const double residual_now = residual_norm(e, serial.solution());
    if (!(error_now <= std::max(kSweepFactor * kSweepFactor * error, kRounding)))
      throw WrongResult("iteration " + std::to_string(i + 1) + " leaves " +
                        std::to_string(error_now / error) + " of the error, and may leave " +
                        std::to_string(kSweepFactor * kSweepFactor));
    if (!(residual_now < residual || residual_now <= kRounding))
      throw WrongResult("the residual does not fall in iteration " + std::to_string(i + 1));
    error = error_now;
    residual = residual_now;
  }
  if (solved.solution() != serial.solution())
    throw WrongResult("the solution of " + std::to_string(o.threads) + " threads is not that of one");
}

void run(unsigned size, const WorkloadOptions& o) {
  Equations equations(size, o.seed);
  Ssor ssor(equations, o.threads);
  run_in_region(o, [&](unsigned thread, std::uint64_t iterations, bool is_warm) {
    if (is_warm) ssor.begin(thread);
    for (std::uint64_t i = 0; i < iterations; ++i) ssor.iterate(thread);
  });
  std::printf("lu: %u^3 points, %llu iterations, residual %.6e\n", size,
              static_cast<unsigned long long>(o.warm + o.work), residual_norm(equations, ssor.solution()));
  if (!o.verify) return;
  verify(ssor, equations, o);
  std::puts("lu: verified");
}

}  // namespace
}  // namespace rubato::workloads::lu

int main(int argc, char** argv) {
  using namespace rubato::workloads;
  rubato::CommandLine line("lu", "Symmetric over-relaxation of five unknowns at each point of a cube");
  WorkloadOptions options;
  options.warm = 1;
  options.work = 1;
  unsigned size = 64;
  add_workload_options(line, options, "iterations");
  line.add_option("--size", size, "Points of a side (default 64)").range(1U, 256U);
  return workload_main(
      "lu", line, [&] { lu::run(size, options); }, argc, argv);
}
