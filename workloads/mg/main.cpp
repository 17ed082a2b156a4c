// mg: multigrid V-cycles on a cube, in place of NPB's MG (docs/workloads.md).
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "workloads/common/sizes.hpp"
#include "workloads/common/workload.hpp"
#include "workloads/mg/multigrid.hpp"

namespace rubato::workloads::mg {
namespace {

// Local Fourier analysis of V(1,1) with red-black sweeps in three dimensions: the smoothing factor of two
// sweeps is (2/3)^4 = 0.198. The boundary of the grids, of which there is none, and coarse grids add little.
constexpr double kFactor = 0.3;
constexpr double kRounding = 1e-13;  // of the size of the terms, n^2 u: there the residual falls no more

// Runs the same cycles with one thread.
void verify(const Multigrid& solved, unsigned size, const WorkloadOptions& o) {
  Multigrid serial(size, 1, o.seed);
  serial.begin(0);
  const double scale = residual_norm(serial.solution(), serial.right_side());
  double last = scale;
  for (std::uint64_t i = 0; i < o.warm + o.work; ++i) {
    serial.cycle(0);
    const double now = residual_norm(serial.solution(), serial.right_side());
    if (!(now <= kFactor * last || now <= kRounding * double(size) * size * scale))
      throw WrongResult("cycle " + std::to_string(i + 1) + " leaves " + std::to_string(now / last) +
                        " of the residual, and should leave at most " + std::to_string(kFactor));
    last = now;
  }
  if (solved.solution() != serial.solution())
    throw WrongResult("the solution of " + std::to_string(o.threads) + " threads is not that of one");
}

void run(unsigned size, const WorkloadOptions& o) {
  Multigrid grids(size, o.threads, o.seed);
  run_in_region(o, [&](unsigned thread, std::uint64_t cycles, bool is_warm) {
    if (is_warm) grids.begin(thread);
    for (std::uint64_t i = 0; i < cycles; ++i) grids.cycle(thread);
  });
  std::printf("mg: %u^3 points, %llu cycles, residual %.6e\n", size,
              static_cast<unsigned long long>(o.warm + o.work),
              residual_norm(grids.solution(), grids.right_side()));
  if (!o.verify) return;
  verify(grids, size, o);
  std::puts("mg: verified");
}

}  // namespace
}  // namespace rubato::workloads::mg

int main(int argc, char** argv) {
  using namespace rubato::workloads;
  rubato::CommandLine line("mg", "Multigrid V-cycles for Poisson's equation on a periodic cube");
  WorkloadOptions options;
  options.warm = 1;
  options.work = 1;
  unsigned size = 128;
  add_workload_options(line, options, "V-cycles");
  line.add_option("--size", size, "Points of a side, a power of two (default 128)")
      .check(power_of_two)
      .range(4U, 512U);
  return workload_main(
      "mg", line, [&] { mg::run(size, options); }, argc, argv);
}
