// Common ground of hardware transactions and the software ones beside them (T45).
// SPDX-License-Identifier: MIT
#pragma once

#include "tm/hardware/hybrid.hpp"
#include "tm/thread/thread.hpp"

namespace rubato::tm {

extern Hybrid<Atomics> hybrid;

}  // namespace rubato::tm
