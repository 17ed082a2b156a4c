// See epochs.hpp.
// SPDX-License-Identifier: MIT
#include "runtime/memory/epochs.hpp"

namespace rubato::runtime {

template class BasicEpochs<EpochRules>;

}  // namespace rubato::runtime
