// SPDX-License-Identifier: MIT
#include "apps/ycsb/distribution.hpp"

#include <algorithm>
#include <cmath>

namespace rubato::apps::ycsb {
namespace {

/// The sum of i^-theta, i from 1 to n: the first terms exactly, the others by Euler and Maclaurin's formula,
/// whose error is below 1e-12 here.
double zeta(std::uint64_t n, double theta) {
  constexpr std::uint64_t kExact = 1000;
  double sum = 0;
  for (std::uint64_t i = 1; i <= std::min(n, kExact); ++i) sum += std::pow(static_cast<double>(i), -theta);
  if (n <= kExact) return sum;
  const auto a = static_cast<double>(kExact), b = static_cast<double>(n);
  const double integral = (std::pow(b, 1 - theta) - std::pow(a, 1 - theta)) / (1 - theta);
  const double ends = (std::pow(b, -theta) - std::pow(a, -theta)) / 2;
  const double slopes = theta * (std::pow(a, -theta - 1) - std::pow(b, -theta - 1)) / 12;
  return sum + integral + ends + slopes;
}

}  // namespace

Zipfian::Zipfian(std::uint64_t n) : n_(n), zeta_(zeta(n, kTheta)) { derive(); }

void Zipfian::derive() {
  const double zeta2 = 1 + std::pow(0.5, kTheta);
  eta_ = (1 - std::pow(2.0 / static_cast<double>(n_), 1 - kTheta)) / (1 - zeta2 / zeta_);
}

void Zipfian::grow() {
  ++n_;
  zeta_ += std::pow(static_cast<double>(n_), -kTheta);
  derive();
}

std::uint64_t Zipfian::operator()(Rng& rng) const {
  const double u = rng.uniform();
  const double uz = u * zeta_;
  if (uz < 1) return 0;
  if (uz < 1 + std::pow(0.5, kTheta)) return std::min<std::uint64_t>(1, n_ - 1);
  const double rank = static_cast<double>(n_) * std::pow(eta_ * u - eta_ + 1, 1 / (1 - kTheta));
  return std::min(static_cast<std::uint64_t>(rank), n_ - 1);
}

RecordChooser::RecordChooser(Distribution distribution, std::uint64_t records)
    : distribution_(distribution), records_(records), zipfian_(records) {}

void RecordChooser::grow() {
  ++records_;
  if (distribution_ != Distribution::uniform) zipfian_.grow();
}

std::uint64_t RecordChooser::operator()(Rng& rng) const {
  switch (distribution_) {
    case Distribution::zipfian:
      return mix64(zipfian_(rng)) % records_;
    case Distribution::latest:
      return records_ - 1 - zipfian_(rng);
    case Distribution::uniform:
      break;
  }
  return rng.below(records_);
}

}  // namespace rubato::apps::ycsb
