// SPDX-License-Identifier: MIT
#include "chip/session/core_occupants.hpp"

#include <fmt/format.h>

namespace rubato::chip {

std::string CoreOccupants::name(CoreId core) const {
  const Occupant& occupant = cores_[core.value];
  if (occupant.task != 0) return fmt::format("task {}", occupant.task);
  return occupant.thread != 0 ? fmt::format("thread {}", occupant.thread) : "-";
}

}  // namespace rubato::chip
