// SPDX-License-Identifier: MIT
#include "tm/thread/manager.hpp"

namespace rubato::tm {

constinit const Manager kNone = {"none", 0, [](Thread&, std::uint32_t) {}, false};

}  // namespace rubato::tm
