// See epochs.hpp.
// SPDX-License-Identifier: MIT
#include "native/memory/epochs.hpp"

namespace rubato::inline v0::native {

template class BasicEpochs<EpochRules>;

}  // namespace rubato::inline v0::native
