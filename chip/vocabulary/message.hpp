// Messages of the network: a message knows its size and the class its bytes are accounted to (C22).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace rubato::chip {

enum class TrafficClass : std::uint8_t { memory, abort, task, virtual_time, coherence };
inline constexpr unsigned kTrafficClasses = 5;
constexpr std::string_view name_of(TrafficClass c) {
  constexpr std::string_view names[] = {"memory", "abort", "task", "virtual_time", "coherence"};
  return names[static_cast<unsigned>(c)];
}

/// A message: its bytes and their class. Namespace message has the sizes of each kind.
struct Message {
  std::uint32_t bytes;
  TrafficClass traffic;
};

namespace message {
inline constexpr std::uint32_t kRequest = 8, kVirtualTime = 16, kLine = 64, kAcknowledgement = 2,
                               kCreate = 12, kArgument = 8, kReport = 24, kGvt = 16;
}

}  // namespace rubato::chip
