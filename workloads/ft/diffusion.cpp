// SPDX-License-Identifier: MIT
#include "workloads/ft/diffusion.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/rng.hpp"

namespace rubato::workloads::ft {

namespace {

constexpr double kSpread = 1e-6;  // diffusion constant times the time of a step

void draw_plane(Numbers& space, const Box& box, unsigned z, std::uint64_t seed) {
  Rng rng(mix64(seed) + z);
  const std::size_t plane = std::size_t{box.y} * box.x;
  for (std::size_t i = z * plane; i < (z + 1) * plane; ++i) {
    space[i].re = rng.uniform();
    space[i].im = rng.uniform();
  }
}

}  // namespace

Numbers first_state(const Box& box, std::uint64_t seed) {
  Numbers numbers(box.points());
  for (unsigned z = 0; z < box.z; ++z) draw_plane(numbers, box, z, seed);
  return numbers;
}

Diffusion::Diffusion(const Box& box, unsigned threads, std::uint64_t seed)
    : transform_(box, threads),
      seed_(seed),
      spectrum_(box.points()),
      damped_(box.points()),
      space_(box.points()) {
  const unsigned sides[] = {box.x, box.y, box.z};
  for (unsigned d = 0; d < 3; ++d)
    for (unsigned i = 0; i < sides[d]; ++i) {
      const double waves = i < sides[d] / 2 ? double(i) : double(i) - sides[d];
      factors_[d].push_back(std::exp(-4 * std::numbers::pi * std::numbers::pi * kSpread * waves * waves));
    }
}

// Each thread sets its own planes, so that they are near to it.
void Diffusion::begin(unsigned thread) {
  const Box& box = transform_.box();
  const auto [first, end] = transform_.space_planes(thread);
  for (unsigned z = first; z < end; ++z) draw_plane(space_, box, z, seed_);
  const auto mine = transform_.spectrum_planes(thread);
  const std::size_t plane = std::size_t{box.z} * box.x;
  for (Numbers* numbers : {&spectrum_, &damped_})
    std::fill(numbers->begin() + std::ptrdiff_t(mine.first * plane),
              numbers->begin() + std::ptrdiff_t(mine.end * plane), Complex{});
  transform_.to_spectrum(thread, space_, spectrum_);
}

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
  Complex sum{};
  for (std::size_t i = 1; i <= kPoints; ++i) sum = sum + space_[i * 1234577 % space_.size()];
  return sum;
}

}  // namespace rubato::workloads::ft
