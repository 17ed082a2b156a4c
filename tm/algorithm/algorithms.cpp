// All algorithms, in the order of AlgorithmId.
// SPDX-License-Identifier: MIT
#include "tm/thread/algorithm.hpp"

namespace rubato::tm {

const Algorithm* const* all_algorithms() {
  static constexpr const Algorithm* kAll[kAlgorithmCount] = {&kSerial, &kEager, &kLazy, &kNorec, &kRtm};
  return kAll;
}

}  // namespace rubato::tm
