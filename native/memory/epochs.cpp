// See epochs.hpp.
// SPDX-License-Identifier: MIT
#include "native/memory/epochs.hpp"

namespace rubato::runtime {

template class BasicEpochs<EpochRules>;

}  // namespace rubato::runtime
