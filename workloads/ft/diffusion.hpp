// Diffusion in a periodic box by Fourier transforms: each step dampens the spectrum as the time of a step
// would, and transforms a copy of it into space.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "workloads/ft/transform.hpp"

namespace rubato::workloads::ft {

/// The state of space when the simulation begins: random numbers.
Numbers first_state(const Box& box, std::uint64_t seed);

class Diffusion {
 public:
  Diffusion(const Box& box, unsigned threads, std::uint64_t seed);
  /// The first state and its spectrum; all threads call these.
  void begin(unsigned thread);
  void step(unsigned thread);
  const Numbers& spectrum() const { return spectrum_; }
  const Numbers& space() const { return space_; }
  /// Checksum of 1024 points of space.
  Complex checksum() const;

 private:
  void dampen(unsigned thread);

  Transform transform_;
  std::uint64_t seed_;
  Numbers spectrum_, damped_, space_;
  std::array<std::vector<double>, 3> factors_;  ///< of a step, by x, y and z of the spectrum
};

}  // namespace rubato::workloads::ft
