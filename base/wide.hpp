// Two words as one number of twice their length: the host compares such without a branch, which it would
// guess wrongly where neither is known to come first.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rubato {

__extension__ using Wide = unsigned __int128;
constexpr Wide wide(std::uint64_t high, std::uint64_t low) { return Wide{high} << 64 | low; }

}  // namespace rubato
