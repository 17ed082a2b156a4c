// The chunk sizes of the slab classes (T74). Class 0 is none; classes are numbered from 1.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace rubato::cached {

constexpr std::size_t kPageSize = 1 << 20;
constexpr unsigned kMaxClasses = 64;  // 1 to 63

class SlabSizes {
 public:
  static constexpr std::size_t kMostListed = kMaxClasses - 2;

  /// Sizes grow by `factor` from `smallest` (with the header) to `largest`, aligned to 8.
  SlabSizes(double factor, std::size_t smallest, std::size_t largest);
  /// Sizes as listed (`-o slab_sizes`), kMostListed at most, and `largest` after them.
  SlabSizes(const std::vector<std::size_t>& listed, std::size_t largest);

  unsigned last() const { return last_; }
  std::size_t size_of(unsigned slab_class) const { return sizes_[slab_class]; }
  std::size_t largest() const { return sizes_[last_]; }
  /// The smallest class whose chunks hold `bytes`; 0 if there is none.
  unsigned class_for(std::size_t bytes) const {
    if (bytes > sizes_[last_]) return 0;
    unsigned low = 1, high = last_;
    while (low < high) {
      const unsigned middle = (low + high) / 2;
      if (sizes_[middle] < bytes)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

 private:
  void add(std::size_t size) { sizes_[++last_] = size; }
  std::array<std::size_t, kMaxClasses> sizes_{};
  unsigned last_ = 0;
};

}  // namespace rubato::cached
