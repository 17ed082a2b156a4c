// All algorithms, in the order of AlgorithmId.
// SPDX-License-Identifier: MIT
#include "tm/algorithm/algorithm.hpp"

namespace rubato::tm {

const Algorithm& algorithm(std::uint32_t id) {
  static constexpr const Algorithm* kAll[kAlgorithmCount] = {&kSerial, &kEager, &kLazy, &kNorec};
  return *kAll[id];
}

}  // namespace rubato::tm
