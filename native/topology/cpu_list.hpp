// Lists of CPUs as the Linux kernel writes them: "0-3,8,10-11".
// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::inline v0::native {

/// Ascending, without doubles. Blanks and line ends around it are ignored. Empty optional: not such a list,
/// or a number above 65535.
std::optional<std::vector<unsigned>> parse_cpu_list(std::string_view text);

/// The shortest such text.
std::string print_cpu_list(const std::vector<unsigned>& ascending);

}  // namespace rubato::inline v0::native
