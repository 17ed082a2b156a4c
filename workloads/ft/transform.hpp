// The discrete Fourier transform of a box of complex numbers, and its inverse, by threads. Numbers in space
// are stored by z, y and x, and a thread has a slab of planes z; the spectrum by y, z and x, and a thread has
// a slab of planes y. Between lies a transposition, in which each thread reads from all others. x and y are
// transformed in the former, z in the latter, each by Stockham's method (Cochran et al., 1967), which leaves
// the order right.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "workloads/common/line_allocator.hpp"
#include "workloads/common/waiting.hpp"
#include "workloads/ft/complex.hpp"

namespace rubato::workloads::ft {

/// Powers of two, x and y at least 4.
struct Box {
  unsigned x = 128, y = 128, z = 32;
  std::size_t points() const { return std::size_t{x} * y * z; }
};
using Numbers = LineVector<Complex>;

class Transform {
 public:
  Transform(const Box& box, unsigned threads);
  const Box& box() const { return box_; }

  /// All threads call these, and go on together. The input is overwritten.
  void to_spectrum(unsigned thread, Numbers& space, Numbers& spectrum);
  /// Without the division by the number of points.
  void to_space(unsigned thread, Numbers& spectrum, Numbers& space);

  /// The planes y of the spectrum, and z of space, that are a thread's.
  struct Planes {
    unsigned first, end;
  };
  Planes spectrum_planes(unsigned thread) const { return part(thread, box_.y); }
  Planes space_planes(unsigned thread) const { return part(thread, box_.z); }
  void wait() { all_.wait(); }

 private:
  Planes part(unsigned thread, unsigned planes) const {
    return {planes * thread / threads_, planes * (thread + 1) / threads_};
  }
  void rows(Complex* plane, unsigned rows, unsigned thread, bool inverse);
  void columns(Complex* plane, unsigned length, unsigned thread, bool inverse);
  Complex* stages(unsigned length, unsigned together, unsigned thread, bool inverse);
  void transpose(const Numbers& from, unsigned from_planes, Numbers& to, Planes to_planes) const;

  Box box_;
  unsigned threads_;
  Barrier all_;
  Numbers roots_;  ///< exp(-2 pi i k / longest), for k below the longest side
  unsigned longest_;
  struct Scratch {
    Numbers now, next;
  };
  std::vector<Scratch> scratch_;  ///< of each thread
};

}  // namespace rubato::workloads::ft
