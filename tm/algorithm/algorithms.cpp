// All algorithms, in the order of AlgorithmId.
// SPDX-License-Identifier: MIT
#include "tm/thread/algorithm.hpp"

namespace rubato::tm {

const Algorithm* const* all_algorithms() {
#define RUBATO_TM_ADDRESS(name, table) &table,
  static constexpr const Algorithm* kAll[] = {RUBATO_TM_ALGORITHMS(RUBATO_TM_ADDRESS)};
#undef RUBATO_TM_ADDRESS
  return kAll;
}

}  // namespace rubato::tm
