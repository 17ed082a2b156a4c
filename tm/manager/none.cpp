// SPDX-License-Identifier: MIT
#include "tm/thread/manager.hpp"

namespace rubato::tm {

constinit const Manager kNone = {[](Thread&, std::uint32_t) {}, false};

}  // namespace rubato::tm
