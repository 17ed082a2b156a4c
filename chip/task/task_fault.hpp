// Bugs of task units, for tests (chip/faults.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato::chip {

enum class TaskFault : std::uint8_t {
  none,
  commit_early,    ///< tiles do not report what runs: the GVT runs ahead of it
  ignore_locales,  ///< tasks of one locale run at once
};

}  // namespace rubato::chip
