// Lists of faults (base/faults.hpp) for tests: all members, and the name of one.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include "base/faults.hpp"

namespace rubato {

/// The name of `fault`.
template <class Fault, std::size_t n>
const char* fault_name(const char* const (&names)[n], Fault fault) {
  return names[static_cast<std::size_t>(fault)];
}

/// All faults of the list, without `none`.
template <class Fault, std::size_t n>
constexpr std::array<Fault, n - 1> all_faults(const char* const (&)[n]) {
  std::array<Fault, n - 1> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Fault>(i + 1);
  return all;
}

}  // namespace rubato
