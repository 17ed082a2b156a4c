// Values of run.roi that name no function.
// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace rubato::chip {

/// Detail is where the program marks regions.
inline constexpr std::string_view kAtMarkers = "@markers";
/// Nothing is in detail but tasks, which have no other way to run.
inline constexpr std::string_view kNowhere = "@none";

}  // namespace rubato::chip
