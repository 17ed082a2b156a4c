// SPDX-License-Identifier: MIT
#include "workloads/ft/transform.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace rubato::workloads::ft {

namespace {

constexpr unsigned kTogether = 4;  // columns that are transformed at once: a line of 64 bytes

}  // namespace

Transform::Transform(const Box& box, unsigned threads)
    : box_(box), threads_(threads), all_(threads), longest_(std::max({box.x, box.y, box.z})) {
  for (unsigned k = 0; k < longest_; ++k) {
    const double angle = -2 * std::numbers::pi * k / longest_;
    roots_.push_back({std::cos(angle), std::sin(angle)});
  }
  const Numbers empty(std::size_t{longest_} * kTogether, Complex{});
  scratch_.assign(threads, Scratch{empty, empty});
}

void Transform::to_spectrum(unsigned thread, Numbers& space, Numbers& spectrum) {
  const std::size_t plane_z = std::size_t{box_.y} * box_.x, plane_y = std::size_t{box_.z} * box_.x;
  const auto [first, end] = space_planes(thread);
  for (unsigned z = first; z < end; ++z) rows(space.data() + z * plane_z, box_.y, thread, false);
  for (unsigned z = first; z < end; ++z) columns(space.data() + z * plane_z, box_.y, thread, false);
  wait();
  const Planes mine = spectrum_planes(thread);
  transpose(space, box_.z, spectrum, mine);
  for (unsigned y = mine.first; y < mine.end; ++y)
    columns(spectrum.data() + y * plane_y, box_.z, thread, false);
  wait();
}

void Transform::to_space(unsigned thread, Numbers& spectrum, Numbers& space) {
  const std::size_t plane_z = std::size_t{box_.y} * box_.x, plane_y = std::size_t{box_.z} * box_.x;
  const auto [first, end] = spectrum_planes(thread);
  for (unsigned y = first; y < end; ++y) columns(spectrum.data() + y * plane_y, box_.z, thread, true);
  wait();
  const Planes mine = space_planes(thread);
  transpose(spectrum, box_.y, space, mine);
  for (unsigned z = mine.first; z < mine.end; ++z) columns(space.data() + z * plane_z, box_.y, thread, true);
  for (unsigned z = mine.first; z < mine.end; ++z) rows(space.data() + z * plane_z, box_.y, thread, true);
  wait();
}

// The planes `to_planes` of `to`, a row of each plane of `from`.
void Transform::transpose(const Numbers& from, unsigned from_planes, Numbers& to, Planes to_planes) const {
  const std::size_t row = box_.x, all_planes = std::size_t{box_.y} * box_.z / from_planes;
  for (std::size_t p = to_planes.first; p < to_planes.end; ++p)
    for (std::size_t q = 0; q < from_planes; ++q)
      std::copy_n(from.data() + (q * all_planes + p) * row, row, to.data() + (p * from_planes + q) * row);
}

void Transform::rows(Complex* plane, unsigned rows, unsigned thread, bool inverse) {
  Scratch& s = scratch_[thread];
  for (unsigned r = 0; r < rows; ++r) {
    Complex* const row = plane + std::size_t{r} * box_.x;
    std::copy_n(row, box_.x, s.now.data());
    std::copy_n(stages(box_.x, 1, thread, inverse), box_.x, row);
  }
}

void Transform::columns(Complex* plane, unsigned length, unsigned thread, bool inverse) {
  Scratch& s = scratch_[thread];
  for (unsigned x = 0; x < box_.x; x += kTogether) {
    for (unsigned i = 0; i < length; ++i)
      std::copy_n(plane + std::size_t{i} * box_.x + x, kTogether, s.now.data() + i * kTogether);
    const Complex* const done = stages(length, kTogether, thread, inverse);
    for (unsigned i = 0; i < length; ++i)
      std::copy_n(done + i * kTogether, kTogether, plane + std::size_t{i} * box_.x + x);
  }
}

// Transforms scratch.now, and returns where the result is: `together` sequences of `length` numbers, one of
// each after another. A stage splits each sequence of 2 * half numbers x in two. The transform of x[p] + x[p
// + half] has the even places, that of (x[p] - x[p + half]) * root^p the odd ones; they are stored where
// these places are in the end.
Complex* Transform::stages(unsigned length, unsigned together, unsigned thread, bool inverse) {
  Complex *now = scratch_[thread].now.data(), *next = scratch_[thread].next.data();
  for (unsigned half = length / 2, apart = together; half >= 1; half /= 2, apart *= 2) {
    for (unsigned p = 0; p < half; ++p) {
      Complex root = roots_[p * (longest_ / (2 * half))];
      if (inverse) root.im = -root.im;
      const Complex *const low = now + apart * p, *const high = low + apart * half;
      Complex *const even = next + 2 * apart * p, *const odd = even + apart;
      for (unsigned q = 0; q < apart; ++q) {
        const Complex a = low[q], b = high[q];
        even[q] = a + b;
        odd[q] = (a - b) * root;
      }
    }
    std::swap(now, next);
  }
  return now;
}

}  // namespace rubato::workloads::ft
