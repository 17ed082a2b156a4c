// The stable states of MESI as a private copy sees them. Order matters: a larger state has every right of a
// smaller one.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace rubato::chip {

enum class LineState : std::uint8_t { invalid, shared, exclusive, modified };

constexpr std::string_view name_of(LineState s) {
  constexpr std::string_view names[] = {"invalid", "shared", "exclusive", "modified"};
  return names[static_cast<unsigned>(s)];
}

/// True if the holder may write without a request: no other copy exists.
constexpr bool is_writable(LineState s) { return s >= LineState::exclusive; }

}  // namespace rubato::chip
