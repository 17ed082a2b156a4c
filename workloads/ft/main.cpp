// ft: Fourier transforms of a box, in place of NPB's FT (docs/workloads.md).
// SPDX-License-Identifier: MIT
#include <cstdio>

#include "workloads/common/sizes.hpp"
#include "workloads/ft/verify.hpp"

namespace rubato::workloads::ft {
namespace {

void run(const Box& box, const WorkloadOptions& o) {
  Diffusion diffusion(box, o.threads, o.seed);
  run_in_region(o, [&](unsigned thread, std::uint64_t steps, bool is_warm) {
    if (is_warm) diffusion.begin(thread);
    for (std::uint64_t i = 0; i < steps; ++i) diffusion.step(thread);
  });
  const Complex sum = diffusion.checksum();
  std::printf("ft: %u x %u x %u points, %llu steps, checksum %.12e %.12e\n", box.x, box.y, box.z,
              static_cast<unsigned long long>(o.warm + o.work), sum.re, sum.im);
  if (!o.verify) return;
  verify(diffusion, box, o);
  std::puts("ft: verified");
}

}  // namespace
}  // namespace rubato::workloads::ft

int main(int argc, char** argv) {
  using namespace rubato::workloads;
  rubato::CommandLine line("ft", "Diffusion in a periodic box by fast Fourier transforms");
  WorkloadOptions options;
  options.warm = 1;
  options.work = 1;
  ft::Box box;
  add_workload_options(line, options, "steps, a transform each");
  const auto add_side = [&](const char* name, unsigned& side, const char* help) {
    line.add_option(name, side, help).check(power_of_two).range(4U, 1024U);
  };
  add_side("--nx", box.x, "Points in the direction x, a power of two (default 128)");
  add_side("--ny", box.y, "Points in the direction y, a power of two (default 128)");
  add_side("--nz", box.z, "Points in the direction z, a power of two (default 32)");
  return workload_main(
      "ft", line, [&] { ft::run(box, options); }, argc, argv);
}
