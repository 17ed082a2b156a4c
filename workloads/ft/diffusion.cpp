// SPDX-License-Identifier: MIT
#include "workloads/ft/diffusion.hpp"

#include <cmath>
#include <numbers>

#include "base/rng.hpp"

namespace rubato::workloads::ft {

namespace {

constexpr double kSpread = 1e-6;  // diffusion constant times the time of a step

}  // namespace

Numbers first_state(const Box& box, std::uint64_t seed) {
  Rng rng(seed);
  Numbers numbers(box.points());
  for (Complex& c : numbers) {
    c.re = rng.uniform();
    c.im = rng.uniform();
  }
  return numbers;
}

Diffusion::Diffusion(const Box& box, unsigned threads, std::uint64_t seed)
    : transform_(box, threads),
      spectrum_(box.points()),
      damped_(box.points()),
      space_(first_state(box, seed)) {
  const unsigned sides[] = {box.x, box.y, box.z};
  for (unsigned d = 0; d < 3; ++d)
    for (unsigned i = 0; i < sides[d]; ++i) {
      const double waves = i < sides[d] / 2 ? double(i) : double(i) - sides[d];
      factors_[d].push_back(std::exp(-4 * std::numbers::pi * std::numbers::pi * kSpread * waves * waves));
    }
}

void Diffusion::begin(unsigned thread) { transform_.to_spectrum(thread, space_, spectrum_); }

void Diffusion::step(unsigned thread) {
  dampen(thread);
  transform_.to_space(thread, damped_, space_);
}

void Diffusion::dampen(unsigned thread) {
  const Box& box = transform_.box();
  const double share = 1.0 / static_cast<double>(box.points());
  const auto [first, end] = transform_.spectrum_planes(thread);
  for (unsigned y = first; y < end; ++y)
    for (unsigned z = 0; z < box.z; ++z) {
      const std::size_t row = (std::size_t{y} * box.z + z) * box.x;
      const double factor = factors_[1][y] * factors_[2][z];
      for (unsigned x = 0; x < box.x; ++x) {
        const Complex damped = (factor * factors_[0][x]) * spectrum_[row + x];
        spectrum_[row + x] = damped;
        damped_[row + x] = share * damped;
      }
    }
}

Complex Diffusion::checksum() const {
  constexpr std::size_t kPoints = 1024;
  Complex sum;
  for (std::size_t i = 1; i <= kPoints; ++i) sum = sum + space_[i * 1234577 % space_.size()];
  return sum;
}

}  // namespace rubato::workloads::ft
