// SPDX-License-Identifier: MIT
#include "cached/core/slab_sizes.hpp"

namespace rubato::cached {

namespace {
constexpr std::size_t aligned(std::size_t size) { return (size + 7) / 8 * 8; }
}  // namespace

SlabSizes::SlabSizes(double factor, std::size_t smallest, std::size_t largest) {
  std::size_t size = smallest;
  while (last_ + 1 < kMaxClasses - 1 && static_cast<double>(size) <= static_cast<double>(largest) / factor) {
    size = aligned(size);
    add(size);
    const std::size_t next = static_cast<std::size_t>(static_cast<double>(size) * factor);
    size = next > size ? next : size + 8;
  }
  add(largest);
}

SlabSizes::SlabSizes(const std::vector<std::size_t>& listed, std::size_t largest) {
  for (const std::size_t size : listed)
    if (last_ + 1 < kMaxClasses - 1 && aligned(size) < largest) add(aligned(size));
  add(largest);
}

}  // namespace rubato::cached
