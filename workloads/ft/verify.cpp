// SPDX-License-Identifier: MIT
#include "workloads/ft/verify.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/rng.hpp"

namespace rubato::workloads::ft {

namespace {

constexpr double kRounding = 1e-12;
constexpr unsigned kByDefinition = 4;  // places of the spectrum that are computed as the definition says

double squares(const Numbers& numbers) {
  double sum = 0;
  for (const Complex& c : numbers) sum += c.re * c.re + c.im * c.im;
  return sum;
}

double largest(Complex c) { return std::max(std::abs(c.re), std::abs(c.im)); }

Numbers roots_of(unsigned side) {
  Numbers roots;
  for (unsigned i = 0; i < side; ++i) {
    const double angle = -2 * std::numbers::pi * i / side;
    roots.push_back({std::cos(angle), std::sin(angle)});
  }
  return roots;
}

void check_definition(const Box& box, const Numbers& space, const Numbers& spectrum, std::uint64_t seed) {
  const Numbers rx = roots_of(box.x), ry = roots_of(box.y), rz = roots_of(box.z);
  const double size = std::sqrt(squares(space) * static_cast<double>(box.points()));
  Rng rng(seed);
  for (unsigned i = 0; i < kByDefinition; ++i) {
    const std::size_t kx = rng.below(box.x), ky = rng.below(box.y), kz = rng.below(box.z);
    Complex sum{};
    for (std::size_t z = 0; z < box.z; ++z)
      for (std::size_t y = 0; y < box.y; ++y) {
        Complex row{};
        for (std::size_t x = 0; x < box.x; ++x)
          row = row + space[(z * box.y + y) * box.x + x] * rx[kx * x % box.x];
        sum = sum + row * (ry[ky * y % box.y] * rz[kz * z % box.z]);
      }
    if (!(largest(sum - spectrum[(ky * box.z + kz) * box.x + kx]) <= kRounding * size))
      throw WrongResult("a place of the spectrum is not what the definition says");
  }
}

}  // namespace

void verify(const Diffusion& done, const Box& box, const WorkloadOptions& o) {
  const auto points = static_cast<double>(box.points());
  const Numbers first = first_state(box, o.seed);
  Transform transform(box, 1);
  Numbers space = first, spectrum(box.points());
  transform.to_spectrum(0, space, spectrum);
  if (!(std::abs(squares(spectrum) / points - squares(first)) <= kRounding * squares(first)))
    throw WrongResult("the spectrum has not the energy of the numbers in space (Parseval)");
  check_definition(box, first, spectrum, o.seed);
  transform.to_space(0, spectrum, space);
  for (std::size_t i = 0; i < space.size(); ++i)
    if (!(largest((1 / points) * space[i] - first[i]) <= kRounding))
      throw WrongResult("the inverse transform does not give the numbers back");

  Diffusion serial(box, 1, o.seed);
  serial.begin(0);
  for (std::uint64_t i = 0; i < o.warm + o.work; ++i) serial.step(0);
  if (done.spectrum() != serial.spectrum() || done.space() != serial.space())
    throw WrongResult("the result of " + std::to_string(o.threads) + " threads is not that of one");
  // Results of the threads must be a pair of transforms, too.
  Numbers last = done.space();
  transform.to_spectrum(0, last, spectrum);
  const double size = std::sqrt(squares(done.space()) * points);
  if (o.warm + o.work > 0)
    for (std::size_t i = 0; i < spectrum.size(); ++i)
      if (!(largest(spectrum[i] - done.spectrum()[i]) <= kRounding * size))
        throw WrongResult("the last spectrum is not that of the last state of space");
}

}  // namespace rubato::workloads::ft
