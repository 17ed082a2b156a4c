// A cube of numbers that is periodic in all three directions.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "workloads/common/line_allocator.hpp"

namespace rubato::workloads::mg {

class Grid {
 public:
  /// `size`: points of a side, a power of two. Its numbers are not set.
  explicit Grid(unsigned size) : size_(size), points_(std::size_t{size} * size * size) {}
  unsigned size() const { return size_; }
  double* row(unsigned z, unsigned y) { return points_.data() + (std::size_t{z} * size_ + y) * size_; }
  const double* row(unsigned z, unsigned y) const {
    return points_.data() + (std::size_t{z} * size_ + y) * size_;
  }
  unsigned after(unsigned i) const { return (i + 1) & (size_ - 1); }
  unsigned before(unsigned i) const { return (i - 1) & (size_ - 1); }
  bool operator==(const Grid&) const = default;

 private:
  unsigned size_;
  LineVector<double> points_;
};

}  // namespace rubato::workloads::mg
